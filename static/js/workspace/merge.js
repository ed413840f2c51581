// When the pass was saved elsewhere: both texts side by side, and mine put on top of theirs if the person wants that.
import { Content } from "./content.js";

/** The server's content payload as a Content. */
export function contentOf(payload) {
  const forbidden = new Set(payload.forbidden);
  const spans = payload.spans.map((span) => ({ ...span, forbidden: forbidden.has(span.name) }));
  return new Content({ spans, sets: payload.sets, contract: payload.contract });
}

/** What a content says, in a few lines that a person can compare. */
export function summary(content) {
  const spans = content.ordered();
  const named = spans.slice(0, 12).map((span) => `${span.name} ${span.start}–${span.end}`).join(", ");
  return [
    content.contract.answer || "no answer yet",
    `${spans.length} spans, ${content.sets.length} sets${named ? `: ${named}${spans.length > 12 ? ", …" : ""}` : ""}`,
  ];
}

/** Apply my edits to theirs; returns those that fit (renamed where a name was taken) and words for those that do not. */
export function rebased(theirs, edits) {
  const kept = [];
  const lost = [];
  for (const edit of edits) {
    const mine = structuredClone(edit);
    if (mine.op === "add-span") {
      const there = theirs.at(mine.span.version, mine.span.start, mine.span.end);
      if (there) {
        lost.push(`“${there.name}” marks the same bytes already`);
        continue;
      }
      mine.span.name = theirs.spans.has(mine.span.name) ? theirs.freeName(mine.span.label) : mine.span.name;
      mine.sets = (mine.sets ?? []).map((position) => Math.min(position, theirs.sets.length));
    }
    try {
      theirs.apply(mine);
      kept.push(mine);
    } catch (error) {
      lost.push(error.message);
    }
  }
  return { kept, lost };
}

/** What edits write into the contract, as lines: nobody should have to write it again. */
export function wordsOf(edits) {
  const texts = edits.flatMap((edit) => Object.values(edit.fields ?? {}));
  return texts.filter((text) => typeof text === "string" && text).map((text) => `You wrote: ${text}`);
}
