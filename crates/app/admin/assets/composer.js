// Where a person writes, and gathers files.

import * as api from "./api.js";
import { el, find, icon, sizeText } from "./dom.js";

const limits = () => document.body.dataset;
/** Keyboards on glass have no Shift+Enter: there Enter makes a new line, and the button sends. */
const touch = matchMedia("(pointer: coarse) and (max-width: 48rem)");
const PREVIEWED = new Set(["image/png", "image/jpeg", "image/gif", "image/webp"]);

export class Composer {
  /** `place()` gives the conversation to upload to, making it if need be; `say(text, files)` sends. */
  constructor({ place, say, stop }) {
    Object.assign(this, { place, say, stopRun: stop, files: [], waiting: false, busy: false });
    this.form = find("composer");
    this.text = find("text");
    this.chips = find("chips");
    this.text.addEventListener("input", () => this.changed());
    this.text.addEventListener("keydown", (event) => this.key(event));
    this.text.addEventListener("paste", (event) => this.paste(event));
    this.form.addEventListener("submit", (event) => { event.preventDefault(); this.submit(); });
    find("attach").addEventListener("click", () => find("file").click());
    find("file").addEventListener("change", (event) => { this.add(event.target.files); event.target.value = ""; });
    find("stop").addEventListener("click", () => this.stop());
    addEventListener("keydown", (event) => {
      if (event.key === "Escape" && !event.defaultPrevented && !document.querySelector("dialog[open]")) this.stop();
    });
    this.drops();
    this.changed();
  }

  key(event) {
    // While a word is being composed (Japanese, Chinese, …) Enter belongs to the input method.
    if (event.key === "Enter" && !event.shiftKey && !event.isComposing && !touch.matches) {
      event.preventDefault();
      this.submit();
    }
  }

  paste(event) {
    const pasted = [...(event.clipboardData?.files ?? [])];
    if (!pasted.length) return;
    event.preventDefault();
    this.add(pasted);
  }

  drops() {
    const sign = find("drop");
    const hasFiles = (event) => event.dataTransfer?.types.includes("Files");
    let depth = 0;
    addEventListener("dragenter", (event) => { if (hasFiles(event)) { depth += 1; sign.hidden = false; } });
    addEventListener("dragleave", (event) => { if (hasFiles(event)) { depth -= 1; sign.hidden = depth > 0 ? sign.hidden : true; } });
    addEventListener("dragover", (event) => hasFiles(event) && event.preventDefault());
    addEventListener("drop", (event) => {
      if (!hasFiles(event)) return;
      event.preventDefault();
      depth = 0;
      sign.hidden = true;
      this.add(event.dataTransfer.files);
    });
  }

  changed() {
    this.text.style.height = "auto";
    this.text.style.height = `${this.text.scrollHeight}px`;
    const uploading = this.files.some((file) => file.state === "going");
    const something = this.text.value.trim() !== "" || this.files.some((file) => file.state === "there");
    const full = this.text.value.length >= Number(limits().longestText);
    if (full) this.notice(`This is longer than ${limits().longestText} characters: send it as a file instead.`);
    find("send").disabled = full || (!something && !uploading);
    this.chips.hidden = this.files.length === 0;
  }

  notice(text) {
    const notice = find("notice");
    notice.textContent = text;
    notice.hidden = !text;
  }

  // ---- files

  add(list) {
    this.notice("");
    for (const file of list) {
      if (this.files.length >= Number(limits().mostFiles)) {
        this.notice(`A message can hold at most ${limits().mostFiles} files.`);
        break;
      }
      if (file.size > Number(limits().attachmentBytes)) {
        this.notice(`${file.name} is larger than ${limits().attachmentText}, the most that can be sent.`);
        continue;
      }
      this.upload(file);
    }
    this.changed();
    this.text.focus();
  }

  async upload(file) {
    const bar = el("progress", { max: 1, value: 0, "aria-label": `Sending ${file.name}` });
    const note = el("small", {}, sizeText(file.size));
    const chip = { state: "going", abort: () => {} };
    const away = el("button", { type: "button", class: "quiet icon-only", "aria-label": `Remove ${file.name}`, on: { click: () => this.remove(chip) } }, icon("close"));
    const small = PREVIEWED.has(file.type) ? el("img", { src: URL.createObjectURL(file), alt: "" }) : icon("file");
    chip.small = small.src;
    chip.item = el("li", {}, small, el("span", {}, el("b", { title: file.name }, file.name), note), away, bar);
    this.files.push(chip);
    this.chips.append(chip.item);
    try {
      const place = await this.place();
      if (chip.state === "gone") return;
      const going = api.upload(place, file, (part) => { bar.value = part; });
      chip.abort = going.abort;
      chip.stored = await going.done;
      chip.state = "there";
    } catch (error) {
      if (chip.state === "gone") return;
      chip.state = "failed";
      chip.item.classList.add("bad");
      note.textContent = error.message;
      this.waiting = false;
    }
    bar.remove();
    this.changed();
    if (this.waiting && !this.files.some((one) => one.state === "going")) this.submit();
  }

  remove(chip) {
    chip.state = "gone";
    chip.abort();
    chip.item.remove();
    if (chip.small) URL.revokeObjectURL(chip.small);
    this.files = this.files.filter((one) => one !== chip);
    this.changed();
    this.text.focus();
  }

  /** What belongs to one conversation is not carried into another. */
  clear() {
    for (const chip of [...this.files]) this.remove(chip);
    this.text.value = "";
    this.waiting = false;
    this.notice("");
    this.changed();
  }

  // ---- sending

  submit() {
    if (this.files.some((file) => file.state === "going")) {
      this.waiting = true;
      this.notice("");
      return;
    }
    this.waiting = false;
    const text = this.text.value.trim();
    const stored = this.files.filter((file) => file.state === "there").map((file) => file.stored);
    if ((!text && !stored.length) || find("send").disabled) return;
    this.clear();
    const looks = { png: "image", jpeg: "image", gif: "image", webp: "image" };
    const files = stored.map((file) => ({ ...file, look: looks[file.mime.replace("image/", "")] ?? "card" }));
    this.say(text, files);
  }

  setBusy(busy) {
    this.busy = busy;
    find("stop").hidden = !busy;
  }

  stop() {
    if (!this.busy) return;
    this.stopRun();
    this.text.focus();
  }
}
