// Where a span of a derived version (one that was transcoded on import) stands in the file it was made from.
export class Originals {
  /** `drawn()` is called when one has come. */
  constructor(url, drawn) {
    Object.assign(this, { url, drawn });
    this.known = new Map();
  }

  /** What to say about a span of `version`: nothing for an original, nor while it is being asked for. */
  of(version, start, end) {
    if (!version?.derived) return "";
    const key = `${version.pk}:${start}:${end}`;
    if (!this.known.has(key)) {
      this.known.set(key, "");
      this.#ask(key, new URLSearchParams({ version: version.pk, start, end }));
    }
    return this.known.get(key);
  }

  async #ask(key, query) {
    const answer = await fetch(`${this.url}?${query}`, { credentials: "same-origin", redirect: "error" }).catch(() => null);
    // The server was away, or asked to sign in: asked for again when the span is next drawn.
    if (!answer || answer.status >= 500) this.known.delete(key);
    if (!answer?.ok) return;
    const { start, end, parent, encoding } = await answer.json();
    this.known.set(key, `In the original (${encoding}, ${parent.slice(0, 12)}…): bytes ${start}–${end}`);
    this.drawn();
  }
}
