"""Text contrast of the design tokens, WCAG 2.2 AA, in both themes."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

TOKENS = (Path(__file__).resolve().parents[2] / "static" / "css" / "tokens.css").read_text()
PAIRS = {
    name: (light, dark)
    for name, light, dark in re.findall(r"--([\w-]+): light-dark\((#[0-9a-f]{6}), (#[0-9a-f]{6})\);", TOKENS)
}
#: What is written on what. Lines and focus rings need 3:1, text 4.5:1.
TEXT = [
    *[(ink, ground) for ink in ("ink", "ink-soft", "accent") for ground in ("paper", "surface", "sunken")],
    ("ink", "accent-soft"),
    ("accent-ink", "accent"),
    *[(tone, ground) for tone in ("accept", "reject", "collect") for ground in (f"{tone}-soft", "surface")],
    *[("ink", f"{tone}-soft") for tone in ("accept", "reject", "collect")],
    *[("surface", f"set-{letter}") for letter in "abcd"],
    *[("ink", f"set-{letter}-soft") for letter in "abcd"],
    ("ink-soft", "restricted"),
]
LINES = [("focus", "paper"), ("arm-baseline", "surface"), ("arm-candidate", "surface")]


def luminance(colour: str) -> float:
    channels = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one: str, other: str) -> float:
    high, low = sorted((luminance(one), luminance(other)), reverse=True)
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("theme", [0, 1], ids=["light", "dark"])
@pytest.mark.parametrize(("front", "ground"), TEXT)
def test_text_contrast_reaches_aa(front: str, ground: str, theme: int) -> None:
    assert contrast(PAIRS[front][theme], PAIRS[ground][theme]) >= 4.5


@pytest.mark.parametrize("theme", [0, 1], ids=["light", "dark"])
@pytest.mark.parametrize(("front", "ground"), LINES)
def test_line_contrast_reaches_three(front: str, ground: str, theme: int) -> None:
    assert contrast(PAIRS[front][theme], PAIRS[ground][theme]) >= 3
