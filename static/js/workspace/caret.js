// Caret mode: the source is read only, so the caret is drawn and moved by hand, in bytes.
import { byteAt, rangeOf } from "../bytes.js";
import { step } from "./text.js";

export class Caret {
  /** `blocks()` are the blocks of the source shown; `moved({start, end})` is told the selection. */
  constructor(blocks, moved) {
    this.blocks = blocks;
    this.moved = moved;
    this.on = false;
  }

  get source() {
    return this.blocks().source;
  }

  toggle() {
    if (this.on) this.leave();
    else this.enter();
  }

  enter(byte = this.head ?? this.blocks().firstVisible()) {
    this.on = true;
    this.anchor = this.head = byte;
    this.source.classList.add("caret-on");
    this.source.focus({ preventScroll: true });
    this.#show();
  }

  leave() {
    this.on = false;
    this.element?.remove();
    this.element = null;
    this.source.classList.remove("caret-on");
  }

  /** Begin a new selection where the caret stands: what was selected is marked. */
  collapse() {
    if (!this.on) return;
    this.anchor = this.head;
    this.#show();
  }

  /** Handle a key; true where it was one of the caret's. */
  async key(event) {
    const back = { ArrowLeft: true, ArrowRight: false }[event.key];
    if (back !== undefined) {
      const rtl = getComputedStyle(this.source).direction === "rtl";
      return this.#to(step(this.source, this.head, back !== rtl, event.ctrlKey || event.altKey), event.shiftKey);
    }
    if (event.key === "ArrowUp" || event.key === "ArrowDown") return this.#line(event.key === "ArrowUp", event.shiftKey);
    if (event.key === "Home" || event.key === "End") return this.#edge(event.key === "Home", event.shiftKey);
    return false;
  }

  static keys = new Set(["ArrowLeft", "ArrowRight", "ArrowUp", "ArrowDown", "Home", "End"]);

  async #to(byte, extend) {
    this.head = byte;
    if (!extend) this.anchor = byte;
    await this.blocks().ensure(byte);
    await this.blocks().show(byte, "nearest");
    this.#show();
    return true;
  }

  #box() {
    const boxes = rangeOf(this.source, this.head, this.head)?.getClientRects() ?? [];
    if (boxes.length) return boxes[boxes.length - 1];
    // Beside a line end a collapsed range has no box: take the edge of the character before or behind it.
    const next = step(this.source, this.head, false, false);
    const behind = next > this.head ? rangeOf(this.source, this.head, next)?.getClientRects()[0] : null;
    if (behind) return new DOMRect(behind.left, behind.top, 0, behind.height);
    const last = step(this.source, this.head, true, false);
    const before = last < this.head ? [...(rangeOf(this.source, last, this.head)?.getClientRects() ?? [])].at(-1) : null;
    return before ? new DOMRect(before.right, before.top, 0, before.height) : null;
  }

  async #line(up, extend) {
    const box = this.#box();
    if (!box) return true;
    const tall = box.height || 20;
    for (let step = 1; step < 6; step += 1) {
      const byte = this.#at(box.left, up ? box.top - tall * step * 0.6 : box.bottom + tall * step * 0.6);
      if (byte !== null && (up ? byte < this.head : byte > this.head)) return this.#to(byte, extend);
    }
    return true;
  }

  async #edge(home, extend) {
    const box = this.#box();
    const view = this.source.querySelector(".block")?.getBoundingClientRect();
    if (!box || !view) return true;
    const byte = this.#at(home ? view.left + 1 : view.right - 1, box.top + box.height / 2);
    return byte === null ? true : this.#to(byte, extend);
  }

  #at(x, y) {
    const view = this.source.getBoundingClientRect();
    if (y < view.top || y > view.bottom) {
      const down = y - (y < view.top ? view.top + 30 : view.bottom - 30);
      this.source.scrollTop += down;
      y -= down;
    }
    const place = document.caretPositionFromPoint?.(x, y);
    return place && this.source.contains(place.offsetNode) ? byteAt(this.source, place.offsetNode, place.offset) : null;
  }

  #show() {
    const start = Math.min(this.anchor, this.head);
    const end = Math.max(this.anchor, this.head);
    const selection = getSelection();
    const range = end > start ? rangeOf(this.source, start, end) : null;
    if (range) {
      selection.removeAllRanges();
      selection.addRange(range);
    } else selection.removeAllRanges();
    const box = this.#box();
    if (box) {
      if (!this.element) {
        this.element = document.createElement("span");
        this.element.className = "caret";
        this.element.setAttribute("aria-hidden", "true");
        this.source.append(this.element);
      }
      const view = this.source.getBoundingClientRect();
      this.element.style.left = `${box.left - view.left + this.source.scrollLeft - 1}px`;
      this.element.style.top = `${box.top - view.top + this.source.scrollTop}px`;
      this.element.style.height = `${box.height || 20}px`;
    }
    this.moved({ start, end });
  }
}
