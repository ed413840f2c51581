// The desk somebody works at: the content, what is chosen, and everything that can be done with it. Every change is made
// here first, drawn at once, kept in local storage and sent as a revision.
import { textBetween } from "../bytes.js";
import { Activity } from "./activity.js";
import { Content } from "./content.js";
import { Form } from "./form.js";
import { History } from "./history.js";
import { Keys } from "./keys.js";
import { Marks } from "./marks.js";
import { contentOf, rebased, summary, wordsOf } from "./merge.js";
import { clear, notice, problemLines, twoUp } from "./notices.js";
import { Panel } from "./panel.js";
import { Reading } from "./reading.js";
import { Saver } from "./saver.js";
import { step } from "./text.js";

const SPAN_NAME = /^[-a-zA-Z0-9_]{1,60}$/;

export class Desk {
  constructor(state) {
    this.state = state;
    this.urls = state.urls;
    this.closed = state.closed;
    this.versions = new Map(state.versions.map((version) => [version.sha, version]));
    this.quotes = new Map();
    const spans = state.spans.map(([at, start, end, name, label, forbidden, quote]) => {
      const span = { version: state.versions[at].sha, start, end, name, label, forbidden };
      this.quotes.set(this.#place(span), quote);
      return span;
    });
    this.content = new Content({ spans, sets: state.sets, contract: state.contract });
    this.chosen = null;
    this.picked = false;
    this.targetSet = 0;
    this.selection = null;
    this.marks = new Marks();
  }

  async start() {
    document.querySelector("[data-workspace]").classList.add("scripted");
    for (const part of document.querySelectorAll("[data-scripted]")) part.hidden = false;
    this.saver = new Saver({
      person: this.state.person,
      task: this.state.task,
      url: this.urls.edits,
      revision: this.state.revision,
      saveKey: this.state.saveKey,
      seconds: new Activity(this.urls.time),
      on: {
        saved: (answer) => this.#saved(answer),
        state: (word, detail) => this.#said(word, detail),
        stale: (answer, edits) => this.#stale(answer, edits),
        refused: (problems, edits, waiting) => this.#refused(problems, edits, waiting),
        unkept: () => notice("unkept", "collect", "This browser cannot keep what is not sent", [
          "Its storage is full or forbidden. Everything is still sent at once, and undo works in this window; do not close it while something is not sent.",
        ]),
      },
    });
    const adopted = await this.#takeOver();
    this.history = new History({ ...this.state, valid: adopted });
    this.panel = new Panel(this);
    this.form = new Form(this);
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

  // Spans

  quoteOf(span) {
    return this.quotes.get(this.#place(span)) ?? "";
  }

  /** Mark `[start, end)` of the source shown; the same bytes again only join the set that spans go to. */
  mark(start, end) {
    const version = this.version;
    const there = this.content.at(version, start, end);
    const set = this.targetSet;
    if (there) {
      if (set !== null && !this.content.inside(there.name).includes(set)) this.toggleSet(there.name, set);
      this.choose(there.name);
      return;
    }
    const label = document.getElementById("new_label")?.value ?? "rule";
    const span = { version, start, end, name: this.content.freeName(label), label };
    const text = textBetween(this.source, start, end);
    this.quotes.set(this.#place(span), text?.slice(0, 240) ?? "");
    const edit = { op: "add-span", span, forbidden: false, sets: set === null ? [] : [Math.min(set, this.content.sets.length)] };
    if (text !== null) edit.quote = text;
    if (!this.change([edit])) return;
    getSelection().removeAllRanges();
    this.selected(null);
    this.reading.caret.collapse();
    this.choose(span.name);
    this.say(`Marked ${span.name}, bytes ${start} to ${end}.`);
  }

  changeSpan(name, changes) {
    const { forbidden: was, ...span } = this.content.spans.get(name);
    const { forbidden = was, ...fields } = changes;
    if (fields.name !== undefined && !SPAN_NAME.test(fields.name)) {
      notice("refused", "reject", "This is no name for a span", ["Use 1 to 60 letters, digits, hyphens and underscores (ASCII)."]);
      this.show();
      return;
    }
    const after = { ...span, ...fields };
    const edit = { op: "change-span", name, span: after, forbidden };
    if (after.start !== span.start || after.end !== span.end) {
      const text = textBetween(this.source, after.start, after.end);
      this.quotes.set(this.#place(after), text?.slice(0, 240) ?? "");
      if (text !== null) edit.quote = text;
    }
    if (this.chosen === name) this.chosen = after.name;
    if (!this.change([edit])) this.chosen = name;
  }

  changeEdges(name, start, end) {
    const span = this.content.spans.get(name);
    if (!span || end <= start || (span.start === start && span.end === end)) return this.show();
    if (this.content.at(span.version, start, end)) return this.say("Another span has these bytes already.");
    this.changeSpan(name, { start, end });
  }

  /** Move one edge of the chosen span by a character: `start-back`, `start-on`, `end-on` or `end-back`. */
  async nudge(which) {
    const edge = which.startsWith("start") ? "start" : "end";
    const place = this.chosen && this.content.spans.get(this.chosen);
    if (!place || place.version !== this.version) return this.say("Choose a span of this source first.");
    await this.blocks.ensure(Math.max(0, place[edge] - 1), place[edge] + 1);
    // As it is by now: keys may follow faster than blocks come in.
    const span = this.chosen && this.content.spans.get(this.chosen);
    if (!span || span.version !== this.version) return undefined;
    const to = step(this.source, span[edge], which.endsWith("back"), false);
    const next = { start: span.start, end: span.end, [edge]: to };
    return this.changeEdges(span.name, next.start, next.end);
  }

  remove(name = this.chosen) {
    if (!name || !this.content.spans.has(name)) return;
    const ordered = this.content.ordered();
    const at = ordered.findIndex((span) => span.name === name);
    const next = (ordered[at + 1] ?? ordered[at - 1])?.name ?? null;
    const inList = document.getElementById("spans").contains(document.activeElement);
    if (!this.change([{ op: "remove-span", name }])) return;
    this.choose(inList ? next : null, { picked: inList, scroll: false });
    if (inList) next ? this.panel.focusChosen() : document.getElementById("add-set")?.focus();
    this.say(`Took back ${name}. Undo brings it back.`);
  }

  nextLabel() {
    const options = [...document.getElementById("new_label").options].map((option) => option.value);
    const span = this.chosen && this.content.spans.get(this.chosen);
    if (!span) return;
    this.changeSpan(span.name, { label: options[(options.indexOf(span.label) + 1) % options.length] });
    this.say(`${this.chosen} is a ${this.content.spans.get(this.chosen).label} now.`);
  }

  // Sets

  toggleSet(name, index) {
    if (!this.content.spans.has(name) || index > this.content.sets.length) return;
    const members = this.content.sets[index] ?? [];
    const next = members.includes(name) ? members.filter((member) => member !== name) : [...members, name];
    this.change([{ op: "set", position: index, members: next }]);
  }

  newSet() {
    if (!this.change([{ op: "set", position: this.content.sets.length, members: [] }])) return;
    this.target(this.content.sets.length - 1);
  }

  dropSet(index) {
    if (!this.change([{ op: "sets", sets: this.content.sets.filter((_, at) => at !== index) }])) return;
    if (this.targetSet !== null) this.target(Math.max(0, Math.min(this.targetSet, this.content.sets.length - 1)));
  }

  /** New spans go to set `index`; null for none. */
  target(index) {
    this.targetSet = index;
    this.panel.render();
  }

  // Choosing

  /** Choose a span (null for none). `picked` ones take digits as sets; one just marked leaves them to sentence numbers. */
  async choose(name, { picked = false, scroll = picked } = {}) {
    this.chosen = name;
    this.picked = picked && name !== null;
    this.show();
    const span = name ? this.content.spans.get(name) : null;
    if (!span || !scroll) return;
    const version = this.versions.get(span.version);
    if (span.version !== this.version && version?.pk) await this.reading.open(`${this.urls.page}?version=${version.pk}`, span.start);
    else if (span.version === this.version) await this.blocks.show(span.start, "nearest");
    this.show();
  }

  neighbour(by) {
    const ordered = this.content.ordered().filter((span) => span.version === this.version);
    if (!ordered.length) return;
    const at = ordered.findIndex((span) => span.name === this.chosen);
    const next = at < 0 ? (by > 0 ? 0 : ordered.length - 1) : (at + by + ordered.length) % ordered.length;
    this.choose(ordered[next].name, { picked: true });
    const { name, label, start, end } = ordered[next];
    this.say(`${name}, ${label}, bytes ${start} to ${end}`);
  }

  /** What is selected in the source, in bytes; the plain form shows it too. */
  selected(bytes, fromMouse = false) {
    this.selection = bytes && bytes.end > bytes.start ? bytes : null;
    this.form.selection(this.selection);
    const button = document.querySelector('[data-do="mark"]');
    if (button) button.hidden = !this.selection || this.closed;
    if (this.selection) {
      const length = this.selection.end - this.selection.start;
      const hint = this.closed ? "" : ` · ${this.keys.keyFor("mark")} or Enter marks it`;
      this.say(`bytes ${this.selection.start}–${this.selection.end} (${length})${hint}`);
    } else if (fromMouse || !bytes) this.say("");
  }

  say(text) {
    const note = document.getElementById("selection-note");
    if (note) note.textContent = text;
  }

  // Saving

  async submit() {
    if (this.closed) return;
    await this.saver.flush();
    if (this.saver.unsent) {
      notice("submit", "collect", "Not submitted yet", ["Something is still unsaved. Submit again once it is saved."]);
      return;
    }
    await this.form.submit(this.saver.revision);
  }

  #saved(answer) {
    for (const [name, quote] of Object.entries(answer.quotes)) {
      const span = this.content.spans.get(name);
      if (span) this.quotes.set(this.#place(span), quote.slice(0, 240));
    }
    this.history.saved(answer.revision);
    document.querySelector("[data-revision]").textContent = String(answer.revision);
    this.form.saved(answer.revision);
    this.#said("saved", new Date(answer.saved_at));
    this.panel.render();
  }

  #said(word, detail) {
    const unsent = this.saver.unsent;
    const texts = {
      saved: () => `saved ${detail.toLocaleTimeString([], { hour12: false })}`,
      saving: () => "saving…",
      offline: () => `not sent: ${unsent} kept here`,
      "signed-out": () => `not sent: ${unsent} kept here`,
      "not-yours": () => `not sent: ${unsent} kept here`,
      closed: () => "not saved",
    };
    document.querySelector("[data-saved]").textContent = texts[word]();
    document.querySelector("[data-workspace]").dataset.unsent = String(word !== "saved" && word !== "saving");
    if (word === "saved") {
      clear("offline");
      clear("signed-out");
    } else if (word === "offline") {
      notice("offline", "collect", "The server does not answer", [
        this.saver.unkept
          ? "What you do is sent as soon as it answers again. You can go on working; keep this window open."
          : "What you do is kept in this browser and sent as soon as it answers again. You can go on working, and even close the window.",
      ]);
    } else if (word === "signed-out") {
      notice("signed-out", "collect", "You are signed out, or signed in as somebody else", [
        `What is not sent (${unsent}) is kept in this browser for you alone. Sign in again in another window, then come back here.`,
      ], [{ text: "Sign in", primary: true, href: `${this.urls.signIn}?next=${encodeURIComponent(location.pathname)}` }]);
    } else if (word === "not-yours") {
      notice("signed-out", "collect", "This task is not open to you", [
        `Its lead has given it to somebody else, or somebody else is signed in in this browser by now. What is not sent (${unsent}) is kept in this browser for you alone.`,
      ], [{ text: "Sign in", primary: true, href: `${this.urls.signIn}?next=${encodeURIComponent(location.pathname)}` }]);
    } else if (word === "closed") {
      this.form.hold(true);
      const lost = wordsOf([...(this.saver.inflight?.edits ?? []), ...this.saver.pending]);
      notice("closed", "reject", "This task takes no more work", [...problemLines(detail), "What you did last is kept in this browser.", ...lost]);
    }
  }

  #stale(answer, edits) {
    this.#said("closed", answer.problems);
    clear("closed");
    const theirs = contentOf(answer.theirs);
    const callout = notice("stale", "collect", "This pass was changed elsewhere", [
      `Revision ${answer.current_revision} was saved in another window while you worked on revision ${answer.expected_revision}. Nothing was overwritten, and yours is kept.`,
      twoUp([`Saved (revision ${answer.current_revision})`, ...summary(theirs)], ["Yours", ...summary(this.content)]),
    ], [
      { text: "Put mine on top", primary: true, act: () => this.#decide(answer, edits) },
      { text: "Take the saved one", act: () => this.#decide(answer, []) },
    ]);
    // Not a button: somebody who is writing would decide with the next blank.
    callout.tabIndex = -1;
    callout.focus();
  }

  #decide(answer, edits) {
    clear("stale");
    this.form.hold(false);
    const theirs = contentOf(answer.theirs);
    const { kept, lost } = rebased(theirs, edits);
    this.content = theirs;
    this.history.clear();
    this.saver.restart(answer.current_revision, kept);
    this.history.saved(answer.current_revision);
    this.#said(kept.length ? "saving" : "saved", new Date());
    document.querySelector("[data-revision]").textContent = String(answer.current_revision);
    this.form.saved(answer.current_revision);
    if (lost.length) notice("refused", "collect", "Some of yours did not fit any more", lost);
    this.show();
    this.form.fill();
    const field = document.getElementById("answer");
    // On a narrow screen it may be the source that is shown.
    (field.checkVisibility() ? field : this.source)?.focus({ preventScroll: true });
  }

  // The server refused an edit: begin again from what it has, with what else was waiting.
  async #refused(problems, edits, waiting) {
    const answer = await fetch(this.urls.content, { credentials: "same-origin" }).catch(() => null);
    notice("refused", "reject", "Not saved", [...problemLines(problems), ...wordsOf(edits)]);
    if (!answer?.ok) return this.saver.restart(this.saver.revision, waiting);
    const { revision, content } = await answer.json();
    const there = contentOf(content);
    const { kept } = rebased(there, waiting);
    const unheard = this.form.unheard(this.content.contract);
    this.content = there;
    this.history.clear();
    this.saver.restart(revision, kept);
    if (Object.keys(unheard).length) this.change([{ op: "contract", fields: unheard }]);
    this.show();
    this.form.fill();
  }

  /** Take over what a crashed or signed-out window of this person left; true where there was something. */
  async #takeOver() {
    if (this.closed) return false;
    const left = await this.saver.leftovers();
    if (!left.length) return false;
    const [entry, ...others] = left;
    const all = { ...entry, pending: [...entry.pending, ...others.flatMap((other) => [...(other.inflight?.edits ?? []), ...other.pending])] };
    this.saver.adopt(all);
    const edits = [...(this.saver.inflight?.edits ?? []), ...this.saver.pending];
    const { lost } = rebased(this.content, edits);
    notice("kept", "accept", "Your unsent work is back", [
      `${edits.length} ${edits.length === 1 ? "change" : "changes"} of this task had not reached the server; they are sent now.`, ...lost,
    ]);
    return true;
  }

  #place(span) {
    return `${span.version}:${span.start}:${span.end}`;
  }
}
