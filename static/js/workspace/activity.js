// Seconds somebody really worked: the page is in view and there was a key, a pointer or a scroll in the last minute.
import { send } from "./saver.js";

const STILL_MS = 60_000;

export class Activity {
  constructor(url) {
    this.seconds = 0;
    this.last = Date.now();
    for (const kind of ["keydown", "pointerdown", "pointermove", "scroll"]) {
      addEventListener(kind, () => { this.last = Date.now(); }, { passive: true, capture: true });
    }
    setInterval(() => {
      if (!document.hidden && Date.now() - this.last < STILL_MS) this.seconds += 1;
    }, 1_000);
    addEventListener("pagehide", () => {
      const seconds = this.take();
      if (seconds > 1) send("POST", url, { seconds }, {}, { keepalive: true }).catch(() => this.give(seconds));
    });
  }

  take() {
    const seconds = this.seconds;
    this.seconds = 0;
    return seconds;
  }

  give(seconds) {
    this.seconds += seconds;
  }
}
