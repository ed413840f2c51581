// What is done to support sets; `target` is the set that new spans go to, null for none.
export class Sets {
  constructor(desk) {
    this.desk = desk;
    this.target = 0;
  }

  toggle(name, index) {
    const { content } = this.desk;
    if (!content.spans.has(name) || index > content.sets.length) return;
    const members = content.sets[index] ?? [];
    const next = members.includes(name) ? members.filter((member) => member !== name) : [...members, name];
    this.desk.change([{ op: "set", position: index, members: next }]);
  }

  add() {
    const { content } = this.desk;
    if (!this.desk.change([{ op: "set", position: content.sets.length, members: [] }])) return;
    this.aim(content.sets.length - 1);
  }

  drop(index) {
    const { content } = this.desk;
    if (!this.desk.change([{ op: "sets", sets: content.sets.filter((_, at) => at !== index) }])) return;
    if (this.target !== null) this.aim(Math.max(0, Math.min(this.target, this.desk.content.sets.length - 1)));
  }

  /** New spans go to set `index`; null for none. */
  aim(index) {
    this.target = index;
    this.desk.panel.render();
  }
}
