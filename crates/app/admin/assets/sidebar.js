// The list of conversations, and how the gateway stands.

import * as api from "./api.js";
import { agoText, el, find, fullTime } from "./dom.js";

const EVERY = 20_000;

export class Sidebar {
  constructor(severalProfiles) {
    Object.assign(this, { severalProfiles, rows: [], current: null, seen: new Map(), first: true });
    find("open-list").addEventListener("click", () => this.open(true));
    find("close-list").addEventListener("click", () => this.open(false));
    find("veil").addEventListener("click", () => this.open(false));
    find("sidebar").addEventListener("keydown", (event) => {
      if (event.key === "Escape" && this.opened) { event.preventDefault(); this.open(false); }
    });
    find("log-out").addEventListener("click", async () => { await api.logOut().catch(() => {}); location.reload(); });
    const again = () => { if (!document.hidden) { this.refresh(); this.status(); } };
    setInterval(again, EVERY);
    document.addEventListener("visibilitychange", again);
    this.status();
  }

  open(opened) {
    this.opened = opened;
    find("sidebar").classList.toggle("open", opened);
    find("veil").hidden = !opened;
    find("open-list").setAttribute("aria-expanded", String(opened));
    (opened ? find("new-conversation") : find("open-list")).focus();
  }

  close() { if (this.opened) this.open(false); }

  async refresh() {
    try {
      this.rows = await api.conversations();
    } catch { return; }
    for (const row of this.rows) if (this.first || row.id === this.current) this.seen.set(row.id, row.touched_at);
    this.first = false;
    this.draw();
  }

  select(id) {
    this.current = id;
    const row = this.rows.find((one) => one.id === id);
    if (row) this.seen.set(id, row.touched_at);
    this.draw();
  }

  draw() {
    const items = this.rows.map((row) => {
      const unread = row.id !== this.current && row.touched_at > (this.seen.get(row.id) ?? 0);
      const link = el("a", { href: `#${encodeURIComponent(row.id)}`, "aria-current": row.id === this.current ? "page" : null },
        el("span", { class: "words" }, row.title || "New conversation", unread ? el("span", { class: "hidden" }, " (new)") : null),
        el("span", { class: "when" },
          el("time", { dateTime: new Date(row.touched_at).toISOString(), title: fullTime(row.touched_at) }, agoText(row.touched_at)),
          this.severalProfiles ? ` · ${row.profile}` : null));
      return el("li", { class: unread ? "unread" : "" }, link);
    });
    if (!items.length) items.push(el("li", { class: "none" }, "Nothing here yet."));
    const list = find("conversations");
    // Redrawing must not take the focus away from somebody who goes through the list by keyboard.
    const focused = list.contains(document.activeElement) ? document.activeElement.getAttribute("href") : null;
    list.replaceChildren(...items);
    if (focused) [...list.querySelectorAll("a")].find((link) => link.getAttribute("href") === focused)?.focus();
  }

  async status() {
    const box = find("status");
    let status;
    try {
      status = await api.status();
    } catch {
      box.className = "status bad";
      find("status-line").textContent = "Not reachable";
      return;
    }
    const broken = status.channels.filter((channel) => !channel.ok);
    box.className = `status ${status.ready && !broken.length ? "good" : "bad"}`;
    find("status-line").textContent = !status.ready ? "Not ready" : broken.length ? `Trouble: ${broken[0].name}` : "Ready";
    const rows = status.profiles.flatMap((profile) => [el("dt", {}, this.severalProfiles ? `Model of ${profile.id}` : "Model"), el("dd", {}, profile.model)]);
    rows.push(el("dt", {}, "Sandbox"), el("dd", {}, status.sandbox));
    for (const channel of status.channels) {
      rows.push(el("dt", {}, `${channel.name} (${channel.kind})`), el("dd", { class: channel.ok ? "" : "bad" }, channel.text));
    }
    find("status-list").replaceChildren(...rows);
  }
}
