// The mouse (or a finger): drag to select, snapped where wished; click a mark to choose it, among several by a menu; drag
// the handles of the chosen span.
import { byteAt, rangeOf, selectedBytes } from "../bytes.js";
import { wholeWords } from "./text.js";

// Where a dragged edge comes this near to the rim of the source, in pixels, it scrolls by as much.
const RIM = 24;

const within = (box, { clientX, clientY }) =>
  clientX >= box.left && clientX <= box.right && clientY >= box.top && clientY <= box.bottom;

export class Mouse {
  /**
   * `desk` is the workspace: source, content, blocks, sentences, choose, selected, changeEdges. `settled` resolves when
   * what was dragged last has become the desk's selection; `busy` until then.
   */
  constructor(desk) {
    this.desk = desk;
    this.handles = [];
    this.menu = null;
    this.settled = Promise.resolve();
    this.busy = false;
    document.addEventListener("pointerup", (event) => {
      this.busy = true;
      this.settled = this.#up(event).finally(() => { this.busy = false; });
    });
    document.addEventListener("selectionchange", () => this.#touched());
    document.addEventListener("pointerdown", (event) => {
      this.touch = event.pointerType === "touch";
      const inText = this.desk.source?.contains(event.target) && !event.target.closest(".handle");
      this.began = Boolean(inText) && !this.touch && event.button === 0;
      // What is dragged beyond the source shall not select half the page.
      document.body.classList.toggle("selecting", this.began);
      // A drag that begins on what is selected selects anew, as anywhere; it does not carry the text away.
      if (this.began && !event.shiftKey && !getSelection().isCollapsed) getSelection().removeAllRanges();
      if (this.menu && !this.menu.contains(event.target)) this.closeMenu();
    });
  }

  closeMenu() {
    this.menu?.remove();
    this.menu = null;
  }

  // A finger moves the browser's own handles, of which no pointer event tells.
  #touched() {
    clearTimeout(this.touching);
    if (!this.touch || !this.desk.source) return;
    this.touching = setTimeout(async () => {
      const bytes = selectedBytes(this.desk.source);
      if (bytes) this.desk.selected(await this.#wide(bytes, document.getElementById("snap")?.value), true);
    }, 250);
  }

  async #up(event) {
    const { source } = this.desk;
    const { began } = this;
    this.began = false;
    document.body.classList.remove("selecting");
    if (!source || event.target.closest?.(".float-menu, .handle")) return;
    // The browser sets the selection after this event.
    await new Promise((resolve) => setTimeout(resolve, 0));
    const bytes = began && !within(source.getBoundingClientRect(), event) ? this.#clamped(event) : selectedBytes(source);
    if (bytes) {
      const snap = event.altKey ? "word" : event.ctrlKey || event.metaKey ? "sentence" : document.getElementById("snap")?.value;
      this.desk.selected(await this.#snapped(bytes, snap), true);
    } else if (began || source.contains(event.target)) {
      this.desk.selected(null);
      const names = event.target.closest?.("[data-marks]")?.dataset.marks.split(" ") ?? [];
      if (names.length > 1) this.#choices(names, event);
      else this.desk.spans.choose(names[0] ?? null, { picked: true, scroll: false });
    }
  }

  // A drag that ended beside the source, or above or below it: up to the text nearest to where it ended.
  #clamped({ clientX, clientY }) {
    const { source } = this.desk;
    const selection = getSelection();
    const anchor = selection.anchorNode && source.contains(selection.anchorNode)
      ? byteAt(source, selection.anchorNode, selection.anchorOffset)
      : null;
    const view = source.getBoundingClientRect();
    const text = source.querySelector(".block").getBoundingClientRect();
    const x = Math.min(Math.max(clientX, Math.max(view.left, text.left) + 1), Math.min(view.right, text.right) - 1);
    const y = Math.min(Math.max(clientY, view.top + RIM), view.bottom - RIM);
    const place = document.caretPositionFromPoint?.(x, y);
    const head = place && source.contains(place.offsetNode) ? byteAt(source, place.offsetNode, place.offset) : null;
    selection.removeAllRanges();
    if (anchor === null || head === null || anchor === head) return null;
    const range = rangeOf(source, Math.min(anchor, head), Math.max(anchor, head));
    if (range) selection.addRange(range);
    return { start: Math.min(anchor, head), end: Math.max(anchor, head) };
  }

  async #snapped(bytes, snap) {
    if (!snap) return bytes;
    const wide = await this.#wide(bytes, snap);
    const range = rangeOf(this.desk.source, wide.start, wide.end);
    if (range) {
      getSelection().removeAllRanges();
      getSelection().addRange(range);
    }
    return wide;
  }

  async #wide(bytes, snap) {
    const { source, sentences } = this.desk;
    if (snap === "word") return wholeWords(source, bytes.start, bytes.end);
    if (snap !== "sentence") return bytes;
    // Away from the server, what is selected stays as it is.
    return sentences.around(bytes.start, bytes.end).catch(() => bytes);
  }

  #choices(names, event) {
    this.closeMenu();
    const menu = document.createElement("div");
    menu.className = "float-menu";
    menu.setAttribute("role", "menu");
    menu.setAttribute("aria-label", "Spans here");
    for (const name of names) {
      const span = this.desk.content.spans.get(name);
      if (!span) continue;
      const item = document.createElement("button");
      item.type = "button";
      item.setAttribute("role", "menuitem");
      item.textContent = `${name} · ${span.start}–${span.end}`;
      item.addEventListener("click", () => {
        this.closeMenu();
        this.desk.spans.choose(name, { picked: true, scroll: false });
      });
      menu.append(item);
    }
    menu.addEventListener("keydown", (key) => {
      const items = [...menu.children];
      const at = items.indexOf(document.activeElement);
      if (key.key === "Escape") {
        this.closeMenu();
        this.desk.source.focus({ preventScroll: true });
      } else if (key.key === "ArrowDown") items[(at + 1) % items.length].focus();
      else if (key.key === "ArrowUp") items[(at - 1 + items.length) % items.length].focus();
      else return;
      key.preventDefault();
      key.stopPropagation();
    });
    document.querySelector("[data-workspace]").append(menu);
    const box = menu.getBoundingClientRect();
    menu.style.left = `${Math.min(event.clientX, innerWidth - box.width - 8)}px`;
    menu.style.top = `${Math.min(event.clientY + 8, innerHeight - box.height - 8)}px`;
    this.menu = menu;
    menu.firstElementChild?.focus();
  }

  /** Put handles at the edges of the chosen span, or take them away: once a frame, since it has to be laid out for them. */
  showHandles(span) {
    this.handled = span;
    this.handling ??= requestAnimationFrame(() => {
      this.handling = undefined;
      this.#placeHandles(this.handled);
    });
  }

  #placeHandles(span) {
    if (this.dragging) return;
    for (const handle of this.handles) handle.remove();
    this.handles = [];
    const { source } = this.desk;
    if (!span || !source || this.desk.closed) return;
    for (const which of ["start", "end"]) {
      const box = this.#edgeBox(span, which);
      if (!box) continue;
      const handle = document.createElement("span");
      handle.className = "handle";
      handle.dataset.edge = which;
      handle.setAttribute("aria-hidden", "true");
      const view = source.getBoundingClientRect();
      handle.style.left = `${box.x - view.left + source.scrollLeft - 11}px`;
      handle.style.top = `${box.y - view.top + source.scrollTop - 2}px`;
      handle.addEventListener("pointerdown", (event) => this.#drag(event, handle, span, which));
      source.append(handle);
      this.handles.push(handle);
    }
  }

  #edgeBox(span, which) {
    const range = rangeOf(this.desk.source, span.start, span.end);
    if (!range) return null;
    const boxes = [...range.getClientRects()].filter((box) => box.height);
    const box = which === "start" ? boxes[0] : boxes.at(-1);
    const rtl = getComputedStyle(this.desk.source).direction === "rtl";
    return box ? { x: (which === "start") !== rtl ? box.left : box.right, y: box.top } : null;
  }

  // Given up by Escape, or by the browser (a finger that begins to scroll, a window that takes over): nothing changes.
  #drag(event, handle, span, which) {
    event.preventDefault();
    handle.setPointerCapture(event.pointerId);
    const { source } = this.desk;
    const over = new AbortController();
    const { signal } = over;
    this.dragging = true;
    let edge = span[which];
    const end = () => {
      over.abort();
      this.dragging = false;
      getSelection().removeAllRanges();
      this.desk.show();
    };
    const move = (moved) => {
      const view = source.getBoundingClientRect();
      if (moved.clientY < view.top + RIM) source.scrollTop -= RIM;
      else if (moved.clientY > view.bottom - RIM) source.scrollTop += RIM;
      handle.style.pointerEvents = "none";
      const place = document.caretPositionFromPoint?.(moved.clientX, moved.clientY);
      handle.style.pointerEvents = "";
      const byte = place && source.contains(place.offsetNode) ? byteAt(source, place.offsetNode, place.offset) : null;
      if (byte === null || (which === "start" ? byte >= span.end : byte <= span.start)) return;
      edge = byte;
      const range = rangeOf(source, which === "start" ? edge : span.start, which === "end" ? edge : span.end);
      if (range) {
        getSelection().removeAllRanges();
        getSelection().addRange(range);
      }
    };
    const drop = async (done) => {
      end();
      const snap = done.altKey ? "word" : done.ctrlKey || done.metaKey ? "sentence" : "";
      const wide = { start: which === "start" ? edge : span.start, end: which === "end" ? edge : span.end };
      const to = await this.#wide(wide, snap);
      this.desk.spans.changeEdges(span.name, to.start, to.end);
    };
    handle.addEventListener("pointermove", move, { signal });
    handle.addEventListener("pointerup", drop, { signal });
    handle.addEventListener("pointercancel", end, { signal });
    handle.addEventListener("lostpointercapture", end, { signal });
    addEventListener("keydown", (key) => {
      if (key.key !== "Escape") return;
      key.preventDefault();
      key.stopPropagation();
      end();
    }, { signal, capture: true });
  }
}
