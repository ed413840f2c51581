// Find in the whole source, loaded or not: the server says where, the page goes there.
import { rangeOf } from "../bytes.js";

const PAUSE_MS = 180;

export class Find {
  /** `desk` is the workspace: source, blocks, urls. */
  constructor(desk) {
    this.desk = desk;
    this.places = [];
    this.at = -1;
    this.entry = document.getElementById("find-entry");
    this.count = document.getElementById("find-count");
    this.entry?.addEventListener("input", () => {
      clearTimeout(this.timer);
      this.timer = setTimeout(() => this.search(), PAUSE_MS);
    });
    this.entry?.addEventListener("keydown", (event) => {
      // This Enter ends what an input method composes.
      if (event.isComposing) return;
      if (event.key === "Enter") {
        event.preventDefault();
        if (this.asked === this.entry.value) this.go(event.shiftKey ? -1 : 1);
        else this.search();
      } else if (event.key === "Escape") {
        this.entry.value = "";
        this.search();
        this.desk.source?.focus({ preventScroll: true });
      }
    });
  }

  async search() {
    clearTimeout(this.timer);
    const asked = (this.asked = this.entry.value);
    this.places = [];
    this.at = -1;
    if (asked.trim()) {
      const query = new URLSearchParams({ version: this.desk.source.dataset.versionPk, q: asked });
      const answer = await fetch(`${this.desk.urls.find}?${query}`, { credentials: "same-origin", redirect: "error" }).catch(() => null);
      if (this.asked !== asked) return;
      if (!answer?.ok) {
        this.#say("could not search");
        return;
      }
      this.places = (await answer.json()).places;
    }
    if (this.places.length) await this.go(1);
    else this.#say(asked.trim() ? "nowhere" : "");
    this.paint();
  }

  /** Go to the next place (1) or the one before (-1); the first time from what is in view. */
  async go(direction) {
    if (!this.places.length) return;
    const here = this.at < 0 ? this.desk.blocks.firstVisible() : 0;
    const first = this.at < 0 ? Math.max(0, this.places.findIndex(([start]) => start >= here)) : this.at + direction;
    this.at = (first + this.places.length) % this.places.length;
    const [start, end] = this.places[this.at];
    this.#say(`${this.at + 1} of ${this.places.length}`);
    await this.desk.blocks.show(start);
    this.paint();
    this.desk.selected({ start, end });
  }

  /** Highlight the places in loaded blocks; the Highlight API changes nothing in the text. */
  paint() {
    if (!globalThis.CSS?.highlights) return;
    CSS.highlights.delete("cutline-find");
    CSS.highlights.delete("cutline-found");
    if (!this.places.length) return;
    const ranges = this.places.map(([start, end]) => rangeOf(this.desk.source, start, end));
    CSS.highlights.set("cutline-find", new Highlight(...ranges.filter(Boolean)));
    if (ranges[this.at]) {
      const found = new Highlight(ranges[this.at]);
      found.priority = 1;
      CSS.highlights.set("cutline-found", found);
    }
  }

  #say(text) {
    this.count.textContent = text;
    for (const button of document.querySelectorAll("[data-do^='find-']")) button.hidden = !this.places.length;
  }
}
