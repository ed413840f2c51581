// Letters at the sentences in view, in the place of their numbers: the letter marks its sentence, whatever its number is, so
// that the 2,912th takes as few keys as the second. One letter where there are enough of them, else two.
const LETTERS = "asdfghjklweruiopcvnmqtyzxb";

export class Hints {
  /** `mark(number)` marks a sentence; `say(text)` tells what is going on. */
  constructor(source, mark, say) {
    Object.assign(this, { source, mark, say });
    this.at = new Map();
    this.typed = "";
  }

  get on() {
    return this.at.size > 0;
  }

  toggle() {
    if (this.on) this.leave();
    else this.enter();
  }

  enter() {
    const source = this.source();
    const view = source.getBoundingClientRect();
    const runs = [...source.querySelectorAll("[data-n]")].filter((run) => {
      const box = run.getClientRects()[0];
      return box && box.top >= view.top && box.bottom <= view.bottom;
    });
    const long = runs.length > LETTERS.length;
    for (const [index, run] of runs.slice(0, LETTERS.length ** 2).entries()) {
      const first = LETTERS[Math.floor(index / LETTERS.length)];
      const hint = (long ? first : "") + LETTERS[index % LETTERS.length];
      run.dataset.hint = hint;
      this.at.set(hint, run);
    }
    this.say(this.on ? "Press the letters of a sentence to mark it; Esc leaves it." : "No sentence begins in view.");
  }

  leave() {
    for (const run of this.at.values()) run.removeAttribute("data-hint");
    this.at.clear();
    this.typed = "";
    this.say("");
  }

  /** Take a key while the letters are shown; true where it was one of theirs. Any other key takes them away. */
  key(event) {
    if (event.ctrlKey || event.metaKey || event.altKey || event.key === "Shift") return false;
    const typed = this.typed + event.key.toLowerCase();
    const run = this.at.get(typed);
    if (!run && [...this.at.keys()].some((hint) => hint.startsWith(typed))) {
      this.typed = typed;
      return true;
    }
    this.leave();
    if (run) this.mark(run.dataset.n);
    else if (event.key !== "Escape") return false;
    return true;
  }
}
