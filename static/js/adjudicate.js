// Keys of the A/B page: they press the buttons that are there for the mouse.
import { isTyping } from "./typing.js";

function currentRow() {
  return document.activeElement?.closest(".difference") ?? document.querySelector(".difference:not(.decided)");
}

document.addEventListener("keydown", (event) => {
  if (isTyping(event.target) || event.ctrlKey || event.metaKey || event.altKey || document.querySelector("dialog[open]")) return;
  if (event.key === "c") {
    document.getElementById("confirm")?.click();
  } else if (["a", "b", "x"].includes(event.key)) {
    currentRow()?.querySelector(`[data-key="${event.key}"]`)?.click();
  } else if (event.key === "e") {
    const details = currentRow()?.querySelector("[data-edit]");
    if (!details) return;
    details.open = true;
    details.querySelector("input, select, textarea")?.focus();
  } else if (event.key === "j" || event.key === "k") {
    const rows = [...document.querySelectorAll(".difference")];
    const at = rows.indexOf(document.activeElement?.closest(".difference"));
    rows.at(event.key === "j" ? Math.min(at + 1, rows.length - 1) : Math.max(at - 1, 0))?.focus();
  } else {
    return;
  }
  event.preventDefault();
});

// After a swap the next undecided row takes the focus, so that one key a row is enough.
document.addEventListener("htmx:afterSettle", () => {
  const next = document.querySelector(".difference:not(.decided)") ?? document.getElementById("settle-item");
  next?.focus();
});
