// Whether a key press belongs to a field the person is writing in: then no shortcut may take it.
export function isTyping(target) {
  return target instanceof HTMLElement && (target.isContentEditable || /^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName));
}
