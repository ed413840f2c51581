"""Desks whose questions are settled, as a freeze takes them."""

from __future__ import annotations

from annotate.domain.necessity import supersets
from annotate.domain.vocabulary import Necessity, Segment
from annotate.models import Study
from annotate.selectors.adjudication import settled_content
from annotate.services.decide import confirm_agreed, decide
from annotate.services.settle_item import settle_item
from tests.annotate.passes import Desk, make_desk
from tests.factories import make_question


def settle(desk: Desk, one=None, two=None, segment=Segment.RULE_AND_EXCEPTION, topical=()):
    """Submit both passes, take side A throughout, and settle."""
    one = desk.content() if one is None else one
    desk.submit_both(one, one if two is None else two)
    item = desk.question.items.get()
    for row in item.disagreements.all():
        decide(desk.adjudicator, item, row, "a")
    confirm_agreed(desk.adjudicator, item)
    content = settled_content(item)
    names = {name for members in content.sets for name in members}
    words = {
        name: (Necessity.TOPICAL if name in topical else Necessity.NECESSARY, "the rule needs it") for name in names
    }
    why_both = "each answers it alone" if supersets(content) else ""
    return settle_item(desk.adjudicator, item, segment, words, why_both)


def mixed(*, template: bool = False) -> Study:
    """A study with two settled questions over one document, one on each side of the partition."""
    desk = make_desk(key="held", slice_tags=["template:limits"] if template else [])
    settle(desk)
    other = replace_question(desk, "open-one", partition="development", slice_tags=desk.question.slice_tags)
    settle(other)
    return desk.study


def replace_question(desk: Desk, key: str, **fields) -> Desk:
    """Return a desk of the same study, source and people with a question of its own."""
    question = make_question(desk.study, key, **fields)
    return Desk(desk.study, desk.version, question, desk.one, desk.two, desk.adjudicator, desk.lead)
