// One entry as it looks: words, pictures, players, cards.

import { clockText, el, find, fullTime, icon, sizeText } from "./dom.js";

function picture(file) {
  const button = el("button", { type: "button", class: "picture", "aria-label": `Look at ${file.name}` });
  const image = el("img", { src: file.url, alt: file.name, loading: "lazy", decoding: "async" });
  image.addEventListener("error", () => button.replaceWith(card(file)));
  button.addEventListener("click", () => look(file));
  button.append(image);
  return button;
}

function look(file) {
  const box = find("lightbox");
  const image = box.querySelector("img");
  image.src = file.url;
  image.alt = file.name;
  box.querySelector("span").textContent = `${file.name} · ${sizeText(file.size)}`;
  Object.assign(box.querySelector("a"), { href: file.url, download: file.name });
  box.onclick = (event) => event.target === box && box.close();
  box.showModal();
}

function player(kind, file) {
  const media = el(kind, { controls: true, preload: "metadata", src: file.url });
  const figure = el("figure", { class: "player" },
    el("figcaption", {}, file.name, el("a", { href: file.url, download: file.name }, "Save")),
    media);
  media.addEventListener("error", () => figure.replaceWith(card(file)));
  return figure;
}

function card(file) {
  return el("a", { class: "card", href: file.url, download: file.name, "aria-label": `Save ${file.name}, ${sizeText(file.size)}` },
    icon("file"),
    el("span", {}, el("b", {}, file.name), el("small", {}, sizeText(file.size))),
    icon("save"));
}

export function files(list) {
  if (!list?.length) return null;
  const views = { image: picture, audio: (file) => player("audio", file), video: (file) => player("video", file), card };
  return el("div", { class: "files" }, ...list.map((file) => (views[file.look] ?? card)(file)));
}

async function copy(button, text) {
  let done = true;
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    // Plain-HTTP addresses that are not loopback have no clipboard; the old way works there.
    const area = el("textarea", { value: text, class: "hidden" });
    document.body.append(area);
    area.select();
    done = document.execCommand("copy");
    area.remove();
    button.focus();
  }
  button.classList.toggle("done", done);
  button.replaceChildren(icon(done ? "done" : "fail"), done ? "Copied" : "Not copied");
  setTimeout(() => {
    button.classList.remove("done");
    button.replaceChildren(icon("copy"), "Copy");
  }, 1_600);
}

/** The gateway's own safe HTML, with what only a page can add. */
export function words(html) {
  const box = el("div", { class: "words" });
  box.innerHTML = html;
  for (const pre of box.querySelectorAll("pre")) {
    const code = el("div", { class: "code" });
    pre.replaceWith(code);
    pre.tabIndex = 0;
    code.append(pre, el("button", { type: "button", class: "copy", on: { click: (event) => copy(event.currentTarget, pre.textContent) } }, icon("copy"), "Copy"));
  }
  for (const link of box.querySelectorAll("a[href]")) Object.assign(link, { target: "_blank", rel: "noopener noreferrer" });
  return box;
}

const when = (at) => el("time", { dateTime: new Date(at).toISOString(), title: fullTime(at) }, clockText(at));

export function personEntry(message) {
  const item = el("li", { class: "message person" });
  item.append(...[
    el("span", { class: "hidden" }, "You: "),
    message.text ? el("div", { class: "bubble" }, message.text) : null,
    files(message.files),
    el("div", { class: "meta" }, message.at ? when(message.at) : null),
  ].filter(Boolean));
  return item;
}

/** A question's answers: buttons while it is open, then what became of it. `choose(choice)` resolves with a sentence. */
function answers(question, choose) {
  const note = el("p", { class: "outcome", role: "status" });
  const box = el("div", { class: "answers", role: "group", "aria-label": "Answers", "data-question": question.id });
  const press = async (choice) => {
    box.classList.add("sending");
    for (const button of box.querySelectorAll("button")) button.disabled = true;
    try {
      const { says, over } = await choose(choice);
      note.textContent = says ?? "Your answer is stored.";
      if (over) box.dataset.over = note.textContent;
    } catch (error) {
      note.textContent = `Not sent: ${error.message}.`;
    }
    box.classList.remove("sending");
    for (const button of box.querySelectorAll("button")) button.disabled = false;
  };
  box.append(...question.choices.map((choice) =>
    el("button", { type: "button", class: "answer", on: { click: () => press(choice) } }, choice.label)), note);
  return box;
}

/** What is known of a question: `undefined` if nothing is, `null` if it is open, else what became of it. */
export function drawAnswers(box, outcome, early) {
  const open = outcome === null && !box.dataset.over;
  for (const button of box.querySelectorAll("button")) button.hidden = !open;
  if (!open && !early) box.querySelector(".outcome").textContent = outcome ?? box.dataset.over ?? "This question is over.";
}

export function agentEntry(entry, choose) {
  const item = el("li", { class: "message agent" });
  item.append(...[
    el("span", { class: "hidden" }, "Tidings: "),
    entry.may_be_repeat ? el("div", {}, el("span", { class: "repeat" }, "may be a repeat")) : null,
    files(entry.files),
    entry.html ? words(entry.html) : null,
    entry.question?.choices.length ? answers(entry.question, (choice) => choose(entry, choice)) : null,
    el("div", { class: "meta" }, when(entry.at)),
  ].filter(Boolean));
  return item;
}
