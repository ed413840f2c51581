// Sends edits, one batch after the other, and never forgets one it has not sent.
//
// Everything not yet acknowledged stands in local storage under the person, the task and this window, with the revision it
// was made on and the key of the request on its way. A crashed tab, a stopped server or an expired sign-in leave it there;
// the next window of the same person on the same task takes it over and sends it under the same key, so that what the
// server did get is not written twice.
import { drop, keep, keptObject, keys } from "../store.js";

const SPACE = "cutline:unsent:";
const RETRY_MS = [1_000, 2_000, 4_000, 8_000, 15_000, 30_000];
// Not randomUUID: a site inside a house may be served without HTTPS, where browsers keep that back.
const fresh = () => Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, "0")).join("");
export const tabId = fresh();

const cookie = (name) =>
  document.cookie.split("; ").find((part) => part.startsWith(`${name}=`))?.slice(name.length + 1) ?? "";

/** Send JSON with the CSRF token as it is now (another window may have signed in anew). */
export function send(method, url, body, headers = {}, more = {}) {
  return fetch(url, {
    method,
    headers: { "Content-Type": "application/json", "X-CSRFToken": cookie("csrftoken"), ...headers },
    body: JSON.stringify(body),
    credentials: "same-origin",
    ...more,
  });
}

/** Remove what people other than `person` left in this browser's storage; called when somebody signs out. */
export function forgetOthers(person) {
  for (const key of keys()) {
    const found = /^cutline:(?:unsent|history):(\d+):/.exec(key);
    if (found && found[1] !== String(person)) drop(key);
  }
}

export class Saver {
  /**
   * `on` has: saved(answer), state(word, detail), stale(answer, edits), refused(problems, edits), unkept().
   * Words of state: saved, saving, waiting, offline, signed-out, not-yours, closed.
   */
  constructor({ person, task, url, revision, saveKey, seconds, on }) {
    Object.assign(this, { url, revision, saveKey, seconds, on });
    this.prefix = `${SPACE}${person}:${task}:`;
    this.key = this.prefix + tabId;
    this.pending = [];
    this.inflight = null;
    this.failures = 0;
    this.stopped = false;
    this.unkept = false;
    this.timer = 0;
    this.running = null;
    addEventListener("online", () => this.flush());
    document.addEventListener("visibilitychange", () => document.hidden || this.flush());
    addEventListener("beforeunload", (event) => {
      // Only this window has it: the browser asks before it goes.
      if (this.unkept && this.unsent) event.preventDefault();
    });
    // This window is alive as long as it holds the lock: nobody takes over what it is about to send.
    navigator.locks?.request(this.key, () => new Promise(() => {}));
  }

  get unsent() {
    return this.pending.length + (this.inflight?.edits.length ?? 0);
  }

  /** Keep edits and send them soon; text that is still being written waits for a pause. */
  push(edits, delay = 0) {
    for (const edit of edits) {
      const last = this.pending.at(-1);
      if (edit.op === "contract" && last?.op === "contract") last.fields = { ...last.fields, ...edit.fields };
      else this.pending.push(structuredClone(edit));
    }
    this.#keep();
    this.on.state("saving");
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.flush(), delay);
  }

  /** Send what waits; resolves when nothing waits or something is in the way. */
  flush() {
    clearTimeout(this.timer);
    this.running ??= this.#run().finally(() => { this.running = null; });
    return this.running;
  }

  async #run() {
    while (!this.stopped && this.unsent) if (!(await this.#step())) break;
  }

  /** Go on from another revision with nothing waiting: after a conflict was decided, or a refusal undone. */
  restart(revision, edits = []) {
    this.revision = revision;
    this.inflight = null;
    this.pending = structuredClone(edits);
    this.stopped = false;
    this.#keep();
    if (edits.length) this.flush();
  }

  /** What earlier windows of this person on this task left: `[{base, edits, inflight}]`, oldest first, now this window's. */
  async leftovers() {
    const held = new Set();
    if (navigator.locks) for (const lock of (await navigator.locks.query()).held) held.add(lock.name);
    const found = [];
    for (const key of keys()) {
      if (!key.startsWith(this.prefix) || key === this.key || held.has(key)) continue;
      const entry = keptObject(key);
      drop(key);
      if (Array.isArray(entry?.pending)) found.push(entry);
    }
    return found.sort((a, b) => a.at - b.at);
  }

  /** Take over a leftover: its request goes out again under its own key. */
  adopt(entry) {
    if (entry.inflight && entry.inflight.key === this.saveKey) entry.inflight = null;
    else this.revision = entry.base;
    this.inflight = entry.inflight;
    this.pending = entry.pending;
    this.#keep();
  }

  async #step() {
    if (!this.inflight) {
      this.inflight = { key: fresh(), edits: this.pending };
      this.pending = [];
      this.#keep();
    }
    const { key, edits } = this.inflight;
    const seconds = this.seconds.take();
    let answer;
    try {
      answer = await send("POST", this.url, { edits, seconds }, { "If-Match": `"${this.revision}"`, "Idempotency-Key": key });
    } catch {
      this.seconds.give(seconds);
      return this.#later("offline");
    }
    if (answer.status >= 500) {
      this.seconds.give(seconds);
      return this.#later("offline");
    }
    if (answer.status === 401 || answer.status === 403 || answer.status === 404) {
      this.seconds.give(seconds);
      return this.#later(answer.status === 404 ? "not-yours" : "signed-out");
    }
    const said = await answer.json().catch(() => null);
    if (!said) {
      // Not the site: something on the way there answers in its place.
      this.seconds.give(seconds);
      return this.#later("offline");
    }
    if (answer.ok) {
      this.failures = 0;
      this.revision = said.revision;
      this.inflight = null;
      this.#keep();
      this.on.saved(said);
      return true;
    }
    if (answer.status === 409 && said.theirs) {
      this.stopped = true;
      this.on.stale(said, [...edits, ...this.pending]);
    } else if (answer.status === 409) {
      this.stopped = true;
      this.on.state("closed", said.problems);
    } else if (edits.length > 1) {
      // One of several was refused and with it all: send them one by one, so that only that one is in the way.
      const [first, ...rest] = edits;
      this.pending = [...rest, ...this.pending];
      this.inflight = { key: fresh(), edits: [first] };
      this.#keep();
      return true;
    } else {
      this.inflight = null;
      const waiting = this.pending;
      this.pending = [];
      this.stopped = true;
      this.#keep();
      await this.on.refused(said.problems ?? [], edits, waiting);
    }
    return false;
  }

  #later(word) {
    this.on.state(word);
    const wait = RETRY_MS[Math.min(this.failures, RETRY_MS.length - 1)];
    this.failures += 1;
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.flush(), wait);
    return false;
  }

  #keep() {
    if (!this.unsent) {
      this.unkept = false;
      drop(this.key);
      return;
    }
    const text = JSON.stringify({ base: this.revision, inflight: this.inflight, pending: this.pending, at: Date.now() });
    if (keep(this.key, text)) {
      this.unkept = false;
      return;
    }
    // What may be undone, here and in other tasks, is worth less than what is not sent.
    for (const key of keys()) if (key.startsWith("cutline:history:")) drop(key);
    this.unkept = !keep(this.key, text);
    if (this.unkept && !this.told) this.on.unkept();
    this.told ||= this.unkept;
  }
}
