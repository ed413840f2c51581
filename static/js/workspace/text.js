// Steps through a source by grapheme and by word, in bytes. Text comes from loaded blocks; a hidden range is one step.
import { blockAt, byteLength, textOf, utf16At } from "../bytes.js";

const graphemes = new Intl.Segmenter(undefined, { granularity: "grapheme" });
const words = new Intl.Segmenter(undefined, { granularity: "word" });

// Neighbouring visible runs of a block as one text: a mark's edge may lie inside a cluster, the cluster stays one.
function pieces(block) {
  const found = [];
  for (const run of block.children) {
    const text = textOf(run);
    const last = found.at(-1);
    const start = Number(run.dataset.start);
    const end = Number(run.dataset.end);
    if (text !== null && last && last.text !== null) {
      last.text += text;
      last.end = end;
    } else found.push({ start, end, text });
  }
  return found;
}

function pieceAt(source, byte, back) {
  const block = blockAt(source, byte, back);
  if (!block || block.classList.contains("waiting")) return null;
  return pieces(block).find((piece) => (back ? piece.start < byte && byte <= piece.end : piece.start <= byte && byte < piece.end)) ?? null;
}

function boundary(text, index, back, segmenter, wanted) {
  if (back) {
    for (let at = index; at > 0; ) {
      const segment = segmenter.segment(text).containing(at - 1);
      if (wanted(segment)) return segment.index;
      at = segment.index;
    }
    return 0;
  }
  for (let at = index; at < text.length; ) {
    const segment = segmenter.segment(text).containing(at);
    at = segment.index + segment.segment.length;
    if (wanted(segment)) return at;
  }
  return text.length;
}

/** The byte one step before or behind `byte`; `byte` itself at an end of the text or of what is loaded. */
export function step(source, byte, back, byWord) {
  const piece = pieceAt(source, byte, back);
  if (!piece) return byte;
  if (piece.text === null) return back ? piece.start : piece.end;
  const index = utf16At(piece.text, byte - piece.start);
  const found = byWord
    ? boundary(piece.text, index, back, words, (segment) => segment.isWordLike)
    : boundary(piece.text, index, back, graphemes, () => true);
  return piece.start + byteLength(piece.text.slice(0, found));
}

/** `[start, end)` widened to whole words. */
export function wholeWords(source, start, end) {
  return { start: wordEdge(source, start, true), end: wordEdge(source, end, false) };
}

function wordEdge(source, byte, back) {
  const piece = pieceAt(source, byte, !back);
  if (!piece || piece.text === null) return byte;
  const index = utf16At(piece.text, byte - piece.start);
  const segment = words.segment(piece.text).containing(back ? index : Math.max(0, index - 1));
  if (!segment?.isWordLike) return byte;
  const edge = back ? segment.index : segment.index + segment.segment.length;
  return piece.start + byteLength(piece.text.slice(0, edge));
}

/** Numbered sentences: `{starts, ends}` in bytes as the server counts them. */
export class Sentences {
  constructor(url, version) {
    this.address = `${url}?version=${version}`;
    this.loading = null;
  }

  load() {
    this.loading ??= fetch(this.address, { credentials: "same-origin", redirect: "error" }).then(async (answer) => {
      if (!answer.ok) throw new Error("the sentences could not be loaded");
      return answer.json();
    });
    this.loading.catch(() => { this.loading = null; });
    return this.loading;
  }

  /** Bytes of sentences `first` to `last`, counted from 1; null where there are no such sentences. */
  async range(first, last) {
    const { starts, ends } = await this.load();
    if (first < 1 || last < first || last > starts.length) return null;
    return { start: starts[first - 1], end: ends[last - 1] };
  }

  /** `[start, end)` widened to whole sentences. */
  async around(start, end) {
    const { starts, ends } = await this.load();
    const first = ends.findIndex((edge) => edge > start);
    const last = starts.findLastIndex((edge) => edge < end);
    if (first < 0 || last < first) return { start, end };
    return { start: Math.min(start, starts[first]), end: Math.max(end, ends[last]) };
  }
}
