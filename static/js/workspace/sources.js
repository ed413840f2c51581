// Search over the study's sources that the person may read; opening one makes it a tab.
const PAUSE_MS = 200;

export class SourceSearch {
  /** `open(url, at)` shows a version, at a byte where one was found. */
  constructor(urls, open) {
    this.urls = urls;
    this.open = open;
    this.dialog = document.getElementById("source-search");
    this.query = document.getElementById("source-query");
    this.list = document.getElementById("source-results");
    this.note = document.getElementById("source-search-note");
    this.query.addEventListener("input", () => {
      clearTimeout(this.timer);
      this.timer = setTimeout(() => this.search(), PAUSE_MS);
    });
    this.query.addEventListener("keydown", (event) => {
      if (event.key !== "Enter" || event.isComposing) return;
      event.preventDefault();
      this.list.querySelector("a")?.click();
    });
  }

  show() {
    this.dialog.showModal();
    this.query.focus();
    this.query.select();
    this.search();
  }

  async search() {
    const asked = (this.asked = this.query.value.trim());
    const answer = await fetch(`${this.urls.sources}?${new URLSearchParams({ q: asked })}`, { credentials: "same-origin", redirect: "error" }).catch(() => null);
    if (this.asked !== asked) return;
    if (!answer?.ok) {
      this.note.textContent = "The search did not work. Try again in a moment.";
      return;
    }
    const { sources, stopped } = await answer.json();
    this.note.textContent = `${sources.length} ${sources.length === 1 ? "source" : "sources"}${stopped ? ", and perhaps more: write more of it" : ""}`;
    this.list.replaceChildren(...sources.map((source) => this.#row(source)));
  }

  #row(source) {
    const row = document.createElement("li");
    const link = document.createElement("a");
    link.href = source.url;
    const title = document.createElement("span");
    title.textContent = `${source.title} ${source.label}${source.stale && ` (${source.stale})`}`;
    const tag = document.createElement("span");
    tag.className = "tag";
    tag.textContent = source.count ? `${source.count}${source.count === 100 ? "+" : ""}×` : source.document;
    link.append(title, tag);
    if (source.snippet) {
      const [before, found, after] = source.snippet;
      const meta = document.createElement("span");
      meta.className = "meta";
      const quote = document.createElement("span");
      const mark = document.createElement("mark");
      mark.textContent = found;
      quote.append(`…${before}`, mark, `${after}…`);
      meta.append(quote);
      link.append(meta);
    }
    link.addEventListener("click", (event) => {
      event.preventDefault();
      this.dialog.close();
      this.open(source.url, source.at ?? null);
    });
    row.append(link);
    return row;
  }
}
