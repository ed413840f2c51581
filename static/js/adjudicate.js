// Keys of the A/B page: they press the buttons that are there for the mouse. The focus is where the work goes on: on the
// next undecided row, then on the first reason that is missing, then on the next item; the source goes to the row's bytes.
import { isTyping } from "./typing.js";

const rowOf = (element) => element?.closest?.(".difference") ?? null;
const currentRow = () => rowOf(document.activeElement) ?? document.querySelector(".difference:not(.decided)");
const reasons = () => [...document.querySelectorAll('#settle-form [name^="reason:"], #alternatives-reason')];
// A span without a word, a necessary one without a reason, or two sets that both stand without one.
const missing = () =>
  reasons().find((field) => {
    const said = field.closest("fieldset")?.querySelector("input:checked")?.value;
    return field.id === "alternatives-reason" || said === "necessary" ? !field.value.trim() : !said;
  });
let sent = null;

/** Enter in a span's reason says that it is necessary, with Shift merely topical; a word that was ticked stays. */
function say(field, topical) {
  const option = field.closest("fieldset")?.querySelector(`input[value="${topical ? "topical" : "necessary"}"]`);
  if (option && (topical || (field.value.trim() && !option.closest(".row").querySelector(":checked")))) option.checked = true;
}

/** Press a row's button; rejecting needs its reason in words first. */
function press(row, key) {
  const button = row.querySelector(`[data-key="${key}"]`);
  const why = row.querySelector('[name="reason"]');
  if (key !== "x" || !button || why.value.trim()) return button?.click();
  row.dataset.waiting = key;
  why.placeholder = "Why neither? Then Enter";
  why.focus();
}

function open(row) {
  const details = row.querySelector("[data-edit]");
  if (!details) return;
  details.open = true;
  details.querySelector("input, select, textarea")?.focus();
}

function walk(by) {
  const rows = [...document.querySelectorAll(".difference")];
  const at = rows.indexOf(rowOf(document.activeElement));
  rows.at(by > 0 ? Math.min(at + 1, rows.length - 1) : Math.max(at - 1, 0))?.focus();
}

// Inside a field: Enter does what the field is for, Escape leaves it.
function inField(event) {
  const row = rowOf(event.target);
  if (event.key === "Escape" && row) row.focus();
  else if (event.key !== "Enter" || event.isComposing || event.target.tagName === "TEXTAREA") return false;
  else if (row && event.target.closest("[data-edit]")) row.querySelector("[data-use]").click();
  else if (row && row.dataset.waiting && event.target.name === "reason") press(row, row.dataset.waiting);
  else if (row) row.focus();
  else if (event.target.closest("#settle-form")) (missing() ?? document.getElementById("settle-item")).focus();
  else return false;
  return true;
}

document.addEventListener("keydown", (event) => {
  if (event.altKey || document.querySelector("dialog[open]")) return;
  if (event.ctrlKey || event.metaKey) {
    // A text of several lines needs its plain Enter.
    if (event.key === "Enter") event.target.closest?.("[data-edit]")?.querySelector("[data-use]").click();
    return;
  }
  const row = currentRow();
  if (isTyping(event.target)) {
    // The last reason was given: Enter settles.
    const settle = document.getElementById("settle-item");
    if (event.key === "Enter" && !event.isComposing && reasons().includes(event.target))
      say(event.target, event.shiftKey);
    if (event.key === "Enter" && !event.isComposing && reasons().includes(event.target) && !missing()) settle.click();
    else if (!inField(event)) return;
  } else if (event.key === "c") document.getElementById("confirm")?.click();
  else if (["a", "b", "x"].includes(event.key) && row) press(row, event.key);
  else if (event.key === "e" && row) open(row);
  else if (event.key === "r" && row) row.querySelector('[name="reason_code"]')?.focus();
  else if (event.key === "j" || event.key === "k") walk(event.key === "j" ? 1 : -1);
  else return;
  event.preventDefault();
});

/** Outline the bytes of a row in the source, and bring them into view inside it. */
function show(row) {
  for (const run of document.querySelectorAll(".source .at")) run.classList.remove("at");
  const source = row?.dataset.place && document.querySelector(`.source[data-version="${row.dataset.place}"]`);
  if (!source) return;
  const { placeStart, placeEnd } = row.dataset;
  const runs = [...source.querySelectorAll("[data-start]")];
  const inside = runs.filter((run) => Number(run.dataset.start) < placeEnd && Number(run.dataset.end) > placeStart);
  for (const run of inside) run.classList.add("at");
  const first = inside[0]?.getBoundingClientRect();
  const box = source.getBoundingClientRect();
  if (first && (first.top < box.top || first.bottom > box.bottom)) source.scrollTop += first.top - box.top - box.height / 3;
}

document.addEventListener("focusin", (event) => {
  const row = rowOf(event.target);
  if (row) show(row);
});

document.addEventListener("htmx:beforeRequest", (event) => {
  sent = event.detail.elt?.id ?? null;
});

// A refusal leaves the focus on what was refused; otherwise it goes to what is next.
document.addEventListener("htmx:afterSettle", () => {
  const refused = document.querySelector("#item > [role='alert']") ? document.getElementById(sent) : null;
  const next =
    (rowOf(refused) ?? refused)?.querySelector('[name="reason"], [name^="reason:"]') ??
    document.querySelector(".difference:not(.decided)") ??
    document.getElementById("confirm") ??
    document.getElementById("next-item") ??
    missing() ??
    document.getElementById("settle-item");
  next?.focus();
});
