// The page of the servers is made by the gateway; here it is kept fresh, and tools are accepted.

import * as api from "./api.js";
import { find } from "./dom.js";

const EVERY = 5_000;
const SLOWEST = 30_000;

let known = find("servers").innerHTML;
let wait = EVERY;
let timer;

/** Asks for the page again. The gateway's page alone is read so: it holds what servers wrote as text. */
async function refresh() {
  const answer = await fetch(location.href, { cache: "no-store" }).catch(() => null);
  if (answer?.status === 401) location.reload();
  const html = answer?.ok ? await answer.text().catch(() => null) : null;
  const fresh = html && new DOMParser().parseFromString(html, "text/html").getElementById("servers");
  const sign = find("connection");
  sign.hidden = Boolean(fresh);
  sign.textContent = fresh ? "" : "No news from the gateway, retrying…";
  wait = fresh ? EVERY : Math.min(wait * 2, SLOWEST);
  again();
  if (!fresh || fresh.innerHTML === known) return;
  known = fresh.innerHTML;
  const old = find("servers");
  const focused = old.contains(document.activeElement) ? document.activeElement.id : "";
  const node = document.importNode(fresh, true);
  for (const open of old.querySelectorAll("details[open]")) node.querySelector(`#${open.id}`)?.setAttribute("open", "");
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
  find("ask-title").textContent = `Accept what ${name} offers now?`;
  box.returnValue = "no";
  return new Promise((resolve) => {
    box.addEventListener("close", () => resolve(box.returnValue === "yes"), { once: true });
    box.showModal();
  });
}

document.addEventListener("click", async (event) => {
  const button = event.target.closest("button[data-question]");
  if (!button) return;
  const { profile, server, question } = button.dataset;
  if (!await sure(server)) return;
  button.disabled = true;
  try {
    await api.acceptTools(profile, server, question);
    say(`The tools of ${server} are accepted.`);
  } catch (error) {
    say(`Not done: ${error.message}.`, true);
  }
  known = "";
  await refresh();
});

again();
