// The question page: [ ] walk the phases, p n the questions, the slider shows its phase at once, sources keep their place.
import { isTyping } from "./typing.js";

const KEYS = new Set(["[", "]", "p", "n"]);

document.addEventListener("keydown", (event) => {
  if (isTyping(event.target) || event.ctrlKey || event.metaKey || event.altKey || document.querySelector("dialog[open]")) return;
  if (!KEYS.has(event.key)) return;
  const link = document.querySelector(`a[data-key="${event.key}"]`);
  if (!link) return;
  link.click();
  event.preventDefault();
});

const slider = document.getElementById("phase-at");

function sayPhase() {
  slider?.setAttribute("aria-valuetext", slider.dataset.labels.split(" ")[slider.value - 1]);
}
slider?.addEventListener("input", sayPhase);

// Each drawn source opens at its first support span, else at its first packed interval, a few lines above it.
function openSources(places = new Map()) {
  for (const source of document.querySelectorAll(".source.drawn")) {
    const kept = places.get(source.closest(".document")?.id);
    if (kept !== undefined) {
      source.scrollTop = kept;
      continue;
    }
    const first = source.querySelector(".mark") ?? source.querySelector(".e-packed");
    if (first) source.scrollTop += first.getBoundingClientRect().top - source.getBoundingClientRect().top - 80;
  }
}
openSources();

let places = new Map();
document.addEventListener("htmx:beforeSwap", (event) => {
  if (event.detail.target?.id !== "walk") return;
  places = new Map([...document.querySelectorAll(".source.drawn")].map((one) => [one.closest(".document")?.id, one.scrollTop]));
});
document.addEventListener("htmx:afterSettle", (event) => {
  const walk = document.getElementById("walk");
  if (!walk || !slider || event.detail.elt?.id !== "walk") return;
  openSources(places);
  // The slider is ahead of its own answers; a key or a link moves it along.
  if (event.detail.requestConfig?.elt?.contains?.(slider)) return;
  slider.value = walk.dataset.at;
  sayPhase();
});
