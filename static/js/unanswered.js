// What a button's request met where no page came back: signed out, no longer allowed, gone, a fault, or no answer at all.
// It is said at the top of the page, which stays as it is with all that was typed.
const SAID = {
  403: "You may no longer do this. Nothing was stored. Ask the study's lead.",
  404: "This is no longer here for you. Nothing was stored. Reload the page.",
};
const SIGNED_OUT = "You are signed out, so nothing was stored. Sign in in another tab, then do it again here.";
const NO_ANSWER = "The server does not answer, so it is not known to be stored. What you typed is still here: try again in a moment.";
const FAULT = "The server met a fault, and nothing was stored. What you typed is still here: try again, or tell whoever runs it.";

function say(text) {
  const main = document.querySelector("main");
  let box = document.getElementById("unanswered");
  if (!box) {
    box = Object.assign(document.createElement("div"), { id: "unanswered", className: "callout reject" });
    box.setAttribute("role", "alert");
    main.prepend(box);
  }
  box.replaceChildren(
    Object.assign(document.createElement("strong"), { textContent: "Not done" }),
    Object.assign(document.createElement("p"), { textContent: text }),
  );
  box.scrollIntoView({ block: "nearest" });
}

const isSignIn = (xhr, path) => {
  if (!xhr.responseURL) return false;
  const there = new URL(xhr.responseURL).pathname;
  return there !== path && there.endsWith("/sign-in/");
};

/** Say what became of requests that htmx makes and that brought no page back. */
export function watchRequests() {
  document.addEventListener("htmx:beforeSwap", (event) => {
    const { xhr, pathInfo } = event.detail;
    if (!isSignIn(xhr, new URL(pathInfo.requestPath, location.href).pathname)) return;
    // The sign-in page would take the place of what was asked for.
    event.detail.shouldSwap = false;
    say(SIGNED_OUT);
  });
  document.addEventListener("htmx:responseError", (event) => say(SAID[event.detail.xhr.status] ?? FAULT));
  for (const kind of ["htmx:sendError", "htmx:timeout"]) document.addEventListener(kind, () => say(NO_ANSWER));
  document.addEventListener("htmx:afterSwap", () => document.getElementById("unanswered")?.remove());
}
