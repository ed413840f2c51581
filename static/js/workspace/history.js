// Undo and redo of one person on one task. They stand in local storage with the revision they fit, so that they outlive a
// page: a pass that was changed elsewhere meanwhile begins a new history.

const MOST = 200;
const TOGETHER_MS = 2_000;

export class History {
  constructor({ person, task, revision, valid }) {
    this.key = `cutline:history:${person}:${task}`;
    const kept = JSON.parse(localStorage.getItem(this.key) ?? "null");
    const fits = kept && (kept.revision === revision || valid);
    this.undoable = fits ? kept.undo : [];
    this.redoable = fits ? kept.redo : [];
    this.revision = revision;
  }

  /** Note a change: `undo` takes it back, `redo` does it again. Writing in one field is one change. */
  note(undo, redo, kind = "") {
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
    const entry = { revision: this.revision, undo: this.undoable, redo: this.redoable };
    localStorage.setItem(this.key, JSON.stringify(entry));
  }
}
