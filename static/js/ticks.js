// Ticks all, none or the ready ones of a form's boxes, and counts what is ticked.
for (const form of document.querySelectorAll("form[data-ticks]")) {
  const boxes = [...form.querySelectorAll('input[type="checkbox"][name="question"]')];
  const count = form.querySelector("[data-ticked]");
  const show = () => {
    if (count) count.textContent = `${boxes.filter((box) => box.checked).length} of ${boxes.length} ticked`;
  };
  for (const tools of form.querySelectorAll("[data-scripted]")) tools.hidden = false;
  form.addEventListener("click", (event) => {
    const how = event.target instanceof HTMLElement ? event.target.dataset.tick : undefined;
    if (!how) return;
    for (const box of boxes) box.checked = how === "all" || (how === "ready" && box.hasAttribute("data-ready"));
    show();
  });
  form.addEventListener("change", show);
  show();
}
