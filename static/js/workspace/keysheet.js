// The key sheet behind ?: every action with its key, and another key for it if the person likes one better.
import { send } from "./saver.js";

// Keys that write nothing of their own: held with others, or the first half of a character.
const MODIFIERS = new Set(["Shift", "Control", "Alt", "Meta", "AltGraph", "CapsLock", "Fn", "NumLock", "Dead", "Process", "Unidentified"]);
// Of an action that came after its own key had been chosen for another one.
const NONE = "no key";
const LETTER = /^[\p{L}\p{N}]$/u;

/** A key press as the key map writes it. */
export function keyOf(event) {
  // Where a sign takes AltGr or Option to write, those belong to the sign and are no modifiers: [ on many keyboards.
  const writes = event.key.length === 1 && !LETTER.test(event.key);
  if (writes && (event.getModifierState("AltGraph") || (event.altKey && !event.ctrlKey && !event.metaKey))) return event.key;
  const held = `${event.ctrlKey || event.metaKey ? "Control+" : ""}${event.altKey ? "Alt+" : ""}`;
  return held + (held && event.key.length === 1 ? event.key.toLowerCase() : event.key);
}

export class KeySheet {
  constructor({ keys, actions, urls }) {
    this.keys = keys;
    this.actions = actions;
    this.url = urls.keys;
    this.dialog = document.getElementById("keys");
    const list = this.dialog?.querySelector("dl.keys");
    if (!list) return;
    this.note = document.createElement("p");
    this.note.setAttribute("role", "status");
    this.note.className = "small";
    list.after(this.note);
    for (const [name, , text] of actions) list.append(...this.#row(name, text));
  }

  /** Action of a key press, if it has one. */
  action(event) {
    const key = keyOf(event);
    return this.actions.find(([name]) => this.keys[name] === key)?.[0];
  }

  #row(name, text) {
    const term = document.createElement("dt");
    const key = document.createElement("kbd");
    key.textContent = this.keys[name] || NONE;
    key.dataset.keyOf = name;
    term.append(key);
    const what = document.createElement("dd");
    const change = document.createElement("button");
    change.type = "button";
    change.className = "quiet change";
    change.textContent = "Change";
    change.setAttribute("aria-label", `Change the key of ${name}`);
    change.addEventListener("click", () => this.#change(name, change));
    what.append(`${text} `, change);
    return [term, what];
  }

  #change(name, button) {
    button.textContent = "Press a key…";
    const listen = async (event) => {
      event.preventDefault();
      event.stopPropagation();
      if (MODIFIERS.has(event.key)) return;
      button.removeEventListener("keydown", listen);
      button.textContent = "Change";
      if (event.key === "Escape") return;
      const wanted = { ...this.keys, [name]: keyOf(event) };
      const answer = await send("PUT", this.url, { keys: wanted }).catch(() => null);
      const said = await answer?.json().catch(() => null);
      if (answer?.ok) {
        this.keys = said.keys;
        this.note.textContent = "";
        for (const shown of this.dialog.querySelectorAll("[data-key-of]")) shown.textContent = this.keys[shown.dataset.keyOf] || NONE;
      } else this.note.textContent = said?.problems?.map(({ what, mend }) => `${what}. ${mend}`).join(" ") ?? "The key was not kept: the server does not answer.";
    };
    button.addEventListener("keydown", listen);
    button.addEventListener("blur", () => {
      button.removeEventListener("keydown", listen);
      button.textContent = "Change";
    }, { once: true });
  }
}
