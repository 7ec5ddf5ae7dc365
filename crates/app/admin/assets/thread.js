// The conversation that is open: entries in the log's order, runs between them, what is being sent, what is being written.

import * as api from "./api.js";
import { agentEntry, drawAnswers, personEntry, words } from "./entry.js";
import { dayOf, dayText, el, find, freshId, icon } from "./dom.js";

/** After a preview is cleared its final text follows at once; until then it stays, so that nothing flickers. */
const SETTLE = 1_500;
/** How long the dots show after something was sent and nobody said that they work on it. */
const HOPE = 20_000;
const NEAR = 80;

export class Thread {
  constructor(changed, tap) {
    this.changed = changed;
    this.tap = tap;
    this.list = find("messages");
    this.tail = find("tail");
    this.scroller = find("scroller");
    this.dots = el("div", { class: "dots" }, el("i"), el("i"), el("i"), el("span", { class: "hidden" }, "Tidings is thinking"));
    this.scroller.addEventListener("scroll", () => this.scrolled(), { passive: true });
    // Pictures that arrive late push words down.
    this.list.addEventListener("load", () => this.stick(), true);
    new ResizeObserver(() => this.stick()).observe(this.scroller);
    find("latest").addEventListener("click", () => this.toEnd("smooth"));
    this.reset();
  }

  reset() {
    this.list.replaceChildren();
    this.tail.replaceChildren();
    clearTimeout(this.settling);
    clearTimeout(this.hoping);
    Object.assign(this, { newest: 0, entries: new Map(), pending: new Map(), runs: new Map(), run: null, questions: null, busy: false, hope: false, preview: null, stuck: true });
    find("latest").hidden = true;
  }

  get empty() { return this.entries.size === 0 && this.pending.size === 0; }

  /** Shows what was there before the page was. */
  fill(entries) {
    this.list.setAttribute("aria-busy", "true");
    for (const entry of entries) this.entry(entry);
    this.list.setAttribute("aria-busy", "false");
    this.toEnd();
  }

  // ---- order and place

  insert(item, order) {
    item.dataset.order = order;
    let before = this.list.lastElementChild;
    while (before && Number(before.dataset.order) > order) before = before.previousElementSibling;
    if (before) before.after(item);
    else this.list.prepend(item);
    this.stick();
  }

  day(entry, order) {
    const day = dayOf(entry.at);
    const known = [...this.list.querySelectorAll(".day")];
    if (known.some((mark) => mark.dataset.day === day)) return;
    const mark = el("li", { class: "day", "data-day": day }, dayText(entry.at));
    this.insert(mark, order - 0.25);
  }

  scrolled() {
    const { scrollTop, scrollHeight, clientHeight } = this.scroller;
    this.stuck = scrollHeight - scrollTop - clientHeight < NEAR;
    if (this.stuck) find("latest").hidden = true;
  }

  stick() {
    if (this.empty) return;
    if (this.stuck) this.scroller.scrollTop = this.scroller.scrollHeight;
    else find("latest").hidden = false;
  }

  toEnd(behavior = "auto") {
    this.stuck = true;
    this.scroller.scrollTo({ top: this.scroller.scrollHeight, behavior });
  }

  // ---- what the gateway tells

  hear(kind, data) {
    if (kind === "entry") this.entry(data);
    else if (kind === "preview") this.showPreview(data.html);
    else if (kind === "clear") this.settle();
    else if (kind === "activity") this.activity(data);
    else if (kind === "questions") this.asked(data.questions);
    else if (kind === "idle") this.idle();
    this.changed();
  }

  entry(entry) {
    this.newest = Math.max(this.newest, entry.id);
    if (this.entries.has(entry.id)) return;
    const mine = entry.author === "person";
    const item = mine ? personEntry(entry) : agentEntry(entry, (asked, choice) => this.choose(asked, choice));
    this.drawQuestions(item);
    this.entries.set(entry.id, item);
    if (mine) this.sent(entry.message ?? this.matching(entry), entry.id);
    else {
      this.hide();
      this.stopHoping();
    }
    this.day(entry, entry.id);
    this.insert(item, entry.id);
  }

  activity(data) {
    if (data.run) {
      this.busy = data.run.busy;
      this.run = data.run.after;
      for (const step of data.run.steps) this.step(step);
    } else if (data.busy) {
      this.busy = true;
      this.run = data.busy.after;
    } else if (data.step) {
      if (!this.busy || this.run === null) {
        this.busy = true;
        this.run = this.newest;
      }
      this.step(data.step);
    }
    if (this.busy) this.stopHoping();
    this.drawDots();
  }

  // ---- what the agent asks

  asked(questions) {
    this.questions = new Map(questions.map((question) => [question.id, question.outcome]));
    this.drawQuestions(this.list);
    this.stick();
  }

  drawQuestions(inside) {
    // What is open is told right after what was said.
    for (const box of inside.querySelectorAll(".answers")) drawAnswers(box, this.questions?.get(box.dataset.question), this.questions === null);
  }

  async choose(entry, choice) {
    const answer = await this.tap({ id: freshId(), entry: entry.id, token: choice.token });
    if (answer.over) this.questions?.set(entry.question.id, answer.says);
    queueMicrotask(() => this.drawQuestions(this.list));
    return answer;
  }

  idle() {
    this.busy = false;
    this.stopHoping();
    for (const run of this.runs.values()) this.summary(run);
    this.drawDots();
  }

  // ---- the answer so far

  showPreview(html) {
    clearTimeout(this.settling);
    if (!this.preview) {
      this.preview = el("div", { class: "message agent preview" });
      this.tail.prepend(this.preview);
    }
    this.preview.replaceChildren(words(html));
    this.drawDots();
    this.stick();
  }

  settle() {
    clearTimeout(this.settling);
    if (this.preview) this.settling = setTimeout(() => { this.hide(); this.drawDots(); }, SETTLE);
  }

  hide() {
    clearTimeout(this.settling);
    this.preview?.remove();
    this.preview = null;
    this.drawDots();
  }

  drawDots() {
    const acting = this.busy && [...(this.runs.get(this.run)?.known.values() ?? [])].some((step) => step.result === null);
    const shown = (this.busy || this.hope) && !this.preview && !acting;
    if (shown) this.tail.append(this.dots);
    else this.dots.remove();
    if (shown) this.stick();
  }

  stopHoping() {
    clearTimeout(this.hoping);
    this.hope = false;
    this.drawDots();
  }

  // ---- what the agent does

  step(step) {
    let run = this.runs.get(this.run);
    if (!run) {
      const steps = el("ol", { class: "steps" });
      const summary = el("summary");
      run = { steps, summary, known: new Map(), after: this.run };
      run.item = el("li", { class: "run", "aria-live": "off" }, el("details", {}, summary, steps));
      this.runs.set(this.run, run);
      this.insert(run.item, this.run + 0.5);
    }
    const item = drawStep(step);
    const old = run.known.get(step.id);
    if (old) old.item.replaceWith(item);
    else run.steps.append(item);
    run.known.set(step.id, { ...step, item });
    this.summary(run);
    this.stick();
  }

  summary(run) {
    const steps = [...run.known.values()];
    const running = this.busy && run.after === this.run ? steps.findLast((step) => step.result === null) : undefined;
    if (running) {
      const detail = running.detail ? `: ${running.detail.split("\n")[0]}` : "";
      run.summary.replaceChildren(el("i", { class: "spin" }), el("span", {}, `${running.tool}${detail}`));
      return;
    }
    const failed = steps.filter((step) => step.failed).length;
    const count = steps.length === 1 ? "Ran 1 step" : `Ran ${steps.length} steps`;
    run.summary.replaceChildren(icon(failed ? "fail" : "done"), el("span", {}, failed ? `${count}, ${failed} failed` : count));
  }

  // ---- what the person says

  /** Shows a message at once, and sends it. The same id is used for every try, so it can't show twice. */
  say(conversation, text, files) {
    const message = { id: freshId(), conversation, text, files, failed: false };
    message.item = personEntry({ text, files });
    this.pending.set(message.id, message);
    this.insert(message.item, Number.MAX_SAFE_INTEGER);
    this.toEnd();
    this.send(message);
  }

  async send(message) {
    message.failed = false;
    message.item.className = "message person sending";
    message.item.querySelector(".meta").replaceChildren("Sending…");
    if (!message.text.startsWith("/")) {
      this.hope = true;
      clearTimeout(this.hoping);
      this.hoping = setTimeout(() => this.stopHoping(), HOPE);
    }
    this.drawDots();
    this.changed();
    try {
      const files = message.files.map(({ hash, name }) => ({ hash, name }));
      const answer = await api.say(message.conversation, { id: message.id, text: message.text, files });
      if (this.pending.has(message.id)) this.sent(message.id, Number(answer.entry));
    } catch (error) {
      if (this.pending.has(message.id)) this.failed(message, error);
    }
    this.changed();
  }

  /** The entry itself comes, or came, by the stream; until it does, the message stands in its place. */
  sent(id, entry) {
    const message = this.pending.get(id);
    if (!message) return;
    if (this.entries.has(entry)) {
      message.item.remove();
      this.pending.delete(id);
      return;
    }
    message.entry = entry;
    message.item.className = "message person";
    message.item.querySelector(".meta").replaceChildren();
  }

  /** After a lost connection entries come without the page's ids. */
  matching(entry) {
    for (const message of this.pending.values()) {
      if (message.entry === entry.id) return message.id;
    }
    return undefined;
  }

  failed(message, error) {
    message.failed = true;
    message.retry = error.retry;
    message.item.className = "message person failed";
    const again = el("button", { type: "button", on: { click: () => this.send(message) } }, "Send again");
    const away = el("button", { type: "button", on: { click: () => this.discard(message) } }, "Discard");
    message.item.querySelector(".meta").replaceChildren(`Not sent: ${error.message}. `, error.retry ? again : "", away);
    this.stopHoping();
    this.stick();
  }

  discard(message) {
    message.item.remove();
    this.pending.delete(message.id);
    this.changed();
  }

  /** The gateway is back: what failed for its absence goes out now. */
  sendFailed() {
    for (const message of this.pending.values()) if (message.failed && message.retry) this.send(message);
  }
}

function drawStep(step) {
  const mark = step.result === null ? el("i", { class: "spin" }) : icon(step.failed ? "fail" : "done");
  return el("li", { class: step.failed ? "failed-step" : "" },
    el("div", { class: "line" }, mark, el("span", { class: "tool" }, step.tool), el("code", {}, step.detail)),
    step.result ? el("pre", { tabIndex: 0 }, el("code", {}, step.result)) : null);
}
