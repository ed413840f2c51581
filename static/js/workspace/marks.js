// Draws spans into loaded blocks: cuts the flat runs at every edge and sets classes and attributes, nothing else. The
// server draws the same (annotate/views/source_blocks.py); here a change is seen before the server has answered.
import { utf16At } from "../bytes.js";
import { setLetter } from "./content.js";

const COLOURS = "abcd";
const colour = (index) => COLOURS[index % COLOURS.length];

/** How a span is drawn: `{name, start, end, css, tag}`. */
export function styleOf(content, span, chosen) {
  const sets = content.inside(span.name);
  const css = span.forbidden
    ? ["forbidden"]
    : sets.length
      ? [`set-${colour(sets[0])}`, ...new Set(sets.map((index) => `in-${colour(index)}`))]
      : ["loose"];
  const tag = span.forbidden ? "✕" : sets.map(setLetter).join("") || "·";
  if (chosen === span.name) css.push("chosen");
  return { name: span.name, start: span.start, end: span.end, css, tag };
}

/** CSS class of a set's colour. */
export const setClass = (index) => `set-${colour(index)}`;

function cut(block, byte) {
  const runs = block.children;
  let low = 0;
  let high = runs.length - 1;
  while (low <= high) {
    const middle = (low + high) >> 1;
    const run = runs[middle];
    const start = Number(run.dataset.start);
    if (byte <= start) high = middle - 1;
    else if (byte >= Number(run.dataset.end)) low = middle + 1;
    else {
      const text = run.firstChild;
      // Atoms and hidden ranges are whole; a span's edge never lies inside one.
      if (!text || run.hasAttribute("data-hidden")) return;
      const right = run.cloneNode(false);
      right.removeAttribute("data-n");
      right.removeAttribute("data-tag");
      right.append(text.splitText(utf16At(text.data, byte - start)));
      run.dataset.end = byte;
      right.dataset.start = byte;
      run.after(right);
      return;
    }
  }
}

/** Draw `styles` (sorted by start) into one loaded block. */
export function paintBlock(block, styles) {
  const from = Number(block.dataset.blockStart);
  const to = Number(block.dataset.blockEnd);
  const near = styles.filter((style) => style.start < to && style.end > from);
  for (const style of near) {
    if (style.start > from) cut(block, style.start);
    if (style.end < to) cut(block, style.end);
  }
  for (const run of block.children) {
    const start = Number(run.dataset.start);
    const end = Number(run.dataset.end);
    const over = near.filter((style) => style.start <= start && style.end >= end);
    if (run.hasAttribute("data-hidden")) continue;
    const base = run.hasAttribute("data-atom") ? "atom" : "";
    const css = over.length ? [base, "mark", ...new Set(over.flatMap((style) => style.css))].filter(Boolean).join(" ") : base;
    if (run.className !== css) run.className = css;
    set(run, "data-marks", over.map((style) => style.name).join(" "));
    set(run, "data-tag", over.find((style) => style.start === start)?.tag ?? "");
  }
}

function set(run, name, value) {
  if (value) {
    if (run.getAttribute(name) !== value) run.setAttribute(name, value);
  } else if (run.hasAttribute(name)) run.removeAttribute(name);
}

/** Keeps the drawn source equal to the content: only blocks that a change touches are drawn again. */
export class Marks {
  constructor() {
    this.drawn = new Map();
    this.styles = [];
  }

  /** Draw what differs from what is drawn. `version` is the digest of the source shown. */
  draw(source, version, content, chosen) {
    const spans = [...content.spans.values()].filter((span) => span.version === version);
    const styles = spans.map((span) => styleOf(content, span, chosen)).sort((a, b) => a.start - b.start || a.end - b.end);
    const next = new Map(styles.map((style) => [style.name, style]));
    const dirty = [];
    for (const [name, style] of next) {
      const before = this.drawn.get(name);
      if (!before || !same(before, style)) dirty.push(style, ...(before ? [before] : []));
    }
    for (const [name, before] of this.drawn) if (!next.has(name)) dirty.push(before);
    this.drawn = next;
    this.styles = styles;
    if (!dirty.length) return;
    for (const block of source.querySelectorAll(".block:not(.waiting)")) {
      const from = Number(block.dataset.blockStart);
      const to = Number(block.dataset.blockEnd);
      if (dirty.some((style) => style.start < to && style.end > from)) paintBlock(block, styles);
    }
  }
}

const same = (a, b) => a.start === b.start && a.end === b.end && a.tag === b.tag && a.css.join() === b.css.join();
