// Undo and redo of one person on one task. They stand in local storage with the revision they fit, so that they outlive a
// page: a pass that was changed elsewhere meanwhile begins a new history.
import { drop, keep, keptObject } from "../store.js";

const MOST = 200;
// Characters of it that are kept: what is not sent yet needs the room more.
const ROOM = 500_000;
const TOGETHER_MS = 2_000;

export class History {
  constructor({ person, task, revision, valid }) {
    this.key = `cutline:history:${person}:${task}`;
    const kept = keptObject(this.key);
    const fits = kept && (kept.revision === revision || valid);
    this.undoable = fits ? kept.undo : [];
    this.redoable = fits ? kept.redo : [];
    this.revision = revision;
  }

  /** Note a change: `undo` takes it back, `redo` does it again. Writing in one field is one change. */
  note(undo, edits, kind = "") {
    // Without the quotes, which may be as long as the source: the bytes are named, and no source changes.
    const redo = edits.map(({ quote, ...edit }) => edit);
    const last = this.undoable.at(-1);
    const now = Date.now();
    if (kind && last?.kind === kind && now - last.at < TOGETHER_MS) Object.assign(last, { redo, at: now });
    else this.undoable.push({ undo, redo, kind, at: now });
    this.redoable = [];
    this.#keep();
  }

  /** Move one change from done to undone (or back) and return it; undefined where there is none. */
  step(back) {
    const [from, to] = back ? [this.undoable, this.redoable] : [this.redoable, this.undoable];
    const entry = from.pop();
    if (entry) to.push({ ...entry, kind: "" });
    this.#keep();
    return entry;
  }

  /** Remember that the pass is at this revision now, by this window's own saving. */
  saved(revision) {
    this.revision = revision;
    this.#keep();
  }

  clear() {
    this.undoable = [];
    this.redoable = [];
    this.#keep();
  }

  #keep() {
    this.undoable = this.undoable.slice(-MOST);
    // The newest that fit; in this window all of them can be undone.
    let [undo, redo] = [this.undoable, this.redoable];
    while (undo.length || redo.length) {
      const text = JSON.stringify({ revision: this.revision, undo, redo });
      if (text.length < ROOM && keep(this.key, text)) return;
      [undo, redo] = [undo, redo].map((list) => list.slice(Math.ceil(list.length / 2)));
    }
    drop(this.key);
  }
}
