// j / k walk the links of a list marked data-list; Enter on the home page opens the element marked data-next.
import { isTyping } from "./typing.js";

export function bindLists(scope) {
  scope.addEventListener("keydown", (event) => {
    if (isTyping(event.target) || event.ctrlKey || event.metaKey || event.altKey || scope.querySelector("dialog[open]")) return;
    const links = [...scope.querySelectorAll("[data-list] a, [data-list] [data-row]")];
    const at = links.indexOf(document.activeElement);
    if (event.key === "j" && links.length) links[Math.min(at + 1, links.length - 1)].focus();
    else if (event.key === "k" && links.length) links[Math.max(at - 1, 0)].focus();
    else if (event.key === "Enter" && (document.activeElement === document.body || document.activeElement?.id === "main")) {
      const next = scope.querySelector("[data-next]");
      if (!next) return;
      next.click();
    } else return;
    event.preventDefault();
  });
}
