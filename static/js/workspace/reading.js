// The reading column: one source at a time as a tab, its blocks, caret, mouse and find. Another source is another column
// put in its place; what is marked and chosen stays.
import { Blocks } from "./blocks.js";
import { Caret } from "./caret.js";
import { Find } from "./find.js";
import { paintBlock } from "./marks.js";
import { Mouse } from "./mouse.js";
import { notice } from "./notices.js";
import { SourceSearch } from "./sources.js";
import { Sentences } from "./text.js";

const PARSER = new DOMParser();

export class Reading {
  constructor(desk) {
    this.desk = desk;
    this.mouse = new Mouse(desk);
    this.caret = new Caret(() => this.blocks, (bytes) => desk.selected(bytes.end > bytes.start ? bytes : null));
    this.find = new Find(desk);
    this.search = new SourceSearch(desk.urls, (url, at) => this.open(url, at));
    this.#begin();
    this.blocks?.restore();
    document.addEventListener("click", (event) => this.#click(event));
    addEventListener("resize", () => desk.show());
  }

  /** Show the source at `url`, at a byte; focus goes to its text. */
  async open(url, at = null) {
    await this.desk.saver.flush();
    const asked = at === null ? url : `${url}&at=${at}`;
    // Of two asked for in a row, the later one is wanted, whichever comes first.
    const turn = (this.turn = Symbol("turn"));
    const answer = await fetch(asked, { credentials: "same-origin", redirect: "error" }).catch(() => null);
    if (turn !== this.turn) return;
    if (!answer?.ok) {
      notice("source", "collect", "The source could not be opened", ["The server does not answer, or you are signed out. Try again in a moment."]);
      return;
    }
    const text = await answer.text();
    if (turn !== this.turn) return;
    const page = PARSER.parseFromString(text, "text/html");
    const state = JSON.parse(page.getElementById("workspace-state").textContent);
    for (const version of state.versions) this.desk.versions.set(version.sha, version);
    this.caret.leave();
    this.caret.head = undefined;
    this.blocks?.stop();
    const looks = this.source ? [...this.source.classList] : [];
    document.getElementById("reading").replaceWith(document.importNode(page.getElementById("reading"), true));
    for (const part of document.querySelectorAll("#reading [data-scripted]")) part.hidden = false;
    document.getElementById("pass-form").action = url;
    history.replaceState(null, "", url);
    this.#begin();
    for (const look of ["mono", "nowrap", "numbered"]) this.source?.classList.toggle(look, looks.includes(look));
    if (at !== null) await this.blocks.show(at);
    else await this.blocks.restore();
    this.desk.selected(null);
    this.find.places = [];
    if (this.find.entry?.value.trim()) this.find.search();
    this.source?.focus({ preventScroll: true });
  }

  neighbour(by) {
    const tabs = [...document.querySelectorAll(".tabs [data-version-tab]")];
    const at = tabs.findIndex((tab) => tab.hasAttribute("aria-current"));
    const next = tabs[(at + by + tabs.length) % tabs.length];
    if (next && tabs.length > 1) this.open(next.getAttribute("href"));
  }

  toggle(look) {
    const on = this.source.classList.toggle(look);
    document.querySelector(`[data-toggle="${look}"]`)?.setAttribute("aria-pressed", String(on));
    this.desk.show();
  }

  #begin() {
    this.source = document.querySelector("[data-source]");
    if (!this.source) return;
    // On a narrow screen the row of tabs scrolls.
    document.querySelector(".tabs [aria-current]")?.scrollIntoView({ block: "nearest", inline: "nearest" });
    const { urls, state, marks } = this.desk;
    this.sentences = new Sentences(urls.layout, this.source.dataset.versionPk);
    this.blocks = new Blocks(this.source, urls.blocks, state.task, (blocks) => {
      for (const block of blocks) paintBlock(block, marks.styles);
      this.find.paint();
    });
    marks.drawn = new Map();
    marks.draw(this.source, this.source.dataset.version, this.desk.content, this.desk.chosen);
    const soon = window.requestIdleCallback ?? ((go) => setTimeout(go, 200));
    // Loaded when asked for in any case; here only so that the first number does not wait.
    soon(() => this.sentences.load().catch(() => {}));
  }

  #click(event) {
    const control = event.target.closest?.("[data-do], [data-toggle], [data-version-tab], [data-view-of]");
    if (!control) return;
    const { versionTab, toggle, viewOf } = control.dataset;
    if (versionTab !== undefined) {
      if (event.ctrlKey || event.metaKey || event.shiftKey || event.button) return;
      event.preventDefault();
      if (control.hasAttribute("aria-current")) this.source?.focus({ preventScroll: true });
      else this.open(control.getAttribute("href"));
    } else if (toggle) this.toggle(toggle);
    else if (viewOf) this.view(viewOf);
    else if (control.dataset.do === "undo") this.desk.undo(true);
    else if (control.dataset.do === "redo") this.desk.undo(false);
    else if (control.dataset.do === "mark") this.#mark();
    else if (control.dataset.do === "sources") this.search.show();
    else if (control.dataset.do === "moves") this.desk.moves.show();
    else if (control.dataset.do === "find-next") this.find.go(1);
    else if (control.dataset.do === "find-previous") this.find.go(-1);
  }

  async #mark() {
    await this.mouse.settled;
    const { selection } = this.desk;
    if (selection) this.desk.spans.mark(selection.start, selection.end);
    this.source?.focus({ preventScroll: true });
  }

  /** On a narrow screen: the source or the answer. The source keeps its place. */
  view(which) {
    const top = this.source?.scrollTop;
    document.querySelector("[data-workspace]").dataset.view = which;
    for (const button of document.querySelectorAll("[data-view-of]")) {
      button.setAttribute("aria-pressed", String(button.dataset.viewOf === which));
    }
    if (which === "source" && this.source) this.source.scrollTop = this.top ?? 0;
    else this.top = top;
    this.desk.show();
  }
}
