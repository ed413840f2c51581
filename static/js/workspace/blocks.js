// Blocks of the source that the page came without: fetched when they come near the view, and the rest while nothing else
// is to do, so that scrolling rarely meets a place that is still empty.
import { blockAt, byteAt, pointAt, runAt } from "../bytes.js";
import { keep, kept } from "../store.js";

const AHEAD_PX = 2_400;
const MOST = 16;
const PARSER = new DOMParser();
const bytesOf = (block) => Number(block.dataset.blockEnd) - Number(block.dataset.blockStart);

export class Blocks {
  /** `draw(blocks)` is called with blocks that have just come in. */
  constructor(source, url, task, draw) {
    Object.assign(this, { source, url, draw });
    this.place = `cutline:place:${task}:${source.dataset.version}`;
    this.waiting = new Map();
    this.all = [...source.querySelectorAll(".block")];
    this.gone = new AbortController();
    this.#estimate();
    this.observer = new IntersectionObserver((entries) => {
      for (const entry of entries) if (entry.isIntersecting) this.#want(Number(entry.target.dataset.block));
    }, { root: source, rootMargin: `${AHEAD_PX}px 0px` });
    for (const block of this.all) if (block.classList.contains("waiting")) this.observer.observe(block);
    source.addEventListener("scroll", () => this.#remember(), { passive: true, signal: this.gone.signal });
    this.#whenIdle();
  }

  stop() {
    this.observer.disconnect();
    this.gone.abort();
  }

  /** Load the blocks of `[start, end)`; resolves when they are drawn. */
  async ensure(start, end = start + 1) {
    const needed = this.all.filter(
      (block) => block.classList.contains("waiting") && Number(block.dataset.blockStart) < end && Number(block.dataset.blockEnd) > start,
    );
    await Promise.all(needed.map((block) => this.#want(Number(block.dataset.block))));
  }

  /** Bring a byte into view, loading it first. */
  async show(byte, where = "center") {
    await this.ensure(byte);
    // What is far away has no boxes until it is drawn: go near first. Blocks drawn on the way may move it once more.
    for (let round = 0; round < 3; round += 1) {
      const run = runAt(this.source, byte);
      if (!run) return;
      const view = this.source.getBoundingClientRect();
      const around = run.parentNode.getBoundingClientRect();
      if (around.bottom < view.top || around.top > view.bottom) {
        this.source.scrollTop += around.top - view.top;
        await new Promise((resolve) => requestAnimationFrame(resolve));
      }
      const point = pointAt(this.source, byte);
      const range = document.createRange();
      range.setStart(point.node, point.offset);
      const box = range.getClientRects()[0] ?? run.getBoundingClientRect();
      if (box.top > view.top + 20 && box.bottom < view.bottom - 20 && (round || where === "nearest")) return;
      const offset = where === "start" ? 24 : view.height / 3;
      this.source.scrollTop += box.top - view.top - offset;
      await new Promise((resolve) => requestAnimationFrame(resolve));
    }
  }

  /** Go back to where this source was left. */
  async restore() {
    const byte = Number(kept(this.place, "sessionStorage"));
    if (byte > 0) await this.show(byte, "start");
  }

  /** First byte in view. */
  firstVisible() {
    const view = this.source.getBoundingClientRect();
    for (let down = 8; down < 80; down += 12) {
      const place = document.caretPositionFromPoint?.(view.left + view.width / 2, view.top + down);
      const byte = place && this.source.contains(place.offsetNode) ? byteAt(this.source, place.offsetNode, place.offset) : null;
      if (byte !== null) return byte;
    }
    const block = this.all.find((item) => item.getBoundingClientRect().bottom > view.top);
    return Number(block?.dataset.blockStart ?? 0);
  }

  #want(index) {
    const block = this.all[index];
    if (!block?.classList.contains("waiting")) return Promise.resolve();
    if (!this.waiting.has(index)) {
      let done;
      const promise = new Promise((resolve) => { done = resolve; });
      this.waiting.set(index, { promise, done, sent: false });
      queueMicrotask(() => this.#fetch());
    }
    return this.waiting.get(index).promise;
  }

  async #fetch() {
    const open = [...this.waiting].filter(([, item]) => !item.sent).map(([index]) => index).sort((a, b) => a - b);
    while (open.length) {
      const first = open[0];
      let last = first;
      while (open.length && open[0] - first < MOST && open[0] - last <= 1) last = open.shift();
      for (let index = first; index <= last; index += 1) this.waiting.get(index).sent = true;
      this.#load(first, last + 1);
    }
  }

  async #load(first, to) {
    const address = `${this.url}?version=${this.source.dataset.versionPk}&from=${first}&to=${to}`;
    let answer = null;
    try {
      answer = await fetch(address, { credentials: "same-origin", redirect: "error", signal: this.gone.signal });
    } catch {
      answer = null;
    }
    if (this.gone.signal.aborted) return;
    if (!answer?.ok) {
      // The place stays marked as not loaded and is tried again.
      setTimeout(() => {
        for (let index = first; index < to; index += 1) if (this.waiting.has(index)) this.waiting.get(index).sent = false;
        this.#fetch();
      }, 3_000);
      return;
    }
    const parsed = PARSER.parseFromString(await answer.text(), "text/html");
    const made = [...parsed.querySelectorAll(".block")].map((block) => document.importNode(block, true));
    for (const block of made) {
      const index = Number(block.dataset.block);
      this.observer.unobserve(this.all[index]);
      block.style.containIntrinsicSize = `auto ${Math.round(this.perByte * bytesOf(block))}px`;
      this.all[index].replaceWith(block);
      this.all[index] = block;
    }
    this.draw(made);
    for (const block of made) {
      const index = Number(block.dataset.block);
      this.waiting.get(index)?.done();
      this.waiting.delete(index);
    }
  }

  // How tall what is not loaded will be, judged by what is.
  #estimate() {
    const loaded = this.all.filter((block) => !block.classList.contains("waiting"));
    const bytes = loaded.reduce((sum, block) => sum + bytesOf(block), 0);
    const height = loaded.reduce((sum, block) => sum + block.getBoundingClientRect().height, 0);
    this.perByte = bytes && height ? height / bytes : 0.4;
    for (const block of this.all) {
      const tall = `${Math.round(this.perByte * bytesOf(block))}px`;
      if (block.classList.contains("waiting")) block.style.minHeight = tall;
      else block.style.containIntrinsicSize = `auto ${tall}`;
    }
  }

  #whenIdle() {
    const soon = window.requestIdleCallback ?? ((go) => setTimeout(go, 200));
    soon(async () => {
      if (this.gone.signal.aborted) return;
      const here = Number(blockAt(this.source, this.firstVisible())?.dataset.block ?? 0);
      const left = this.all
        .filter((block) => block.classList.contains("waiting"))
        .map((block) => Number(block.dataset.block))
        .sort((a, b) => Math.abs(a - here) - Math.abs(b - here))
        .slice(0, 8);
      if (!left.length) return;
      await Promise.all(left.map((index) => this.#want(index)));
      this.#whenIdle();
    }, { timeout: 1_000 });
  }

  #remember() {
    clearTimeout(this.noting);
    this.noting = setTimeout(() => keep(this.place, String(this.firstVisible()), "sessionStorage"), 150);
  }
}
