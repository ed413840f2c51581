// Marks on superseded text: said beside the spans, and moved to the version in force where the person confirms it, one by
// one or as one reviewed batch. Where each could go the server says; a move is a change like any other, undone like one.
import { notice } from "./notices.js";

const $ = (id) => document.getElementById(id);

export class Moves {
  constructor(desk) {
    this.desk = desk;
    this.dialog = $("moves");
    this.list = $("moves-list");
    this.all = $("moves-all").querySelector("input");
    this.all.addEventListener("change", () => {
      for (const box of this.list.querySelectorAll("input")) box.checked = this.all.checked;
      this.#count();
    });
    this.list.addEventListener("change", () => this.#count());
    $("moves-confirm").addEventListener("click", () => this.#confirm());
  }

  /** Say how many marks are stale, beside the spans. */
  tell() {
    const { content, versions, closed } = this.desk;
    let count = 0;
    for (const span of content.spans.values()) if (versions.get(span.version)?.stale) count += 1;
    const box = $("stale-marks");
    box.hidden = !count || closed;
    if (box.hidden) return;
    const said = `◔ ${count} ${count === 1 ? "mark stands" : "marks stand"} in text that is not in force for this question`;
    if (box.firstElementChild.textContent !== said) box.firstElementChild.textContent = said;
  }

  /** Ask where the stale marks could go and show it. */
  async show() {
    const { desk } = this;
    await desk.saver.flush();
    const answer = await fetch(desk.urls.moves, { credentials: "same-origin", redirect: "error" }).catch(() => null);
    if (!answer?.ok) {
      notice("moves", "collect", "Nothing was moved", ["The server does not answer, or you are signed out, so it is not known where marks could go. Try again in a moment."]);
      return;
    }
    const { moves } = await answer.json();
    this.moves = moves.filter((move) => this.#stands(move));
    this.list.replaceChildren(...this.moves.map((move) => this.#row(move)));
    const can = this.moves.filter((move) => !move.problem).length;
    $("moves-note").textContent = this.moves.length
      ? `${can} of ${this.moves.length} can move: their text stands once in both versions, byte for byte.`
      : "No mark has a version in force to go to. Mark by hand what still holds.";
    this.all.checked = false;
    $("moves-all").hidden = !can;
    this.#count();
    this.dialog.showModal();
  }

  // Whether the mark is still where the server found it: one that was changed in between is asked for again.
  #stands({ name, from }) {
    const span = this.desk.content.spans.get(name);
    return span !== undefined && span.version === from.version && span.start === from.start && span.end === from.end;
  }

  #row(move) {
    const span = this.desk.content.spans.get(move.name);
    const row = document.createElement("li");
    const said = document.createElement(move.problem ? "div" : "label");
    if (!move.problem) {
      said.className = "option";
      const box = Object.assign(document.createElement("input"), { type: "checkbox", value: move.name });
      said.append(box, " ");
    }
    const text = document.createElement("span");
    const name = document.createElement("strong");
    name.textContent = move.name;
    const where = document.createElement("span");
    where.className = "small soft";
    where.textContent = move.problem
      ? ` stays in ${move.old}, ${span.start}–${span.end}: ${move.problem}`
      : ` ${move.old}, ${span.start}–${span.end} → ${move.new}, ${move.start}–${move.end}`;
    const quote = document.createElement("q");
    quote.className = "quote";
    quote.textContent = this.desk.quoteOf(span);
    text.append(name, where, document.createElement("br"), quote);
    said.append(text);
    row.append(said);
    return row;
  }

  #ticked() {
    return [...this.list.querySelectorAll("input:checked")].map((box) => box.value);
  }

  #count() {
    const count = this.#ticked().length;
    $("moves-confirm").disabled = !count;
    $("moves-confirm").textContent = count ? `Move ${count} ${count === 1 ? "mark" : "marks"}` : "Move the ticked ones";
  }

  #confirm() {
    const { desk } = this;
    const ticked = new Set(this.#ticked());
    const edits = [];
    for (const { name, version, start, end } of this.moves.filter((move) => ticked.has(move.name) && this.#stands(move))) {
      const { forbidden, ...span } = desk.content.spans.get(name);
      const after = { ...span, version, start, end };
      desk.keepQuote(after, desk.quoteOf(span));
      edits.push({ op: "change-span", name, span: after, forbidden });
    }
    this.dialog.close();
    if (edits.length && desk.change(edits)) desk.say(`Moved ${edits.length} to the version in force. Undo takes it back.`);
  }
}
