"""Words of the closed lists as a person reads them."""

from __future__ import annotations

from django import template

register = template.Library()


@register.filter
def in_words(value: object) -> str:
    """Return a value of annotate/domain/vocabulary.py with blanks for its hyphens: `span-boundary`, span boundary."""
    return str(value).replace("-", " ")
