// Links that stand in one line which scrolls: it begins where the page that is open stands, not at its first link.

/** Scrolls every such line below `root` sideways, and nothing up or down, until its current link is in view. */
export function showHere(root) {
  for (const link of root.querySelectorAll("nav [aria-current]")) {
    const line = link.closest("nav");
    if (line.scrollWidth <= line.clientWidth) continue;
    if (!link.getClientRects().length) {
      // The last of the breadcrumbs is left out on a narrow screen, where the heading under them says the same.
      line.scrollLeft = line.scrollWidth;
      continue;
    }
    const at = link.getBoundingClientRect();
    const frame = line.getBoundingClientRect();
    line.scrollLeft += at.left - frame.left - (frame.width - at.width) / 2;
  }
}
