"""The workspace's keys: every action with the key it has unless a person chose another.

A key is written as the browser names it (`KeyboardEvent.key`), with `Control+`, `Alt+` or `Meta+` before it where they
are held. Digits are the numbers of sentences and sets and cannot be given away.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from annotate.domain.errors import BadInput, shown

_KEY = re.compile(r"(?:(?:Control|Alt|Meta)\+)*(?:[^\s\d\x00-\x1f\x7f]|[A-Z][A-Za-z]{2,14}|F\d{1,2})")
#: What moves the focus, leaves a dialog or scrolls stays what it is everywhere.
_KEPT = frozenset({"Tab", "Escape", "Enter", "Control+Enter", "Shift", "Control", "Alt", "Meta", "AltGraph"})
#: What a browser says of half a character, of an input method, and of a key it does not know.
_NO_KEY = frozenset({"Dead", "Process", "Unidentified", "CapsLock", "NumLock", "Fn"})


@dataclass(frozen=True)
class Action:
    """One thing a key does: its stable name, its own key, and how the key sheet says it."""

    name: str
    key: str
    text: str


ACTIONS: tuple[Action, ...] = (
    Action("mark", "m", "Mark the selected text"),
    Action("letters", "e", "Letters at the sentences in view: a letter marks its sentence"),
    Action("caret", "c", "Caret mode: arrows move by character, Ctrl by word, Shift extends"),
    Action("start-back", "[", "Start of the span one character earlier"),
    Action("start-on", "{", "Start of the span one character later"),
    Action("end-on", "]", "End of the span one character later"),
    Action("end-back", "}", "End of the span one character earlier"),
    Action("next-span", "j", "Next span"),
    Action("previous-span", "k", "Previous span"),
    Action("delete", "Delete", "Take the span back"),
    Action("new-set", "n", "New support set"),
    Action("label", "l", "Next label for the span"),
    Action("forbid", "f", "The span must not be used (superseded or forbidden)"),
    Action("undo", "Control+z", "Undo"),
    Action("redo", "Control+y", "Redo"),
    Action("find", "/", "Find in the source"),
    Action("sources", "s", "Search the study's sources"),
    Action("next-source", ".", "Next source"),
    Action("previous-source", ",", "Previous source"),
    Action("answerable", "y", "The sources answer this"),
    Action("not-answerable", "x", "The sources do not answer this"),
    Action("answer", "a", "Write the answer"),
    Action("guideline", "g", "Guideline"),
    Action("numbers", "#", "Show or hide sentence numbers"),
)
_BY_NAME = {action.name: action for action in ACTIONS}


def keys_of(chosen: Mapping[str, str]) -> dict[str, str]:
    """Return action → key for a person who chose some; what is no longer an action is left out.

    What somebody chose stays theirs: an action that came later and has that key of its own has none for them ("").
    """
    known = {name: key for name, key in chosen.items() if name in _BY_NAME}
    taken = set(known.values())
    return {action.name: known.get(action.name, "" if action.key in taken else action.key) for action in ACTIONS}


def check_keys(value: object) -> dict[str, str]:
    """Return the choices of `value` (action → key) that differ from the workspace's own keys.

    An empty key is what `keys_of` gives an action whose own key is taken, and is no choice. Raises BadInput for an
    unknown action, a key that cannot be given away, and one key for two actions.
    """
    if not isinstance(value, Mapping):
        raise BadInput("keys", "it is no object", "Send action → key.")
    chosen: dict[str, str] = {}
    for name, key in value.items():
        if name not in _BY_NAME:
            raise BadInput("keys", f"{shown(name)} is no action", f"Use one of {', '.join(_BY_NAME)}.")
        if key == "":
            continue
        if not isinstance(key, str) or not _KEY.fullmatch(key) or key in _KEPT | _NO_KEY | {"?"}:
            raise BadInput(f"keys.{name}", f"{shown(key)} cannot be a key for it", "Choose a letter or a sign.")
        chosen[name] = key
    taken: dict[str, str] = {}
    for name, key in ({action.name: action.key for action in ACTIONS} | chosen).items():
        if value.get(name) == "":
            continue
        if key in taken:
            raise BadInput(f"keys.{name}", f"“{key}” is the key of {taken[key]} already", "Choose another.")
        taken[key] = name
    return {name: key for name, key in chosen.items() if key != _BY_NAME[name].key}
