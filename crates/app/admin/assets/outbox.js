// The outbox's page is made by the gateway; here it is kept fresh, told in the reader's own time, and acted upon.

import * as api from "./api.js";
import { agoText, find, fullTime } from "./dom.js";

const EVERY = 2_000;
const SLOWEST = 20_000;

// ---- moments

const clock = new Intl.DateTimeFormat(undefined, { hour: "2-digit", minute: "2-digit", second: "2-digit" });
const day = new Intl.DateTimeFormat("en", { day: "numeric", month: "short" });

function clockText(time) {
  const other = new Date(time).toDateString() !== new Date().toDateString();
  return other ? `${day.format(time)}, ${clock.format(time)}` : clock.format(time);
}

function untilText(time) {
  const left = Math.ceil((time - Date.now()) / 1_000);
  if (left <= 0) return clockText(time);
  const words = left < 120 ? `${left} s` : left < 7_200 ? `${Math.round(left / 60)} min` : `${Math.round(left / 3_600)} h`;
  return `${clockText(time)} (in ${words})`;
}

const FORMS = { clock: clockText, until: untilText, ago: agoText };

function tell(time) {
  const at = Date.parse(time.dateTime);
  const words = FORMS[time.dataset.as](at);
  if (time.textContent !== words) time.textContent = words;
}

function dress(root) {
  for (const time of root.querySelectorAll("time[data-as]")) {
    const at = Date.parse(time.dateTime);
    time.title = `${fullTime(at)} (${time.dateTime})`;
    tell(time);
  }
}

setInterval(() => {
  for (const time of document.querySelectorAll('time[data-as="until"], time[data-as="ago"]')) tell(time);
}, 1_000);

// ---- what is fresh

const live = () => [...document.querySelectorAll("[data-live]")];
const known = new Map(live().map((part) => [part.id, part.outerHTML]));

/** Puts a part of a fresh page in the old one's place, unless nothing is new; focus and what was opened stay. */
function place(old, fresh) {
  const html = fresh.outerHTML;
  if (known.get(old.id) === html) return;
  known.set(old.id, html);
  const focused = old.contains(document.activeElement) ? document.activeElement.id : "";
  const opened = old.dataset.id === fresh.dataset.id
    ? [...old.querySelectorAll("details[open]")].map((one) => one.id)
    : [];
  const scrolled = old.scrollTop;
  const node = document.importNode(fresh, true);
  dress(node);
  for (const id of opened) node.querySelector(`#${CSS.escape(id)}`)?.setAttribute("open", "");
  old.replaceWith(node);
  node.scrollTop = scrolled;
  if (focused) find(focused)?.focus({ preventScroll: true });
}

let turn = 0;
let wait = EVERY;
let timer;

/** Asks for the page at an address. The gateway's pages alone are read so: they hold strangers' words as text. */
async function fetched(address) {
  const answer = await fetch(address, { cache: "no-store" }).catch(() => null);
  if (answer?.status === 401) location.reload();
  const html = answer && answer.status < 500 ? await answer.text().catch(() => null) : null;
  const fresh = html && new DOMParser().parseFromString(html, "text/html");
  return fresh?.querySelector("#parcels") ? fresh : null;
}

async function refresh(address = location.href) {
  const mine = ++turn;
  const fresh = await fetched(address);
  if (mine !== turn) return false;
  const sign = find("connection");
  sign.hidden = Boolean(fresh);
  sign.textContent = fresh ? "" : "No news from the gateway, retrying…";
  wait = fresh ? EVERY : Math.min(wait * 2, SLOWEST);
  again();
  if (!fresh) return false;
  const before = { ...find("parcel").dataset };
  for (const part of live()) {
    const other = fresh.getElementById(part.id);
    if (other) place(part, other);
  }
  const now = find("parcel").dataset;
  if (before.id && before.id === now.id && before.state !== now.state) became(now.words);
  document.body.className = fresh.body.className;
  return true;
}

function again() {
  clearTimeout(timer);
  if (!document.hidden) timer = setTimeout(() => refresh(), wait);
}

document.addEventListener("visibilitychange", () => (document.hidden ? clearTimeout(timer) : refresh()));
addEventListener("online", () => refresh());

// ---- going to and fro

async function go(address, push) {
  say("");
  if (!await refresh(address)) {
    location.assign(address);
    return;
  }
  if (push) history.pushState(null, "", address);
  find("parcel").closest(".table").scrollTop = 0;
  find("parcel-title")?.focus({ preventScroll: true });
}

document.addEventListener("click", (event) => {
  const link = event.target.closest("a[data-go]");
  if (!link || event.defaultPrevented || event.button || event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return;
  event.preventDefault();
  go(link.href, link.href !== location.href);
});
addEventListener("popstate", () => go(location.href, false));

// ---- acting

let done = "";

/** What became of a wish, for eyes and for readers. */
function say(words, wrong = false) {
  done = words;
  const line = find("result");
  line.className = wrong ? "result wrong" : "result";
  line.textContent = words;
}

/** How the open parcel stands now, after what was done. */
function became(words) {
  find("result").textContent = `${done} Now: ${words}.`.trim();
}

function sure(title, text) {
  const box = find("ask");
  find("ask-title").textContent = `${title}?`;
  find("ask-text").textContent = text;
  find("ask-yes").textContent = title;
  box.returnValue = "no";
  return new Promise((resolve) => {
    box.addEventListener("close", () => resolve(box.returnValue === "yes"), { once: true });
    box.showModal();
  });
}

const DONE = { retry: "It is sent again.", cancel: "It is taken back.", "mark-sent": "It counts as arrived." };

function outcome(acted) {
  const left = acted.left.map((one) => `Part ${one.part} was left: ${one.why}.`);
  return [DONE[acted.verb], ...left].join(" ");
}

document.addEventListener("click", async (event) => {
  const button = event.target.closest("button[data-verb]");
  if (!button) return;
  const { verb, part, confirm } = button.dataset;
  const { id } = find("parcel").dataset;
  if (confirm && !await sure(button.textContent, confirm)) return;
  button.disabled = true;
  try {
    const acted = await api.actOnParcel(id, verb, part);
    // A part alone leaves the others of its parcel as they are, and nobody asked for those.
    say(outcome(part ? { ...acted, left: [] } : acted));
  } catch (error) {
    say(`Not done: ${error.message}.`, true);
  }
  known.delete("parcel");
  await refresh();
});

dress(document);
again();
