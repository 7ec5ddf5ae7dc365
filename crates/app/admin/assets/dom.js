// Small tools for building pages and for words about time and size. No markup is ever made from text here.

const SVG = "http://www.w3.org/2000/svg";

/** Makes an element. `props` are properties, except `class`, `aria-*`, `data-*` and `on`, an object of listeners. */
export function el(tag, props = {}, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(props)) {
    if (value === undefined || value === null) continue;
    if (name === "on") for (const [event, listener] of Object.entries(value)) node.addEventListener(event, listener);
    else if (name === "class") node.className = value;
    else if (name in node && !name.includes("-")) node[name] = value;
    else node.setAttribute(name, value);
  }
  node.append(...children.filter((child) => child !== null && child !== undefined && child !== false));
  return node;
}

export function icon(name) {
  const svg = document.createElementNS(SVG, "svg");
  svg.setAttribute("class", "icon");
  svg.setAttribute("aria-hidden", "true");
  const use = document.createElementNS(SVG, "use");
  use.setAttribute("href", `#i-${name}`);
  svg.append(use);
  return svg;
}

export const find = (id) => document.getElementById(id);

/** An id that was never given before. `randomUUID` is missing on plain-HTTP addresses that are not loopback. */
export function freshId() {
  if (crypto.randomUUID) return crypto.randomUUID();
  return [...crypto.getRandomValues(new Uint8Array(16))].map((byte) => byte.toString(16).padStart(2, "0")).join("");
}

const clock = new Intl.DateTimeFormat(undefined, { hour: "numeric", minute: "2-digit" });
const weekday = new Intl.DateTimeFormat("en", { weekday: "long" });
const date = new Intl.DateTimeFormat("en", { day: "numeric", month: "long" });
const dateWithYear = new Intl.DateTimeFormat("en", { day: "numeric", month: "long", year: "numeric" });
const full = new Intl.DateTimeFormat(undefined, { dateStyle: "full", timeStyle: "short" });

const midnight = (time) => new Date(time).setHours(0, 0, 0, 0);
const daysAgo = (time) => Math.round((midnight(Date.now()) - midnight(time)) / 86_400_000);

export const dayOf = (time) => String(midnight(time));
export const clockText = (time) => clock.format(time);
export const fullTime = (time) => full.format(time);

/** "Today", "Yesterday", "Tuesday", "3 November". */
export function dayText(time) {
  const days = daysAgo(time);
  if (days <= 0) return "Today";
  if (days === 1) return "Yesterday";
  if (days < 7) return weekday.format(time);
  return new Date(time).getFullYear() === new Date().getFullYear() ? date.format(time) : dateWithYear.format(time);
}

/** "just now", "5 minutes ago", "14:05", "Yesterday", … */
export function agoText(time) {
  const minutes = Math.floor((Date.now() - time) / 60_000);
  if (minutes < 1) return "just now";
  if (minutes < 60) return minutes === 1 ? "1 minute ago" : `${minutes} minutes ago`;
  return daysAgo(time) === 0 ? clockText(time) : dayText(time);
}

export function sizeText(bytes) {
  if (bytes < 1024) return bytes === 1 ? "1 byte" : `${bytes} bytes`;
  const units = ["KB", "MB", "GB"];
  let size = bytes / 1024;
  let unit = 0;
  while (size >= 1024 && unit < units.length - 1) { size /= 1024; unit += 1; }
  return `${size < 10 ? size.toFixed(1).replace(/\.0$/, "") : Math.round(size)} ${units[unit]}`;
}
