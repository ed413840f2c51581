// What has to be said above the work: a conflict with both texts, a refusal, a server that does not answer.
const box = () => document.getElementById("notices");

/** Say something, in the place of what was said under the same `id`; returns the callout. */
export function notice(id, tone, title, lines = [], buttons = []) {
  clear(id);
  const callout = document.createElement("div");
  callout.className = `callout ${tone}`;
  callout.dataset.notice = id;
  callout.setAttribute("role", tone === "reject" || id === "stale" ? "alert" : "status");
  const strong = document.createElement("strong");
  strong.textContent = title;
  callout.append(strong);
  for (const line of lines) {
    if (line instanceof Node) callout.append(line);
    else {
      const paragraph = document.createElement("p");
      paragraph.textContent = line;
      callout.append(paragraph);
    }
  }
  if (buttons.length) {
    const row = document.createElement("div");
    row.className = "row";
    for (const { text, primary, act, href } of buttons) {
      const button = document.createElement(href ? "a" : "button");
      button.textContent = text;
      button.className = `${href ? "button" : ""} ${primary ? "primary" : ""}`.trim();
      if (href) Object.assign(button, { href, target: "_blank", rel: "noopener" });
      else {
        button.type = "button";
        button.addEventListener("click", act);
      }
      row.append(button);
    }
    callout.append(row);
  }
  box().append(callout);
  return callout;
}

/** Take back what was said under `id`. */
export function clear(id) {
  box().querySelector(`[data-notice="${id}"]`)?.remove();
}

/** The problems of a refusal as lines. */
export const problemLines = (problems) => problems.map(({ where, what, mend }) => `${where ? `${where}: ` : ""}${what}. ${mend}`);

/** Two texts beside each other. */
export function twoUp(...sides) {
  const grid = document.createElement("div");
  grid.className = "two-up";
  for (const [title, ...lines] of sides) {
    const side = document.createElement("div");
    const heading = document.createElement("h2");
    heading.textContent = title;
    side.append(heading);
    for (const line of lines) {
      const paragraph = document.createElement("p");
      paragraph.textContent = line;
      side.append(paragraph);
    }
    grid.append(side);
  }
  return grid;
}
