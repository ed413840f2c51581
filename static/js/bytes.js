// From a browser selection to exact UTF-8 bytes.
//
// Every run of a source is one element with data-start and exactly one text node (or an atom with none). An offset is the
// run's start plus the UTF-8 length of the text before the point; labels, badges and icons never count. A point in the
// middle of a surrogate pair is refused: TextEncoder would silently write U+FFFD there.

const encoder = new TextEncoder();

function splitsPair(text, offset) {
  const before = text.charCodeAt(offset - 1);
  const after = text.charCodeAt(offset);
  return offset > 0 && offset < text.length && before >= 0xd800 && before <= 0xdbff && after >= 0xdc00 && after <= 0xdfff;
}

/** Byte offset of a DOM point inside `source`, or null when it is not a place in the text. */
export function byteAt(source, node, offset) {
  if (node.nodeType === Node.TEXT_NODE) {
    const run = node.parentElement?.closest("[data-start]");
    if (!run || !source.contains(run)) return null;
    if (run.hasAttribute("data-hidden")) return offset === 0 ? Number(run.dataset.start) : Number(run.dataset.end);
    if (splitsPair(node.data, offset)) return null;
    return Number(run.dataset.start) + encoder.encode(node.data.slice(0, offset)).length;
  }
  if (!(node instanceof Element)) return null;
  if (node.hasAttribute?.("data-start")) return offset === 0 ? Number(node.dataset.start) : Number(node.dataset.end);
  const children = [...node.childNodes];
  for (const child of children.slice(offset)) {
    const run = firstRun(child);
    if (run) return Number(run.dataset.start);
  }
  for (const child of children.slice(0, offset).reverse()) {
    const run = lastRun(child);
    if (run) return Number(run.dataset.end);
  }
  return null;
}

function runsOf(node) {
  if (!(node instanceof Element)) return [];
  return node.matches("[data-start]") ? [node] : [...node.querySelectorAll("[data-start]")];
}
const firstRun = (node) => runsOf(node)[0];
const lastRun = (node) => runsOf(node).at(-1);

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
