// Keys of the A/B page: they press the buttons that are there for the mouse. The focus is where the work goes on: on the
// next undecided row, then on the first reason that is missing, then on the next item; the source goes to the row's bytes.
import { isTyping } from "./typing.js";
import { Blocks } from "./workspace/blocks.js";

const rowOf = (element) => element?.closest?.(".difference") ?? null;
const currentRow = () => rowOf(document.activeElement) ?? document.querySelector(".difference:not(.decided)");
const reasons = () => [...document.querySelectorAll('#settle-form [name^="reason:"], #alternatives-reason')];
// A span without a word or a reason, or two sets that both stand without one.
const missing = () =>
  reasons().find((field) => !field.value.trim() || (field.closest("fieldset") && !field.closest("fieldset").querySelector("input:checked")));
let sent = null;

/** Enter in a span's reason says that it is necessary, with Shift merely topical; a word that was ticked stays. */
function say(field, topical) {
  const option = field.closest("fieldset")?.querySelector(`input[value="${topical ? "topical" : "necessary"}"]`);
  if (option && field.value.trim() && (topical || !option.closest(".row").querySelector(":checked"))) option.checked = true;
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

// Each source with what loads its blocks, and the bytes that are outlined in one of them.
const readers = new Map();
let shown = null;

function outline(blocks) {
  for (const block of blocks) {
    if (!shown?.source.contains(block)) continue;
    if (Number(block.dataset.blockStart) >= shown.end || Number(block.dataset.blockEnd) <= shown.start) continue;
    for (const run of block.children)
      if (Number(run.dataset.start) < shown.end && Number(run.dataset.end) > shown.start) run.classList.add("at");
  }
}

// Blocks that come in above push the bytes away: they are brought back, unless somebody has begun to read elsewhere.
function drawn(blocks) {
  outline(blocks);
  if (shown && !shown.left) readers.get(shown.source)?.show(shown.start, "nearest");
}

for (const kind of ["wheel", "touchmove", "pointerdown", "keydown"])
  document.addEventListener(kind, (event) => {
    if (shown?.source.contains(event.target)) shown.left = true;
  }, { passive: true });

function readSources() {
  const item = document.getElementById("item");
  for (const [source, reader] of readers) {
    if (source.isConnected) continue;
    reader.stop();
    readers.delete(source);
  }
  for (const source of document.querySelectorAll(".source[data-version]"))
    if (!readers.has(source)) readers.set(source, new Blocks(source, item.dataset.blocks, `item-${item.dataset.item}`, drawn));
}

/** Outline the bytes of a row in the source, and bring them into view inside it, loading them first. */
async function show(row) {
  for (const run of document.querySelectorAll(".source .at")) run.classList.remove("at");
  shown = null;
  const source = row?.dataset.place && document.querySelector(`.source[data-version="${row.dataset.place}"]`);
  if (!source) return;
  const place = { source, start: Number(row.dataset.placeStart), end: Number(row.dataset.placeEnd) };
  shown = place;
  await readers.get(source).show(place.start, "nearest");
  // Of two rows in a hurry, the later one is meant.
  if (shown !== place) return;
  outline(source.querySelectorAll(".block:not(.waiting)"));
  // Beside the rows the source may still reach below the window; above them (on a phone) the row stays where it is.
  const box = source.querySelector(".at")?.getBoundingClientRect();
  if (box && box.bottom > innerHeight && getComputedStyle(source.closest(".reading")).position === "sticky")
    scrollBy(0, box.bottom - innerHeight + 24);
}

document.addEventListener("focusin", (event) => {
  const row = rowOf(event.target);
  if (row) show(row);
});

// So that what has not changed since can stay as it is, with what is typed into it.
document.addEventListener("htmx:configRequest", (event) => {
  const head = document.getElementById("item-head");
  if (head) event.detail.parameters.state = head.dataset.state;
});

document.addEventListener("htmx:beforeRequest", (event) => {
  sent = event.detail.elt?.id ?? null;
});

// A refusal leaves the focus on what was refused; otherwise it goes to what is next.
document.addEventListener("htmx:afterSettle", () => {
  readSources();
  const refused = document.querySelector("#item-head > [role='alert']") ? document.getElementById(sent) : null;
  const next =
    (rowOf(refused) ?? refused)?.querySelector('[name="reason"], [name^="reason:"]') ??
    document.querySelector(".difference:not(.decided)") ??
    document.getElementById("confirm") ??
    document.getElementById("next-item") ??
    missing() ??
    document.getElementById("settle-item");
  next?.focus();
});

readSources();
