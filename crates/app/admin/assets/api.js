// What the page asks the gateway.

/** A refusal, in words for the person. `retry` says whether asking again may help. */
export class Refusal extends Error {
  constructor(text, status) {
    super(text);
    this.status = status;
    this.retry = status === 0 || status === 408 || status >= 500;
  }
}

const UNREACHABLE = "the gateway can’t be reached";

function refusal(status, text) {
  // The session is over: the page at this address is now the gate.
  if (status === 401) location.reload();
  try {
    return new Refusal(JSON.parse(text).error.text, status);
  } catch {
    return new Refusal(status ? `the gateway answered ${status}` : UNREACHABLE, status);
  }
}

async function ask(path, options) {
  const answer = await fetch(path, { cache: "no-store", ...options }).catch(() => null);
  if (!answer) throw new Refusal(UNREACHABLE, 0);
  const text = await answer.text().catch(() => "");
  if (!answer.ok) throw refusal(answer.status, text);
  return text ? JSON.parse(text) : null;
}

const tell = (path, body) =>
  ask(path, { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify(body) });

const at = (conversation, rest) => `/api/conversations/${encodeURIComponent(conversation)}/${rest}`;

export const status = () => ask("/api/status");
export const logOut = () => ask("/logout", { method: "POST" });
export const conversations = async () => (await ask("/api/conversations")).conversations;
export const newConversation = (profile) => tell("/api/conversations", { profile });
export const messages = (conversation) => ask(at(conversation, "messages"));
export const say = (conversation, message) => tell(at(conversation, "messages"), message);

/** Chooses an answer of a question; resolves with what came of it. */
export const tap = (conversation, choice) => tell(at(conversation, "taps"), choice);

/** `verb`: retry, cancel, mark-sent; without a part it means all of them. */
export const actOnParcel = (id, verb, part) =>
  ask(`/api/outbox/${encodeURIComponent(id)}/${verb}${part ? `?part=${part}` : ""}`, { method: "POST" });

export const stopSandbox = (id) => ask(`/api/sandboxes/${encodeURIComponent(id)}/stop`, { method: "POST" });

/** Accepts what a server offers; `question` says what was shown. */
export const acceptTools = (profile, server, question) =>
  tell(`/api/mcp/${encodeURIComponent(profile)}/${encodeURIComponent(server)}/accept`, { question });

/** Uploads a file, telling its progress (0 to 1). Returns the promise of what was stored, and a way to give up. */
export function upload(conversation, file, progress) {
  const request = new XMLHttpRequest();
  const done = new Promise((resolve, reject) => {
    request.upload.addEventListener("progress", (event) => event.lengthComputable && progress(event.loaded / event.total));
    request.addEventListener("load", () => {
      if (request.status >= 200 && request.status < 300) resolve(JSON.parse(request.responseText));
      else reject(refusal(request.status, request.responseText));
    });
    request.addEventListener("error", () => reject(new Refusal(UNREACHABLE, 0)));
    request.addEventListener("abort", () => reject(new Refusal("given up", 0)));
  });
  request.open("POST", at(conversation, `files?name=${encodeURIComponent(file.name)}`));
  request.setRequestHeader("content-type", "application/octet-stream");
  request.send(file);
  return { done, abort: () => request.abort() };
}

const FIRST_WAIT = 500;
const LONGEST_WAIT = 15_000;
/** The gateway gives a sign of life every 15 seconds; but comments are invisible here, so only errors count. */
const EVENTS = ["entry", "preview", "clear", "activity", "questions", "idle"];

/** Follows a conversation, coming back by itself with growing pauses; `after()` tells the newest entry that is known. */
export class Follower {
  constructor(conversation, after, hear, connection) {
    Object.assign(this, { conversation, after, hear, connection, wait: FIRST_WAIT, ended: false });
    this.wake = () => { if (!this.source && !this.ended) this.open(); };
    addEventListener("online", this.wake);
    this.open();
  }

  open() {
    clearTimeout(this.timer);
    const source = new EventSource(at(this.conversation, `events?after=${this.after()}`));
    this.source = source;
    source.addEventListener("open", () => {
      this.wait = FIRST_WAIT;
      this.connection(true);
    });
    for (const kind of EVENTS) source.addEventListener(kind, (event) => this.hear(kind, JSON.parse(event.data)));
    source.addEventListener("error", () => this.lost());
  }

  lost() {
    this.source?.close();
    this.source = null;
    if (this.ended) return;
    // One quick return is no news: streams end by themselves now and then.
    if (this.wait > FIRST_WAIT) this.connection(false);
    this.timer = setTimeout(() => this.open(), this.wait * (0.75 + Math.random() / 2));
    this.wait = Math.min(this.wait * 2, LONGEST_WAIT);
  }

  end() {
    this.ended = true;
    clearTimeout(this.timer);
    removeEventListener("online", this.wake);
    this.source?.close();
    this.source = null;
  }
}
