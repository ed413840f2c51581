// Folds: what a wide screen shows at once a narrow one opens on demand, and a link to a place opens the fold it is in.

const narrow = matchMedia("(max-width: 640px)");

function openAround(place) {
  for (let fold = place?.closest("details"); fold; fold = fold.parentElement?.closest("details")) fold.open = true;
}

// What nobody encoded (`#100%`) is no reason to leave the page without the rest of its script.
function decoded(text) {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

function openTarget() {
  const name = decoded(location.hash.slice(1));
  if (name) openAround(document.getElementById(name));
}

/** Closes the folds below `root` that a narrow screen keeps closed; without this module all of them stay open. */
export function bindFolds(root) {
  if (narrow.matches) {
    for (const fold of root.querySelectorAll('details[data-fold="narrow"]')) fold.open = false;
  }
  openTarget();
  addEventListener("hashchange", openTarget);
}
