// Keys of the workspace. None is taken from a field somebody writes in, nor from an open dialog.
import { isTyping } from "../typing.js";
import { Caret } from "./caret.js";
import { Hints } from "./hints.js";
import { KeySheet } from "./keysheet.js";

const RANGE = /^\s*(\d{1,7})\s*(?:[-–]\s*(\d{1,7})\s*)?$/;
const LONG = 65_536;
// What a key does to marks or reads of them: it waits for the sentences entered before it.
const IN_TURN = new Set(["mark", "start-back", "start-on", "end-on", "end-back", "next-span", "previous-span", "delete", "new-set", "label", "forbid", "undo", "redo"]);
const $ = (id) => document.getElementById(id);

export class Keys {
  constructor(desk) {
    this.desk = desk;
    this.sheet = new KeySheet(desk.state);
    this.entry = $("sentence-entry");
    // The last of what is marked or waits for it; null where nothing does.
    this.turn = null;
    this.hints = new Hints(() => desk.source, (number) => this.sentences(number), (text) => desk.say(text));
    document.addEventListener("pointerdown", () => this.hints.on && this.hints.leave());
    document.addEventListener("keydown", (event) => this.#down(event));
    this.entry?.addEventListener("keydown", (event) => this.#entered(event));
  }

  /** Key of an action as it is now. */
  keyFor(action) {
    return this.sheet.keys[action];
  }

  /** Do `act` once the sentences before it are marked: keys may follow faster than numbers and blocks come in. */
  #queue(act) {
    const before = this.#waiting ? this.turn.done : Promise.resolve();
    const turn = { done: before.then(act).catch((error) => reportError(error)), blocks: this.desk.blocks };
    this.turn = turn;
    turn.done.then(() => {
      if (this.turn === turn) this.turn = null;
    });
    return turn.done;
  }

  /** Whether something is being marked in the source that is open; blocks of one that was left never come in. */
  get #waiting() {
    return this.turn !== null && this.turn.blocks === this.desk.blocks;
  }

  /** Mark the sentences that `12` or `12-14` names. */
  async sentences(text) {
    const start = await this.#queue(() => this.#sentences(text));
    if (start === undefined) return;
    await this.desk.blocks.show(start, "nearest");
    this.desk.show();
  }

  async #sentences(text) {
    const found = RANGE.exec(text);
    if (!found) return this.desk.say(`“${text}” is no sentence number: write 12 or 12-14.`);
    const first = Number(found[1]);
    const range = await this.desk.sentences.range(first, Number(found[2] ?? first)).catch(() => undefined);
    if (range === undefined) return this.desk.say("The sentence numbers could not be loaded. Try again in a moment.");
    if (range === null) return this.desk.say(`There is no sentence ${text.trim()}.`);
    // Loaded for its quote, which the server compares. A sentence as long as a book is marked by its bytes alone.
    if (range.end - range.start < LONG) await this.desk.blocks.ensure(range.start, range.end);
    this.desk.spans.mark(range.start, range.end);
    return range.start;
  }

  async #entered(event) {
    if (event.isComposing) return;
    if (event.key === "Escape") {
      this.entry.value = "";
      this.desk.source.focus({ preventScroll: true });
    } else if (event.key === "Enter") {
      event.preventDefault();
      const text = this.entry.value;
      this.entry.value = "";
      this.desk.source.focus({ preventScroll: true });
      if (text.trim()) await this.sentences(text);
    }
  }

  #down(event) {
    if (document.querySelector("dialog[open]") || event.isComposing) return;
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) {
      event.preventDefault();
      this.desk.exchange.submit();
      return;
    }
    if (isTyping(event.target) && !/^(radio|checkbox)$/.test(event.target.type)) return;
    if (event.defaultPrevented || !this.#handle(event)) return;
    event.preventDefault();
  }

  #handle(event) {
    const { desk } = this;
    const { caret } = desk.reading;
    if (this.hints.on && this.hints.key(event)) return true;
    if (caret.on && Caret.keys.has(event.key) && !event.metaKey) {
      caret.key(event);
      return true;
    }
    if (event.key === "Escape") return this.#escape();
    const plain = !event.ctrlKey && !event.metaKey && !event.altKey;
    if (event.key === "Enter" && plain && (desk.selection || desk.reading.mouse.busy) && !event.target.closest("button, a, summary, [role=menu]")) {
      this.#mark();
      return true;
    }
    if (event.shiftKey && plain && /^Digit[1-9]$/.test(event.code)) return this.#digit(Number(event.code.at(-1)), true);
    if (plain && /^[0-9]$/.test(event.key)) return this.#digit(Number(event.key), false);
    if (event.key === "Backspace" && desk.picked && plain) {
      desk.spans.remove();
      return true;
    }
    if (event.key.toLowerCase() === "z" && event.shiftKey && (event.ctrlKey || event.metaKey)) {
      return this.#do("redo");
    }
    const action = this.sheet.action(event);
    if (!action) return false;
    return this.#do(action);
  }

  #digit(number, shifted) {
    const { desk } = this;
    if (desk.closed) return false;
    if (shifted && number > 0 && this.#waiting) {
      this.#queue(() => desk.chosen && desk.sets.toggle(desk.chosen, number - 1));
      return true;
    }
    if ((shifted || desk.picked) && number > 0 && desk.chosen) {
      desk.sets.toggle(desk.chosen, number - 1);
      return true;
    }
    if (shifted || !this.entry || number === 0) return false;
    this.entry.value = String(number);
    this.entry.focus({ preventScroll: true });
    return true;
  }

  #escape() {
    const { desk } = this;
    if (desk.reading.caret.on) desk.reading.caret.leave();
    getSelection().removeAllRanges();
    desk.selected(null);
    desk.spans.choose(null);
    desk.source?.focus({ preventScroll: true });
    return true;
  }

  #do(action) {
    const { desk } = this;
    const { reading } = desk;
    const acts = {
      mark: () => this.#mark(),
      letters: () => desk.source && this.hints.toggle(),
      caret: () => reading.caret.toggle(),
      "start-back": () => this.#edge("start-back"),
      "start-on": () => this.#edge("start-on"),
      "end-on": () => this.#edge("end-on"),
      "end-back": () => this.#edge("end-back"),
      "next-span": () => desk.spans.neighbour(1),
      "previous-span": () => desk.spans.neighbour(-1),
      delete: () => desk.spans.remove(),
      "new-set": () => desk.sets.add(),
      label: () => desk.spans.nextLabel(),
      forbid: () => desk.chosen && desk.spans.change(desk.chosen, { forbidden: !desk.content.spans.get(desk.chosen).forbidden }),
      undo: () => desk.undo(true),
      redo: () => desk.undo(false),
      find: () => this.#focus("find-entry"),
      sources: () => reading.search.show(),
      "next-source": () => reading.neighbour(1),
      "previous-source": () => reading.neighbour(-1),
      answerable: () => desk.form.answerable(true),
      "not-answerable": () => desk.form.answerable(false),
      answer: () => this.#focus("answer"),
      guideline: () => this.#guideline(),
      numbers: () => reading.toggle("numbered"),
    };
    if (desk.closed && !["caret", "next-span", "previous-span", "find", "sources", "next-source", "previous-source", "guideline", "numbers"].includes(action)) return false;
    if (this.#waiting && IN_TURN.has(action)) this.#queue(acts[action]);
    else acts[action]();
    return true;
  }

  /** Mark what is selected; a drag that has just ended is waited for, snapped as it will be. */
  async #mark() {
    const { desk } = this;
    await desk.reading.mouse.settled;
    if (desk.selection) desk.spans.mark(desk.selection.start, desk.selection.end);
    else desk.say("Select text first, or type a sentence number.");
  }

  #edge(which) {
    this.desk.spans.nudge(which);
  }

  #focus(id) {
    const field = $(id);
    if (!field) return;
    const pane = field.closest("[data-pane]")?.dataset.pane;
    if (pane && getComputedStyle(field.closest("[data-pane]")).display === "none") this.desk.reading.view(pane);
    field.focus();
    field.select?.();
  }

  #guideline() {
    const details = $("guideline");
    if (!details) return;
    details.open = !details.open;
    if (details.open) details.querySelector(".guideline-text").focus();
  }
}
