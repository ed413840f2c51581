// Keys of the question page: [ and ] follow the links to the previous and the next phase.
import { isTyping } from "./typing.js";

document.addEventListener("keydown", (event) => {
  if (isTyping(event.target) || event.ctrlKey || event.metaKey || document.querySelector("dialog[open]")) return;
  if (event.key !== "[" && event.key !== "]") return;
  const link = document.querySelector(`a[data-key="${event.key}"]`);
  if (!link) return;
  link.click();
  event.preventDefault();
});

// Each drawn source opens at its first support span, else at its first packed interval, a few lines above it.
for (const source of document.querySelectorAll(".source.drawn")) {
  const first = source.querySelector(".mark") ?? source.querySelector(".e-packed");
  if (first) source.scrollTop += first.getBoundingClientRect().top - source.getBoundingClientRect().top - 80;
}
