// What this browser keeps between pages. Storage can be full, or forbidden by a policy of the house: then nothing is kept,
// the page works on all the same, and whoever wanted something kept is told that it was not.

function shelf(kind) {
  try {
    return globalThis[kind];
  } catch {
    return null;
  }
}

/** The text kept under `key`, or null. `kind` is localStorage or sessionStorage. */
export const kept = (key, kind = "localStorage") => shelf(kind)?.getItem(key) ?? null;

/** Keep a text; false where it could not be kept (what stood there before stays). */
export function keep(key, text, kind = "localStorage") {
  try {
    shelf(kind).setItem(key, text);
    return true;
  } catch {
    return false;
  }
}

export const drop = (key, kind = "localStorage") => shelf(kind)?.removeItem(key);

/** Every key there is. */
export const keys = (kind = "localStorage") => Object.keys(shelf(kind) ?? {});

/** The object kept under `key` as JSON; null for none, and for what is no object (it was not written here). */
export function keptObject(key) {
  try {
    const value = JSON.parse(kept(key));
    return value && typeof value === "object" ? value : null;
  } catch {
    return null;
  }
}
