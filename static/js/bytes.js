// Between a drawn source and exact UTF-8 bytes, both ways.
//
// Every run of a source is one element with data-start and exactly one text node (or an atom with none). An offset is the
// run's start plus the UTF-8 length of the text before the point; labels, badges and icons never count. A point in the
// middle of a surrogate pair is refused: TextEncoder would silently write U+FFFD there.

const encoder = new TextEncoder();
const ATOMS = { CR: "\r", NUL: "\0", DEL: "\x7f" };

/** UTF-8 length of a text. */
export const byteLength = (text) => encoder.encode(text).length;

/** The first `most` UTF-16 units of a text, one less where a pair would be cut in two. */
export const headOf = (text, most) => text.slice(0, splitsPair(text, most) ? most - 1 : most);

function splitsPair(text, offset) {
  const before = text.charCodeAt(offset - 1);
  const after = text.charCodeAt(offset);
  return offset > 0 && offset < text.length && before >= 0xd800 && before <= 0xdbff && after >= 0xdc00 && after <= 0xdfff;
}

/** UTF-16 index of the character that begins `bytes` bytes into `text`; the next one where the byte lies inside one. */
export function utf16At(text, bytes) {
  let index = 0;
  let seen = 0;
  while (seen < bytes && index < text.length) {
    const point = text.codePointAt(index);
    seen += point < 0x80 ? 1 : point < 0x800 ? 2 : point < 0x10000 ? 3 : 4;
    index += point > 0xffff ? 2 : 1;
  }
  return index;
}

/** Byte offset of a DOM point inside `source`, or null when it is not a place in the text. */
export function byteAt(source, node, offset) {
  if (node.nodeType === Node.TEXT_NODE) {
    const run = node.parentElement?.closest("[data-start]");
    if (!run || !source.contains(run)) return null;
    if (run.hasAttribute("data-hidden")) return offset === 0 ? Number(run.dataset.start) : Number(run.dataset.end);
    if (splitsPair(node.data, offset)) return null;
    return Number(run.dataset.start) + byteLength(node.data.slice(0, offset));
  }
  if (!(node instanceof Element)) return null;
  if (node.hasAttribute("data-start")) return offset === 0 ? Number(node.dataset.start) : Number(node.dataset.end);
  const children = [...node.childNodes];
  for (const child of children.slice(offset)) {
    const edge = edgeOf(child, true);
    if (edge !== null) return edge;
  }
  for (const child of children.slice(0, offset).reverse()) {
    const edge = edgeOf(child, false);
    if (edge !== null) return edge;
  }
  return null;
}

// First or last byte edge of a child; a block that is not loaded yet has its own edges and no runs.
function edgeOf(node, first) {
  if (!(node instanceof Element)) return null;
  if (node.hasAttribute("data-block-start")) return Number(first ? node.dataset.blockStart : node.dataset.blockEnd);
  const runs = node.matches("[data-start]") ? [node] : [...node.querySelectorAll("[data-start]")];
  const run = first ? runs[0] : runs.at(-1);
  return run ? Number(first ? run.dataset.start : run.dataset.end) : null;
}

/** `{start, end}` in bytes of the current selection inside `source`, or null. */
export function selectedBytes(source) {
  const selection = getSelection();
  if (!selection || selection.isCollapsed || !selection.rangeCount) return null;
  const range = selection.getRangeAt(0);
  if (!source.contains(range.commonAncestorContainer)) return null;
  const start = byteAt(source, range.startContainer, range.startOffset);
  const end = byteAt(source, range.endContainer, range.endOffset);
  if (start === null || end === null || end <= start) return null;
  return { start, end };
}

// The last element of a sorted list whose start is at most `byte`; for a closing edge, strictly below it.
function lastFrom(elements, name, byte, closing) {
  let low = 0;
  let high = elements.length - 1;
  let found = -1;
  while (low <= high) {
    const middle = (low + high) >> 1;
    const start = Number(elements[middle].dataset[name]);
    if (closing ? start < byte : start <= byte) {
      found = middle;
      low = middle + 1;
    } else high = middle - 1;
  }
  return found < 0 ? null : elements[found];
}

/** The block of `source` that holds a byte; for a closing edge the one that ends there. */
export const blockAt = (source, byte, closing = false) =>
  // Its children and not what a selector finds: caret and handles, which stand behind the blocks, compare as beyond them.
  lastFrom(source.children, "blockStart", byte, closing);

/** The run that holds a byte, or null where its block is not loaded. */
export function runAt(source, byte, closing = false) {
  const block = blockAt(source, byte, closing);
  return block && !block.classList.contains("waiting") ? lastFrom(block.children, "start", byte, closing) : null;
}

/** DOM point `{node, offset}` of a byte, or null where its block is not loaded. */
export function pointAt(source, byte, closing = false) {
  const run = runAt(source, byte, closing) ?? runAt(source, byte, !closing);
  if (!run) return null;
  const text = run.firstChild;
  if (text && !run.hasAttribute("data-hidden")) return { node: text, offset: utf16At(text.data, byte - Number(run.dataset.start)) };
  const at = [...run.parentNode.childNodes].indexOf(run);
  return { node: run.parentNode, offset: byte > Number(run.dataset.start) ? at + 1 : at };
}

/** DOM range of `[start, end)`, or null where an end is not loaded. */
export function rangeOf(source, start, end) {
  const first = pointAt(source, start);
  const last = pointAt(source, end, true);
  if (!first || !last) return null;
  const range = document.createRange();
  range.setStart(first.node, first.offset);
  range.setEnd(last.node, last.offset);
  return range;
}

/** Text a run stands for; null for a hidden one. */
export function textOf(run) {
  if (run.hasAttribute("data-hidden")) return null;
  const atom = run.dataset.atom;
  if (atom === undefined) return run.firstChild?.data ?? "";
  return ATOMS[atom] ?? String.fromCodePoint(Number.parseInt(atom.slice(2), 16));
}

/** Exact text of `[start, end)`, or null where a part of it is hidden or not loaded. */
export function textBetween(source, start, end) {
  let text = "";
  let run = null;
  for (let at = start; at < end; ) {
    // From neighbour to neighbour: a block may be thousands of atoms.
    run = run?.nextElementSibling ?? runAt(source, at);
    const whole = run && textOf(run);
    if (whole === null || whole === undefined) return null;
    const first = Number(run.dataset.start);
    const last = Number(run.dataset.end);
    if (last <= at) return null;
    text += whole.slice(utf16At(whole, at - first), end < last ? utf16At(whole, end - first) : whole.length);
    at = last;
  }
  return text;
}
