// The page of the sandboxes is made by the gateway; here it is kept fresh, told in the reader's own time, and acted upon.

import * as api from "./api.js";
import { agoText, clockText, find, fullTime } from "./dom.js";

const EVERY = 5_000;
const SLOWEST = 30_000;

function untilText(time) {
  const minutes = Math.ceil((time - Date.now()) / 60_000);
  return minutes > 0 && minutes < 120 ? `in ${minutes} min` : `at ${clockText(time)}`;
}

function dress(root) {
  for (const time of root.querySelectorAll("time[data-as]")) {
    const at = Date.parse(time.dateTime);
    time.title = `${fullTime(at)} (${time.dateTime})`;
    time.textContent = time.dataset.as === "until" ? untilText(at) : agoText(at);
  }
}

let known = find("computers").innerHTML;
let wait = EVERY;
let timer;

/** Asks for the page again. The gateway's page alone is read so: it holds what agents wrote as text. */
async function refresh() {
  const answer = await fetch(location.href, { cache: "no-store" }).catch(() => null);
  if (answer?.status === 401) location.reload();
  const html = answer?.ok ? await answer.text().catch(() => null) : null;
  const fresh = html && new DOMParser().parseFromString(html, "text/html").getElementById("computers");
  const sign = find("connection");
  sign.hidden = Boolean(fresh);
  sign.textContent = fresh ? "" : "No news from the gateway, retrying…";
  wait = fresh ? EVERY : Math.min(wait * 2, SLOWEST);
  again();
  if (!fresh || fresh.innerHTML === known) return;
  known = fresh.innerHTML;
  const old = find("computers");
  const focused = old.contains(document.activeElement) ? document.activeElement.id : "";
  const node = document.importNode(fresh, true);
  dress(node);
  for (const log of old.querySelectorAll("details[open]")) node.querySelector(`#${log.id}`)?.setAttribute("open", "");
  old.replaceWith(node);
  if (focused) find(focused)?.focus({ preventScroll: true });
}

function again() {
  clearTimeout(timer);
  if (!document.hidden) timer = setTimeout(refresh, wait);
}

document.addEventListener("visibilitychange", () => (document.hidden ? clearTimeout(timer) : refresh()));
addEventListener("online", refresh);

function say(words, wrong = false) {
  const line = find("result");
  line.className = wrong ? "result wrong" : "result";
  line.textContent = words;
}

function sure(name) {
  const box = find("ask");
  find("ask-title").textContent = `Stop the sandbox of ${name}?`;
  box.returnValue = "no";
  return new Promise((resolve) => {
    box.addEventListener("close", () => resolve(box.returnValue === "yes"), { once: true });
    box.showModal();
  });
}

document.addEventListener("click", async (event) => {
  const button = event.target.closest("button[data-stop]");
  if (!button) return;
  const { stop, name } = button.dataset;
  if (!await sure(name)) return;
  button.disabled = true;
  try {
    await api.stopSandbox(stop);
    say(`The sandbox of ${name} is ended.`);
  } catch (error) {
    say(`Not done: ${error.message}.`, true);
  }
  known = "";
  await refresh();
});

dress(document);
again();
