// The desk somebody works at: the content, what is chosen, and the one way a change is made: applied here, drawn at once,
// noted for undo, kept in local storage and sent as a revision. What the changes are stands in spans.js and sets.js.
import { headOf } from "../bytes.js";
import { Content } from "./content.js";
import { Exchange } from "./exchange.js";
import { Form } from "./form.js";
import { History } from "./history.js";
import { Keys } from "./keys.js";
import { Marks } from "./marks.js";
import { Moves } from "./moves.js";
import { clear, notice } from "./notices.js";
import { Panel } from "./panel.js";
import { Reading } from "./reading.js";
import { Sets } from "./sets.js";
import { Spans } from "./spans.js";

const place = (span) => `${span.version}:${span.start}:${span.end}`;

export class Desk {
  constructor(state) {
    this.state = state;
    this.urls = state.urls;
    this.closed = state.closed;
    this.versions = new Map(state.versions.map((version) => [version.sha, version]));
    this.quotes = new Map();
    const spans = state.spans.map(([at, start, end, name, label, forbidden, quote]) => {
      const span = { version: state.versions[at].sha, start, end, name, label, forbidden };
      this.quotes.set(place(span), quote);
      return span;
    });
    this.content = new Content({ spans, sets: state.sets, contract: state.contract });
    this.chosen = null;
    this.picked = false;
    this.selection = null;
    this.marks = new Marks();
    this.spans = new Spans(this);
    this.sets = new Sets(this);
  }

  async start() {
    document.querySelector("[data-workspace]").classList.add("scripted");
    for (const part of document.querySelectorAll("[data-scripted]")) part.hidden = false;
    this.exchange = new Exchange(this);
    this.saver = this.exchange.saver;
    const adopted = await this.exchange.takeOver();
    this.history = new History({ ...this.state, valid: adopted });
    this.panel = new Panel(this);
    this.form = new Form(this);
    this.moves = new Moves(this);
    this.reading = new Reading(this);
    this.keys = new Keys(this);
    this.show();
    this.form.fill();
    document.querySelector("[data-workspace]").dataset.ready = "true";
    if (adopted) this.saver.flush();
    addEventListener("pageshow", (event) => {
      // Brought back by the back button: what stands here may be old.
      if (event.persisted && !this.saver.unsent) location.reload();
    });
  }

  get source() {
    return this.reading.source;
  }
  get blocks() {
    return this.reading.blocks;
  }
  get sentences() {
    return this.reading.sentences;
  }
  get version() {
    return this.source?.dataset.version ?? this.state.version;
  }

  /** Draw everything anew that differs. */
  show() {
    if (this.chosen && !this.content.spans.has(this.chosen)) this.chosen = null;
    if (this.source) this.marks.draw(this.source, this.version, this.content, this.chosen);
    this.panel.render();
    this.moves.tell();
    const span = this.chosen ? this.content.spans.get(this.chosen) : null;
    this.reading.mouse.showHandles(span?.version === this.version ? span : null);
    for (const [name, list] of [["undo", this.history.undoable], ["redo", this.history.redoable]]) {
      document.querySelector(`[data-do="${name}"]`).disabled = this.closed || !list.length;
    }
  }

  /** Make a change: apply, note for undo, send. Returns false where it does not fit. */
  change(edits, { kind = "", delay = 0 } = {}) {
    if (this.closed || this.saver.stopped) return false;
    const undo = [];
    try {
      for (const edit of edits) undo.unshift(...this.content.apply(edit));
    } catch (error) {
      notice("refused", "reject", "This did not work", [error.message]);
      return false;
    }
    clear("refused");
    this.history.note(undo, edits, kind);
    this.saver.push(edits, delay);
    this.show();
    return true;
  }

  undo(back) {
    if (this.closed || this.saver.stopped) return;
    const entry = this.history.step(back);
    if (!entry) return;
    const edits = back ? entry.undo : entry.redo;
    try {
      for (const edit of edits) this.content.apply(edit);
    } catch (error) {
      this.history.clear();
      notice("refused", "reject", "This can no longer be undone", [error.message]);
      return;
    }
    this.saver.push(edits);
    this.show();
    this.form.fill();
  }

  /** The beginning of a span's text, as far as a list shows it. */
  quoteOf(span) {
    return this.quotes.get(place(span)) ?? "";
  }

  keepQuote(span, text) {
    this.quotes.set(place(span), headOf(text, 240));
  }

  /** What is selected in the source, in bytes; the plain form shows it too. */
  selected(bytes, fromMouse = false) {
    this.selection = bytes && bytes.end > bytes.start ? bytes : null;
    this.form.selection(this.selection);
    const button = document.querySelector('[data-do="mark"]');
    if (button) button.hidden = !this.selection || this.closed;
    if (this.selection) {
      const length = this.selection.end - this.selection.start;
      const keys = [this.keys.keyFor("mark"), "Enter"].filter(Boolean).join(" or ");
      const hint = this.closed ? "" : ` · ${keys} marks it`;
      this.say(`bytes ${this.selection.start}–${this.selection.end} (${length})${hint}`);
    } else if (fromMouse || !bytes) this.say("");
  }

  say(text) {
    const note = document.getElementById("selection-note");
    if (note) note.textContent = text;
  }
}
