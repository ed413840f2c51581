// A pass as a value: spans, support sets, answer contract. Edits have the shape the server takes
// (annotate/domain/pass_edits.py); applying one returns the edits that take it back.

/** A for 0, B for 1, …, AA for 26. */
export function setLetter(index) {
  let letters = "";
  for (let number = index + 1; number > 0; number = Math.floor((number - 1) / 26)) {
    letters = String.fromCharCode(65 + ((number - 1) % 26)) + letters;
  }
  return letters;
}

// Digests and names are ASCII: the order of a language would only cost time.
const compared = (a, b) => (a < b ? -1 : a > b ? 1 : 0);

const HOW = {
  "add-span": "addSpan",
  "change-span": "changeSpan",
  "remove-span": "removeSpan",
  set: "setMembers",
  sets: "allSets",
  contract: "contractFields",
};

export class Content {
  constructor({ spans, sets, contract }) {
    this.spans = new Map(spans.map((span) => [span.name, span]));
    this.sets = sets.map((members) => [...members]);
    this.contract = { ...contract };
    this.positions = this.inOrder = null;
  }

  /** Apply one edit and return those that take it back; throws an Error saying why it does not fit. */
  apply(edit) {
    const how = HOW[edit.op];
    if (!how) throw new Error(`there is no edit “${edit.op}”`);
    try {
      return this[how](edit);
    } finally {
      this.positions = this.inOrder = null;
    }
  }

  /** Positions of the sets a span stands in. All are found at once and kept until the next edit: every span is asked for. */
  inside(name) {
    if (!this.positions) {
      this.positions = new Map();
      this.sets.forEach((members, index) => {
        for (const member of members) {
          const found = this.positions.get(member);
          if (!found) this.positions.set(member, [index]);
          else if (found.at(-1) !== index) found.push(index);
        }
      });
    }
    return this.positions.get(name) ?? [];
  }

  /** The span with exactly these bytes, if any. */
  at(version, start, end) {
    for (const span of this.spans.values()) {
      if (span.version === version && span.start === start && span.end === end) return span;
    }
    return null;
  }

  /** A name nobody has, made from a label. */
  freeName(label) {
    if (!this.spans.has(label)) return label;
    let number = 2;
    while (this.spans.has(`${label}-${number}`)) number += 1;
    return `${label}-${number}`;
  }

  /** Spans in the order of the text, one version after the other; not to be changed. */
  ordered() {
    this.inOrder ??= [...this.spans.values()].sort(
      (a, b) => compared(a.version, b.version) || a.start - b.start || a.end - b.end || compared(a.name, b.name),
    );
    return this.inOrder;
  }

  addSpan(edit) {
    const name = edit.span.name;
    if (this.spans.has(name)) throw new Error(`there is a span called “${name}” already`);
    const before = this.sets.map((members) => [...members]);
    for (const position of edit.sets ?? []) {
      if (position > this.sets.length) throw new Error(`there are ${this.sets.length} sets`);
      (this.sets[position] ??= []).push(name);
    }
    this.spans.set(name, { ...edit.span, forbidden: edit.forbidden ?? false });
    const back = [{ op: "remove-span", name }];
    return this.sets.length > before.length ? [...back, { op: "sets", sets: before }] : back;
  }

  changeSpan(edit) {
    const before = this.spans.get(edit.name);
    if (!before) throw new Error(`there is no span called “${edit.name}”`);
    const name = edit.span.name;
    if (name !== edit.name && this.spans.has(name)) throw new Error(`there is a span called “${name}” already`);
    const { forbidden, ...span } = before;
    const entries = [...this.spans].map(([key, value]) =>
      key === edit.name ? [name, { ...edit.span, forbidden: edit.forbidden ?? false }] : [key, value],
    );
    this.spans = new Map(entries);
    this.sets = this.sets.map((members) => members.map((member) => (member === edit.name ? name : member)));
    return [{ op: "change-span", name, span, forbidden }];
  }

  removeSpan(edit) {
    const before = this.spans.get(edit.name);
    if (!before) throw new Error(`there is no span called “${edit.name}”`);
    const sets = this.sets.map((members) => [...members]);
    const inside = this.inside(edit.name);
    this.spans.delete(edit.name);
    this.sets = this.sets.map((members) => members.filter((member) => member !== edit.name));
    const { forbidden, ...span } = before;
    const back = [{ op: "add-span", span, forbidden }];
    return inside.length ? [...back, { op: "sets", sets }] : back;
  }

  setMembers(edit) {
    if (edit.position > this.sets.length) throw new Error(`there are ${this.sets.length} sets`);
    this.#known(edit.members);
    const added = edit.position === this.sets.length;
    const back = added
      ? { op: "sets", sets: this.sets.map((members) => [...members]) }
      : { op: "set", position: edit.position, members: this.sets[edit.position] };
    this.sets[edit.position] = [...edit.members];
    return [back];
  }

  allSets(edit) {
    for (const members of edit.sets) this.#known(members);
    const back = { op: "sets", sets: this.sets };
    this.sets = edit.sets.map((members) => [...members]);
    return [back];
  }

  contractFields(edit) {
    const fields = Object.fromEntries(Object.keys(edit.fields).map((name) => [name, this.contract[name]]));
    Object.assign(this.contract, edit.fields);
    return [{ op: "contract", fields }];
  }

  #known(members) {
    const unknown = members.find((name) => !this.spans.has(name));
    if (unknown !== undefined) throw new Error(`there is no span called “${unknown}”`);
  }
}
