// The plan's text: a fault's line number leads to that line of the editor.

document.addEventListener("click", (event) => {
  const link = event.target instanceof Element ? event.target.closest("a[data-line]") : null;
  const editor = document.getElementById("toml");
  if (!link || !(editor instanceof HTMLTextAreaElement)) return;
  event.preventDefault();
  const lines = editor.value.split("\n");
  const at = Math.min(Number(link.dataset.line), lines.length) - 1;
  const start = lines.slice(0, at).reduce((sum, line) => sum + line.length + 1, 0);
  editor.focus();
  editor.setSelectionRange(start, start + lines[at].length);
  editor.scrollTop = Math.max(0, (editor.scrollHeight / lines.length) * (at - 3));
  editor.scrollIntoView({ block: "center" });
});
