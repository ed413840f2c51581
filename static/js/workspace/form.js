// The form on the right: the answer contract saves itself, and the plain way of marking goes to the server as it stands.
import { keep, kept } from "../store.js";
import { clear, notice, problemLines } from "./notices.js";
import { send } from "./saver.js";

const TEXTS = ["answer", "scope", "qualification", "missing_text", "notes"];
const WORDS = ["dependency", "missing_behaviour"];
const PAUSE_MS = 500;
const PLAIN = "cutline:plain";
const ANSWERS = { yes: true, no: false };
const $ = (id) => document.getElementById(id);

export class Form {
  constructor(desk) {
    this.desk = desk;
    this.form = $("pass-form");
    this.key = this.form.elements.idempotency_key.value;
    const plain = $("by-bytes");
    if (plain) {
      // Open for whoever likes it better, for as long as their window is open.
      const said = document.querySelector("#notices [role=alert]") || plain.querySelector("[role=status]");
      plain.open = Boolean(said) || kept(PLAIN, "sessionStorage") === "open";
      plain.addEventListener("toggle", () => keep(PLAIN, plain.open ? "open" : "", "sessionStorage"));
    }
    this.form.addEventListener("submit", (event) => this.#submitted(event));
    this.form.addEventListener("input", (event) => this.#changed(event));
    this.form.addEventListener("focusout", () => this.desk.saver.flush());
    $("new_set")?.addEventListener("change", (event) => {
      event.stopPropagation();
      this.desk.sets.aim(event.target.value === "" ? null : Number(event.target.value));
    });
  }

  /** Show the contract as it is; a field somebody is writing in is theirs. */
  fill() {
    const { contract } = this.desk.content;
    for (const name of [...TEXTS, ...WORDS]) {
      const field = $(name);
      if (field.value !== contract[name]) field.value = contract[name];
    }
    for (const radio of this.form.elements.answerable) radio.checked = ANSWERS[radio.value] === contract.answerable;
  }

  /** Whether anything can be written: not while something has to be decided first. */
  hold(held) {
    for (const part of this.form.querySelectorAll("fieldset")) part.disabled = held;
    // With nothing in it to go to, the pane itself takes the focus, or no key would scroll it.
    if (held) this.form.tabIndex = 0;
    else this.form.removeAttribute("tabindex");
  }

  /** Texts that stand in the fields and not in `contract`: written while no change was taken. */
  unheard(contract) {
    return Object.fromEntries(TEXTS.map((name) => [name, $(name).value]).filter(([name, text]) => text !== contract[name]));
  }

  /** Keep the plain form in step with the revision, so that it can be sent at any time. */
  saved(revision) {
    this.form.elements.revision.value = String(revision);
  }

  selection(bytes) {
    if (!$("new_start")) return;
    $("new_start").value = bytes ? bytes.start : "";
    $("new_end").value = bytes ? bytes.end : "";
    if (bytes) $("new_quote").value = "";
  }

  answerable(value) {
    this.desk.change([{ op: "contract", fields: { answerable: value } }]);
    this.fill();
    this.desk.say(value ? "The sources answer this." : "The sources do not answer this.");
  }

  /** Seal the pass at `revision`; a second press under the same key is the same submission. */
  async submit(revision) {
    clear("submit");
    const headers = { "If-Match": `"${revision}"`, "Idempotency-Key": this.key };
    const answer = await send("POST", this.desk.urls.submit, {}, headers).catch(() => null);
    const said = await answer?.json().catch(() => null);
    if (answer?.ok) {
      this.desk.closed = true;
      location.reload();
      return;
    }
    const lines = said?.problems ? problemLines(said.problems) : ["The server does not answer. Everything is saved here; try again in a moment."];
    const callout = notice("submit", "reject", "Not submitted", lines);
    callout.tabIndex = -1;
    callout.focus();
  }

  #changed(event) {
    const { name, value } = event.target;
    if (TEXTS.includes(name)) this.desk.change([{ op: "contract", fields: { [name]: value } }], { kind: name, delay: PAUSE_MS });
    else if (WORDS.includes(name)) this.desk.change([{ op: "contract", fields: { [name]: value } }]);
    else if (name === "answerable") this.desk.change([{ op: "contract", fields: { answerable: ANSWERS[value] } }]);
  }

  async #submitted(event) {
    const action = event.submitter?.value ?? "save";
    if (this.passing) return;
    event.preventDefault();
    if (action === "save") await this.desk.saver.flush();
    else if (action === "submit") await this.desk.exchange.submit();
    else if (action === "add-set") this.desk.sets.add();
    else await this.#plain(event.submitter);
  }

  // By bytes or by quote: the server finds the place and answers with the page, as it does without scripts.
  async #plain(button) {
    const { elements } = this.form;
    await this.desk.saver.flush();
    if (this.desk.saver.unsent) {
      notice("submit", "collect", "Not marked yet", ["Something is still unsaved. Press the button again once it is saved."]);
      return;
    }
    clear("submit");
    elements.set_count.value = String(this.desk.content.sets.length);
    // Rows that the page does not hold keep their sets; so do those of a page that holds none.
    const none = Object.assign(document.createElement("input"), { type: "hidden", name: "row", value: "" });
    this.form.append(none);
    // A form ignores a submit asked for while its own submit event is still on its way.
    await new Promise((resolve) => setTimeout(resolve, 0));
    this.passing = true;
    this.form.requestSubmit(button);
    this.passing = false;
  }
}
