// The right-hand side: cards of the support sets and the list of spans, which is also how a screen reader reads the marks.
// Only what differs is written: a hundred rows written anew are styled and laid out anew with every change.
import { headOf } from "../bytes.js";
import { setLetter } from "./content.js";
import { setClass } from "./marks.js";
import { Originals } from "./originals.js";

const ROWS = 100;
const CHIPS = 40;
const CHIP_QUOTE = 48;
const $ = (id) => document.getElementById(id);
const clone = (id) => $(id).content.firstElementChild.cloneNode(true);
const write = (element, text) => {
  if (element.textContent !== text) element.textContent = text;
};
const put = (element, name, value) => {
  if (element.getAttribute(name) !== value) element.setAttribute(name, value);
};

export class Panel {
  /** `desk` is the workspace: content, chosen, closed, versions, and what may be done with a span. */
  constructor(desk) {
    this.desk = desk;
    this.cards = $("sets");
    this.list = $("spans");
    this.rows = new Map();
    this.originals = new Originals(desk.urls.original, () => this.render());
    this.list.replaceChildren();
    for (const plain of document.querySelectorAll("[data-plain]")) plain.remove();
    this.cards.addEventListener("click", (event) => this.#cardClick(event));
    this.list.addEventListener("click", (event) => this.#listClick(event));
    this.list.addEventListener("change", (event) => this.#listChange(event));
  }

  render() {
    const focused = this.list.contains(document.activeElement) ? document.activeElement : null;
    this.#renderCards();
    this.#renderList();
    this.#renderTargets();
    // A row that moves to its new place in the order of the text takes the focus along.
    if (focused?.isConnected && document.activeElement !== focused) focused.focus({ preventScroll: true });
  }

  /** Put the focus on the chosen span's row. */
  focusChosen() {
    this.rows.get(this.desk.chosen)?.querySelector(".span-open").focus();
  }

  // Cards and chips are kept and only what differs is touched: two hundred cards made anew would be laid out anew.
  #renderCards() {
    const { content, closed } = this.desk;
    const spans = new Map(content.ordered().map((span, index) => [span.name, index]));
    const focused = this.cards.contains(document.activeElement) ? document.activeElement : null;
    while (this.cards.children.length > content.sets.length) this.cards.lastElementChild.remove();
    content.sets.forEach((members, index) => {
      const card = this.cards.children[index] ?? this.#card(index);
      card.classList.toggle("active", index === this.desk.sets.target);
      write(card.querySelector(".set-title"), `${members.length} ${members.length === 1 ? "span" : "spans"}`);
      const ordered = [...members].sort((a, b) => spans.get(a) - spans.get(b));
      this.#fillChips(card.querySelector(".chips"), ordered.slice(0, CHIPS));
      write(card.querySelector(".more"), ordered.length > CHIPS ? `and ${ordered.length - CHIPS} more` : "");
      card.querySelector(".drop").hidden = closed;
    });
    if (focused && !focused.isConnected) $("add-set")?.focus();
    else if (focused && document.activeElement !== focused) focused.focus({ preventScroll: true });
  }

  #card(index) {
    const card = clone("card-template");
    card.classList.add(setClass(index));
    card.dataset.set = index;
    card.querySelector(".letter").textContent = setLetter(index);
    card.querySelector(".drop").setAttribute("aria-label", `Drop set ${setLetter(index)}`);
    this.cards.append(card);
    return card;
  }

  #fillChips(chips, names) {
    const wanted = new Set(names);
    const there = new Map();
    for (const chip of [...chips.children]) {
      if (wanted.has(chip.dataset.name)) there.set(chip.dataset.name, chip);
      else chip.remove();
    }
    names.forEach((name, at) => {
      const chip = there.get(name) ?? clone("chip-template");
      this.#fillChip(chip, this.desk.content.spans.get(name));
      if (chips.children[at] !== chip) chips.insertBefore(chip, chips.children[at] ?? null);
    });
  }

  #fillChip(chip, span) {
    chip.dataset.name = span.name;
    write(chip.querySelector(".chip-label"), span.name === span.label ? span.label : `${span.name} (${span.label})`);
    write(chip.querySelector(".range"), `${span.start}–${span.end}`);
    const quote = this.desk.quoteOf(span);
    write(chip.querySelector(".quote"), quote.length > CHIP_QUOTE ? `${headOf(quote, CHIP_QUOTE)}…` : quote);
    if (span.name === this.desk.chosen) chip.setAttribute("aria-current", "true");
    else chip.removeAttribute("aria-current");
  }

  #renderList() {
    const { content, chosen, version } = this.desk;
    const ordered = content.ordered().toSorted((a, b) => (b.version === version) - (a.version === version));
    const at = Math.max(0, ordered.findIndex((span) => span.name === chosen) - ROWS / 2);
    const first = Math.max(0, Math.min(at, ordered.length - ROWS));
    const shown = ordered.slice(first, first + ROWS);
    const wanted = new Set(shown.map((span) => span.name));
    for (const [name, row] of this.rows) {
      if (wanted.has(name)) continue;
      row.remove();
      this.rows.delete(name);
    }
    this.note?.remove();
    shown.forEach((span, index) => {
      let row = this.rows.get(span.name);
      if (!row) {
        row = clone("row-template");
        row.dataset.name = span.name;
        this.rows.set(span.name, row);
      }
      if (this.list.children[index] !== row) this.list.insertBefore(row, this.list.children[index] ?? null);
      this.#fill(row, span);
    });
    if (ordered.length !== shown.length || !ordered.length) {
      this.note = document.createElement("p");
      this.note.className = "soft small";
      this.note.setAttribute("role", "listitem");
      this.note.textContent = ordered.length
        ? `Spans ${first + 1} to ${first + shown.length} of ${ordered.length}; choose one in the text to see those around it.`
        : this.desk.closed
          ? "No span is marked."
          : "No span is marked yet. Select text in the source, or type the number of a sentence below it and press Enter.";
      this.list.append(this.note);
    }
    write(document.querySelector("[data-span-count]"), String(ordered.length));
  }

  #fill(row, span) {
    const { content, chosen, closed, versions } = this.desk;
    const sets = content.inside(span.name);
    const isChosen = span.name === chosen;
    const letters = sets.map(setLetter).join(" ");
    put(row, "class", ["span-row", sets.length ? setClass(sets[0]) : "", isChosen ? "chosen" : ""].filter(Boolean).join(" "));
    write(row.querySelector(".letter"), span.forbidden ? "✕" : letters || "–");
    write(row.querySelector(".name"), span.name);
    write(row.querySelector(".label"), span.label === span.name ? "" : span.label);
    // Isolated, or a title written from right to left turns the byte range around.
    const elsewhere = span.version === this.desk.version ? "" : `\u2068${versions.get(span.version)?.title ?? "another source"}\u2069 `;
    write(row.querySelector(".range"), `${elsewhere}${span.start}–${span.end}`);
    const stale = versions.get(span.version)?.stale ?? "";
    const tag = row.querySelector(".stale");
    tag.hidden = !stale;
    write(tag, stale && `◔ ${stale}`);
    const quote = this.desk.quoteOf(span);
    write(row.querySelector(".quote"), quote);
    const open = row.querySelector(".span-open");
    put(open, "aria-expanded", String(isChosen));
    const where = span.forbidden ? "must not be used" : letters ? `in set ${letters}` : "in no set";
    put(open, "aria-label", `${span.name}, ${span.label}, bytes ${elsewhere}${span.start} to ${span.end}, ${where}${stale && `, ${stale}`}: ${quote}`);
    const controls = row.querySelector(".controls");
    controls.hidden = !isChosen || closed;
    if (controls.hidden) return;
    const original = row.querySelector(".original");
    write(original, this.originals.of(versions.get(span.version), span.start, span.end));
    original.hidden = !original.textContent;
    const label = row.querySelector(".pick-label");
    if (![...label.options].some((option) => option.value === span.label)) label.add(new Option(span.label, span.label));
    label.value = span.label;
    const name = row.querySelector(".pick-name");
    if (document.activeElement !== name) name.value = span.name;
    row.querySelector(".pick-forbidden").checked = span.forbidden;
    const toggles = row.querySelector(".toggles");
    const count = Math.max(1, content.sets.length);
    while (toggles.children.length > count) toggles.lastElementChild.remove();
    while (toggles.children.length < count) {
      const button = document.createElement("button");
      button.type = "button";
      toggles.append(button);
    }
    [...toggles.children].forEach((button, index) => {
      button.className = setClass(index);
      button.dataset.toggleSet = index;
      button.textContent = setLetter(index);
      button.setAttribute("aria-pressed", String(sets.includes(index)));
      button.setAttribute("aria-label", `In set ${setLetter(index)}`);
    });
  }

  #renderTargets() {
    const target = $("new_set");
    if (!target) return;
    const count = Math.max(1, this.desk.content.sets.length);
    if (target.options.length !== count + 1) {
      target.replaceChildren(
        ...Array.from({ length: count }, (_, index) => new Option(this.desk.content.sets.length ? setLetter(index) : "A (new)", index)),
        new Option("none", ""),
      );
    }
    target.value = this.desk.sets.target === null ? "" : String(Math.min(this.desk.sets.target, count - 1));
  }

  #cardClick(event) {
    const card = event.target.closest("[data-set]");
    if (!card) return;
    const index = Number(card.dataset.set);
    const chip = event.target.closest(".chip");
    if (event.target.closest(".drop")) this.desk.sets.drop(index);
    else if (chip) this.desk.spans.choose(chip.dataset.name, { picked: true });
    else this.desk.sets.aim(index);
  }

  #listClick(event) {
    const name = event.target.closest(".span-row")?.dataset.name;
    if (!name) return;
    const nudge = event.target.closest("[data-nudge]");
    const toggle = event.target.closest("[data-toggle-set]");
    if (nudge) this.desk.spans.nudge(nudge.dataset.nudge);
    else if (toggle) this.desk.sets.toggle(name, Number(toggle.dataset.toggleSet));
    else if (event.target.closest(".remove")) this.desk.spans.remove(name);
    else if (event.target.closest(".span-open")) this.desk.spans.choose(this.desk.chosen === name ? null : name, { picked: true });
  }

  #listChange(event) {
    const row = event.target.closest(".span-row");
    if (!row) return;
    const { name } = row.dataset;
    if (event.target.matches(".pick-label")) this.desk.spans.change(name, { label: event.target.value });
    if (event.target.matches(".pick-forbidden")) this.desk.spans.change(name, { forbidden: event.target.checked });
    if (event.target.matches(".pick-name")) {
      const wanted = event.target.value.trim();
      if (wanted && wanted !== name) {
        const focused = document.activeElement === event.target;
        this.desk.spans.change(name, { name: wanted });
        // A name of its own makes a row of its own.
        if (focused && !row.isConnected) this.rows.get(wanted)?.querySelector(".pick-name")?.focus({ preventScroll: true });
      }
      else event.target.value = name;
    }
  }
}
