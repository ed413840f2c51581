// What every page has: theme, keyboard sheet, list keys, and a guard against a second click on the same submit.
import { bindFolds } from "./folds.js";
import { showHere } from "./here.js";
import { bindLists } from "./lists.js";
import { keep, kept } from "./store.js";
import { isTyping } from "./typing.js";
import { watchRequests } from "./unanswered.js";
import { forgetOthers } from "./workspace/saver.js";

const root = document.documentElement;

function applyStoredTheme() {
  const stored = kept("cutline-theme");
  if (stored === "light" || stored === "dark") root.dataset.theme = stored;
}

function toggleTheme() {
  const dark = root.dataset.theme
    ? root.dataset.theme === "dark"
    : matchMedia("(prefers-color-scheme: dark)").matches;
  root.dataset.theme = dark ? "light" : "dark";
  keep("cutline-theme", root.dataset.theme);
}

applyStoredTheme();

document.addEventListener("click", (event) => {
  const control = event.target instanceof Element ? event.target.closest("[data-theme-toggle], [data-dialog], [data-print]") : null;
  if (!control) return;
  if (control.matches("[data-theme-toggle]")) toggleTheme();
  if (control.matches("[data-print]")) window.print();
  if (control.matches("[data-dialog]")) document.getElementById(control.dataset.dialog)?.showModal();
});

document.addEventListener("keydown", (event) => {
  if (event.key !== "?" || isTyping(event.target) || event.ctrlKey || event.metaKey || event.altKey) return;
  document.getElementById("keys")?.showModal();
  event.preventDefault();
});

// Cosmetics only: the server's idempotency key is what keeps a double click from acting twice.
document.addEventListener("submit", (event) => {
  const form = event.target;
  if (!(form instanceof HTMLFormElement) || form.method === "dialog") return;
  // Whoever leaves this browser takes other people's unsent work out of it; their own stays until it is sent.
  if (form.hasAttribute("data-sign-out")) forgetOthers(document.body.dataset.person);
  if (form.dataset.sent === "true") {
    event.preventDefault();
    return;
  }
  if (!form.hasAttribute("data-repeatable")) {
    form.dataset.sent = "true";
    setTimeout(() => delete form.dataset.sent, 4000);
  }
});
window.addEventListener("pageshow", () => {
  for (const form of document.querySelectorAll("form[data-sent]")) delete form.dataset.sent;
});

// Paper shows everything: what is folded on the screen is opened for the printer and folded again after it.
window.addEventListener("beforeprint", () => {
  for (const fold of document.querySelectorAll("main details:not([open])")) {
    fold.dataset.folded = "";
    fold.open = true;
  }
});
window.addEventListener("afterprint", () => {
  for (const fold of document.querySelectorAll("details[data-folded]")) {
    delete fold.dataset.folded;
    fold.open = false;
  }
});

bindFolds(document);
bindLists(document);
showHere(document);
watchRequests();
