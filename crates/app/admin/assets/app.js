// The page: which conversation is open, and who tells whom.

import * as api from "./api.js";
import { Composer } from "./composer.js";
import { find } from "./dom.js";
import { Sidebar } from "./sidebar.js";
import { Thread } from "./thread.js";

/** A page that nobody looks at gives its connection back after this long; browsers have few for one address. */
const OUT_OF_SIGHT = 5 * 60_000;

const profiles = [...document.querySelectorAll('input[name="profile"]')];
const sidebar = new Sidebar(profiles.length > 1);
const thread = new Thread(changed, (choice) => api.tap(current, choice));
const composer = new Composer({ place, say, stop: () => say("/stop", []) });

let current = null;
let making = null;
let follower = null;
let unread = 0;
let opening = false;
let turn = 0;

function changed() {
  composer.setBusy(thread.busy);
  find("welcome").hidden = !thread.empty || opening;
  drawTitle();
}

function drawTitle() {
  const row = sidebar.rows.find((one) => one.id === current);
  const title = row?.title || "New conversation";
  find("title").textContent = title;
  find("profile").textContent = row?.profile ?? "";
  find("profile").hidden = !row || profiles.length < 2;
  document.title = `${unread ? `(${unread}) ` : ""}${row?.title ? `${title} – Tidings` : "Tidings"}`;
}

function connection(there) {
  const sign = find("connection");
  sign.hidden = there;
  sign.textContent = there ? "" : "Connection lost, retrying…";
  if (there) thread.sendFailed();
  sidebar.status();
}

function follow() {
  follower?.end();
  follower = current ? new Follower() : null;
}

class Follower extends api.Follower {
  constructor() {
    super(current, () => thread.newest, hear, connection);
  }
}

function hear(kind, data) {
  thread.hear(kind, data);
  if (kind !== "entry") return;
  if (document.hidden && data.author === "agent") unread += 1;
  sidebar.refresh().then(drawTitle);
}

/** The conversation that is open; a new one is made only when it is needed. */
async function place() {
  if (current) return current;
  making ??= make().finally(() => { making = null; });
  return making;
}

async function make() {
  const profile = profiles.find((one) => one.checked)?.value;
  if (!profile) throw new Error("no profile can answer; see the gateway’s log");
  const row = await api.newConversation(profile);
  current = row.id;
  history.replaceState(null, "", `#${encodeURIComponent(current)}`);
  sidebar.rows.unshift(row);
  sidebar.select(current);
  follow();
  return current;
}

async function say(text, files) {
  try {
    const conversation = await place();
    thread.say(conversation, text, files);
  } catch (error) {
    composer.text.value = text;
    composer.changed();
    composer.notice(`Not sent: ${error.message}.`);
  }
  changed();
}

async function open(id) {
  if (id && id === current) return;
  const mine = ++turn;
  opening = true;
  follower?.end();
  follower = null;
  current = id || null;
  // The address always says what is open, so that going back comes back to it.
  if (current && asked() !== current) history.replaceState(null, "", `#${encodeURIComponent(current)}`);
  making = null;
  thread.reset();
  composer.clear();
  find("connection").hidden = true;
  sidebar.close();
  sidebar.select(current);
  if (current) await load(current, mine);
  if (mine !== turn) return;
  opening = false;
  changed();
  if (!matchMedia("(pointer: coarse)").matches) composer.text.focus();
}

async function load(id, mine) {
  try {
    const { conversation, entries } = await api.messages(id);
    if (mine !== turn) return;
    if (!sidebar.rows.some((row) => row.id === id)) sidebar.rows.unshift(conversation);
    thread.fill(entries);
  } catch (error) {
    if (mine !== turn) return;
    if (error.status === 404) {
      current = null;
      history.replaceState(null, "", location.pathname);
      composer.notice("That conversation is not there any more.");
      return;
    }
    // The stream brings everything once the gateway is back.
    connection(false);
  }
  follow();
}

const asked = () => decodeURIComponent(location.hash.slice(1));

addEventListener("hashchange", () => open(asked()));
find("new-conversation").addEventListener("click", () => {
  if (current) history.pushState(null, "", location.pathname);
  open(null);
});
for (const example of document.querySelectorAll(".examples button")) {
  example.addEventListener("click", () => say(example.textContent, []));
}
let sleep;
document.addEventListener("visibilitychange", () => {
  clearTimeout(sleep);
  if (document.hidden) {
    sleep = setTimeout(() => { follower?.end(); follower = null; }, OUT_OF_SIGHT);
    return;
  }
  unread = 0;
  if (current && !follower) follow();
  drawTitle();
});

await sidebar.refresh();
await open(asked() || sidebar.rows[0]?.id);
