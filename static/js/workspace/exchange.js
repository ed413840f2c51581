// Between the desk and the server: what was saved, what waits, what somebody else saved meanwhile, what was refused, and
// what an earlier window left unsent.
import { Activity } from "./activity.js";
import { contentOf, rebased, summary, wordsOf } from "./merge.js";
import { clear, notice, problemLines, twoUp } from "./notices.js";
import { Saver } from "./saver.js";

export class Exchange {
  constructor(desk) {
    this.desk = desk;
    this.saver = new Saver({
      person: desk.state.person,
      task: desk.state.task,
      url: desk.urls.edits,
      revision: desk.state.revision,
      saveKey: desk.state.saveKey,
      seconds: new Activity(desk.urls.time),
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
  }

  async submit() {
    if (this.desk.closed) return;
    await this.saver.flush();
    if (this.saver.unsent) {
      notice("submit", "collect", "Not submitted yet", ["Something is still unsaved. Submit again once it is saved."]);
      return;
    }
    await this.desk.form.submit(this.saver.revision);
  }

  #saved(answer) {
    for (const [name, quote] of Object.entries(answer.quotes)) {
      const span = this.desk.content.spans.get(name);
      if (span) this.desk.keepQuote(span, quote);
    }
    this.desk.history.saved(answer.revision);
    document.querySelector("[data-revision]").textContent = String(answer.revision);
    this.desk.form.saved(answer.revision);
    this.#said("saved", new Date(answer.saved_at));
    this.desk.panel.render();
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
    const unsentNow = String(word !== "saved" && word !== "saving");
    const root = document.querySelector("[data-workspace]");
    if (root.dataset.unsent !== unsentNow) root.dataset.unsent = unsentNow;
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
      ], [{ text: "Sign in", primary: true, href: `${this.desk.urls.signIn}?next=${encodeURIComponent(location.pathname)}` }]);
    } else if (word === "not-yours") {
      notice("signed-out", "collect", "This task is not open to you", [
        `Its lead has given it to somebody else, or somebody else is signed in in this browser by now. What is not sent (${unsent}) is kept in this browser for you alone.`,
      ], [{ text: "Sign in", primary: true, href: `${this.desk.urls.signIn}?next=${encodeURIComponent(location.pathname)}` }]);
    } else if (word === "closed") {
      this.desk.form.hold(true);
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
      twoUp([`Saved (revision ${answer.current_revision})`, ...summary(theirs)], ["Yours", ...summary(this.desk.content)]),
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
    this.desk.form.hold(false);
    const theirs = contentOf(answer.theirs);
    const { kept, lost } = rebased(theirs, edits);
    this.desk.content = theirs;
    this.desk.history.clear();
    this.saver.restart(answer.current_revision, kept);
    this.desk.history.saved(answer.current_revision);
    this.#said(kept.length ? "saving" : "saved", new Date());
    document.querySelector("[data-revision]").textContent = String(answer.current_revision);
    this.desk.form.saved(answer.current_revision);
    if (lost.length) notice("refused", "collect", "Some of yours did not fit any more", lost);
    this.desk.show();
    this.desk.form.fill();
    const field = document.getElementById("answer");
    // On a narrow screen it may be the source that is shown.
    (field.checkVisibility() ? field : this.desk.source)?.focus({ preventScroll: true });
  }

  // The server refused an edit: begin again from what it has, with what else was waiting.
  async #refused(problems, edits, waiting) {
    const answer = await fetch(this.desk.urls.content, { credentials: "same-origin", redirect: "error" }).catch(() => null);
    notice("refused", "reject", "Not saved", [...problemLines(problems), ...wordsOf(edits)]);
    if (!answer?.ok) return this.saver.restart(this.saver.revision, waiting);
    const { revision, content } = await answer.json();
    const there = contentOf(content);
    const { kept } = rebased(there, waiting);
    const unheard = this.desk.form.unheard(this.desk.content.contract);
    this.desk.content = there;
    this.desk.history.clear();
    this.saver.restart(revision, kept);
    if (Object.keys(unheard).length) this.desk.change([{ op: "contract", fields: unheard }]);
    this.desk.show();
    this.desk.form.fill();
  }

  /** Take over what a crashed or signed-out window of this person left; true where there was something. */
  async takeOver() {
    if (this.desk.closed) return false;
    const left = await this.saver.leftovers();
    if (!left.length) return false;
    const [entry, ...others] = left;
    const all = { ...entry, pending: [...entry.pending, ...others.flatMap((other) => [...(other.inflight?.edits ?? []), ...other.pending])] };
    this.saver.adopt(all);
    const edits = [...(this.saver.inflight?.edits ?? []), ...this.saver.pending];
    const { lost } = rebased(this.desk.content, edits);
    notice("kept", "accept", "Your unsent work is back", [
      `${edits.length} ${edits.length === 1 ? "change" : "changes"} of this task had not reached the server; they are sent now.`, ...lost,
    ]);
    return true;
  }
}
