// Marking with the mouse: a selection in the source fills the span form; the server checks and stores.
import { selectedBytes } from "./bytes.js";
import { isTyping } from "./typing.js";

const $ = (id) => document.getElementById(id);

function readSelection() {
  const source = document.querySelector("[data-source]");
  if (!source) return;
  const bytes = selectedBytes(source);
  if (!bytes) return;
  $("new_start").value = bytes.start;
  $("new_end").value = bytes.end;
  $("new_quote").value = "";
  const length = bytes.end - bytes.start;
  $("selection-note").textContent = `Selected bytes ${bytes.start}–${bytes.end} (${length} ${length === 1 ? "byte" : "bytes"}). Press m to mark.`;
}

document.addEventListener("mouseup", () => setTimeout(readSelection, 0));
document.addEventListener("keyup", (event) => {
  if (event.shiftKey) readSelection();
});

document.addEventListener("keydown", (event) => {
  if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) {
    $("submit-pass")?.click();
    event.preventDefault();
    return;
  }
  if (isTyping(event.target) || event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.key === "m") {
    readSelection();
    $("add-span")?.click();
    event.preventDefault();
  } else if (event.key === "n") {
    $("add-set")?.click();
    event.preventDefault();
  }
});

// Keep the place in the source when a save swaps the workspace.
let kept = 0;
document.addEventListener("htmx:beforeSwap", () => {
  kept = document.querySelector("[data-source-scroll]")?.scrollTop ?? 0;
});
document.addEventListener("htmx:afterSettle", () => {
  const column = document.querySelector("[data-source-scroll]");
  if (column) column.scrollTop = kept;
});
