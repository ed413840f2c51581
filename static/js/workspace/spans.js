// What is done to spans: marking, changing, moving edges, taking back, choosing. Each is one change of the desk.
import { textBetween } from "../bytes.js";
import { notice } from "./notices.js";
import { step } from "./text.js";

const SPAN_NAME = /^[-a-zA-Z0-9_]{1,60}$/;

export class Spans {
  constructor(desk) {
    this.desk = desk;
  }

  get content() {
    return this.desk.content;
  }

  get chosen() {
    return this.desk.chosen && this.content.spans.get(this.desk.chosen);
  }

  /** Mark `[start, end)` of the source shown; the same bytes again only join the set that spans go to. */
  mark(start, end) {
    const { desk } = this;
    const version = desk.version;
    const there = this.content.at(version, start, end);
    const set = desk.sets.target;
    if (there) {
      if (set !== null && !this.content.inside(there.name).includes(set)) desk.sets.toggle(there.name, set);
      this.choose(there.name);
      return;
    }
    const label = document.getElementById("new_label")?.value ?? "rule";
    const span = { version, start, end, name: this.content.freeName(label), label };
    const edit = { op: "add-span", span, forbidden: false, sets: set === null ? [] : [Math.min(set, this.content.sets.length)] };
    this.#quote(span, edit);
    const before = desk.chosen;
    desk.chosen = span.name;
    if (!desk.change([edit])) {
      desk.chosen = before;
      return;
    }
    if (!getSelection().isCollapsed) getSelection().removeAllRanges();
    desk.selected(null);
    desk.reading.caret.collapse();
    this.choose(span.name);
    desk.say(`Marked ${span.name}, bytes ${start} to ${end}.`);
  }

  change(name, changes) {
    const { desk } = this;
    const { forbidden: was, ...span } = this.content.spans.get(name);
    const { forbidden = was, ...fields } = changes;
    if (fields.name !== undefined && !SPAN_NAME.test(fields.name)) {
      notice("refused", "reject", "This is no name for a span", ["Use 1 to 60 letters, digits, hyphens and underscores (ASCII)."]);
      desk.show();
      return;
    }
    const after = { ...span, ...fields };
    const edit = { op: "change-span", name, span: after, forbidden };
    if (after.start !== span.start || after.end !== span.end) this.#quote(after, edit);
    if (desk.chosen === name) desk.chosen = after.name;
    if (!desk.change([edit])) desk.chosen = name;
  }

  changeEdges(name, start, end) {
    const span = this.content.spans.get(name);
    if (!span || end <= start || (span.start === start && span.end === end)) return this.desk.show();
    if (this.content.at(span.version, start, end)) return this.desk.say("Another span has these bytes already.");
    this.change(name, { start, end });
  }

  /** Move one edge of the chosen span by a character: `start-back`, `start-on`, `end-on` or `end-back`. */
  async nudge(which) {
    const { desk } = this;
    const edge = which.startsWith("start") ? "start" : "end";
    const before = this.chosen;
    if (!before || before.version !== desk.version) return desk.say("Choose a span of this source first.");
    await desk.blocks.ensure(Math.max(0, before[edge] - 1), before[edge] + 1);
    // As it is by now: keys may follow faster than blocks come in.
    const span = this.chosen;
    if (!span || span.version !== desk.version) return undefined;
    const to = step(desk.source, span[edge], which.endsWith("back"), false);
    const next = { start: span.start, end: span.end, [edge]: to };
    return this.changeEdges(span.name, next.start, next.end);
  }

  remove(name = this.desk.chosen) {
    const { desk } = this;
    if (!name || !this.content.spans.has(name)) return;
    const ordered = this.content.ordered();
    const at = ordered.findIndex((span) => span.name === name);
    const next = (ordered[at + 1] ?? ordered[at - 1])?.name ?? null;
    const inList = document.getElementById("spans").contains(document.activeElement);
    if (!desk.change([{ op: "remove-span", name }])) return;
    this.choose(inList ? next : null, { picked: inList, scroll: false });
    if (inList) next ? desk.panel.focusChosen() : document.getElementById("add-set")?.focus();
    desk.say(`Took back ${name}. Undo brings it back.`);
  }

  nextLabel() {
    const options = [...document.getElementById("new_label").options].map((option) => option.value);
    const span = this.chosen;
    if (!span) return;
    this.change(span.name, { label: options[(options.indexOf(span.label) + 1) % options.length] });
    this.desk.say(`${this.desk.chosen} is a ${this.chosen.label} now.`);
  }

  /** Choose a span (null for none). `picked` ones take digits as sets; one just marked leaves them to sentence numbers. */
  async choose(name, { picked = false, scroll = picked } = {}) {
    const { desk } = this;
    desk.chosen = name;
    desk.picked = picked && name !== null;
    desk.show();
    const span = name ? this.content.spans.get(name) : null;
    if (!span || !scroll) return;
    const version = desk.versions.get(span.version);
    if (span.version !== desk.version && version?.pk) await desk.reading.open(`${desk.urls.page}?version=${version.pk}`, span.start);
    else if (span.version === desk.version) await desk.blocks.show(span.start, "nearest");
    desk.show();
  }

  neighbour(by) {
    const ordered = this.content.ordered().filter((span) => span.version === this.desk.version);
    if (!ordered.length) return;
    const at = ordered.findIndex((span) => span.name === this.desk.chosen);
    const next = at < 0 ? (by > 0 ? 0 : ordered.length - 1) : (at + by + ordered.length) % ordered.length;
    this.choose(ordered[next].name, { picked: true });
    const { name, label, start, end } = ordered[next];
    this.desk.say(`${name}, ${label}, bytes ${start} to ${end}`);
  }

  // The edit carries the whole quote, which the server compares; a list shows its beginning.
  #quote(span, edit) {
    const text = textBetween(this.desk.source, span.start, span.end);
    this.desk.keepQuote(span, text ?? "");
    if (text !== null) edit.quote = text;
  }
}
