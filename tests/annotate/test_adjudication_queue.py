"""The queue by type and severity, and the reviewed batch of items in full agreement."""

from __future__ import annotations

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from annotate.domain.errors import BadInput, BadInputs
from annotate.domain.severity import SEVERITY, Severity, severity_of
from annotate.domain.vocabulary import DisagreementType, Necessity, Role, Segment
from annotate.models import AdjudicatedResult, AdjudicationItem, Decision, Membership
from annotate.permissions import NotAllowed
from annotate.selectors.adjudication import state_of
from annotate.selectors.adjudication_queue import agreed_items, queue_rows
from annotate.services.decide import confirm_agreed
from annotate.services.reopen_item import reopen_item
from annotate.services.return_pass import return_pass
from annotate.services.settle_agreed import Reviewed, settle_agreed
from annotate.services.settle_item import settle_item
from ledger.models import Record
from tests.annotate.passes import Desk, make_desk
from tests.factories import make_member

pytestmark = pytest.mark.django_db

WORDS = dict.fromkeys(("rule", "qualifier"), (Necessity.NECESSARY, "without it the answer is wrong"))


def agreeing(first: Desk | None = None, key: str = "same") -> Desk:
    desk = make_desk(key=key, document_id=key, **({"study": first.study} if first else {}))
    if first:
        desk.adjudicator = first.adjudicator
    desk.submit_both(desk.content(), desk.content())
    return desk


def test_every_type_of_difference_has_a_severity() -> None:
    assert SEVERITY.keys() == set(DisagreementType)
    assert severity_of([]) is Severity.AGREED
    assert severity_of([DisagreementType.SPAN_LABEL, DisagreementType.ANSWER]) is Severity.CRITICAL


def test_queue_shows_the_gravest_first_and_chooses_by_type_and_severity(client: Client) -> None:
    agreed = agreeing()
    minor = make_desk(key="a-minor", document_id="a", study=agreed.study)
    minor.submit_both(minor.content(), minor.content(spans=(minor.span("rule", 0, 36), *minor.content().spans[1:])))
    grave = make_desk(key="z-grave", document_id="z", study=agreed.study)
    grave.submit_both(grave.content(), grave.content(answer="Never."))
    rows = queue_rows(agreed.adjudicator, agreed.study)
    assert [(row.question.key, row.severity) for row in rows] == [
        ("z-grave", Severity.CRITICAL),
        ("a-minor", Severity.MINOR),
        ("same", Severity.AGREED),
    ]
    client.force_login(agreed.adjudicator)
    address = f"/studies/{agreed.study.slug}/adjudication/"
    chosen = client.get(address, {"severity": "critical"}).content.decode()
    assert "z-grave" in chosen
    assert "a-minor" not in chosen
    chosen = client.get(address, {"type": "span-boundary"}).content.decode()
    assert "a-minor" in chosen
    assert "z-grave" not in chosen
    unknown = client.get(address, {"type": "annotator__password", "severity": "'"}).content.decode()
    assert all(key in unknown for key in ("a-minor", "z-grave", "same"))


def test_batch_settles_each_item_with_its_own_decision_and_record(client: Client) -> None:
    one = agreeing()
    two = agreeing(one, "other")
    client.force_login(one.adjudicator)
    address = f"/studies/{one.study.slug}/adjudication/agreed/"
    page = client.get(address).content.decode()
    assert page.count("I have looked this one over") == 2
    items = [desk.question.items.get() for desk in (one, two)]
    post = {"item": [str(item.pk) for item in items], "reason": "The rule does not hold without it."}
    for item in items:
        assert f'name="seen:{item.pk}" value="0-0-0"' in page
        post |= said(item)
    assert client.post(address, post).status_code == 302
    assert AdjudicatedResult.objects.count() == 2
    assert Decision.objects.filter(item__in=items, disagreement=None, reason=post["reason"]).count() == 2
    assert Record.objects.filter(kind="item.settled").count() == 2
    # The second of two clicks says the same, and nothing is stored twice.
    assert client.post(address, post).status_code == 302
    assert (AdjudicatedResult.objects.count(), Decision.objects.count()) == (2, 2)
    # Another who comes later with the same words is told that both are settled, by their keys.
    other = make_member(one.study, Role.ADJUDICATOR)
    client.force_login(other)
    late = client.post(address, post)
    assert late.status_code == 409
    assert all(text in late.content.decode() for text in ("question same", "question other", "it is settled"))
    assert (AdjudicatedResult.objects.count(), Decision.objects.count()) == (2, 2)


def said(item: AdjudicationItem) -> dict[str, object]:
    """Return what the page says of an item that was looked over, as it stands now."""
    words: dict[str, object] = {f"necessity:{item.pk}:{name}": "necessary" for name in ("rule", "qualifier")}
    return words | {f"segment:{item.pk}": "rule-and-exception", f"seen:{item.pk}": state_of(item)}


@pytest.mark.parametrize("between", ["confirmed", "settled", "opened again", "returned", "a newer round"])
def test_a_batch_in_which_an_item_changed_since_the_page_was_drawn_is_refused_and_names_it(
    client: Client, between: str
) -> None:
    one = agreeing()
    two = agreeing(one, "other")
    kept, changed = (desk.question.items.get() for desk in (one, two))
    other = make_member(one.study, Role.ADJUDICATOR)
    if between == "opened again":
        confirm_agreed(other, changed)
        settle_item(other, changed, Segment.RULE_AND_EXCEPTION, WORDS)
    post = {"item": [kept.pk, changed.pk], "reason": "The rule needs it."} | said(kept) | said(changed)
    if between == "opened again":
        reopen_item(other, changed, "The exception was overlooked.")
    elif between in ("returned", "a newer round"):
        return_pass(one.lead, two.first, "Look again.")
        if between == "a newer round":
            two.submit(two.first, two.content(answer="30 days"))
    else:
        confirm_agreed(other, changed)
        if between == "settled":
            settle_item(other, changed, Segment.RULE_AND_EXCEPTION, WORDS)
    stored = (AdjudicatedResult.objects.count(), Decision.objects.count(), Record.objects.count())
    client.force_login(one.adjudicator)
    answer = client.post(f"/studies/{one.study.slug}/adjudication/agreed/", post)
    page = answer.content.decode()
    assert answer.status_code == 409
    alert = page[page.index('role="alert"') :].partition("</div>")[0]
    assert ("question other" in alert, "question same" in alert) == (True, False)
    assert (AdjudicatedResult.objects.count(), Decision.objects.count(), Record.objects.count()) == stored
    # What was said of the other one stays; a changed one is to be looked over again.
    assert page.count(f'name="item" value="{kept.pk}" checked') == 1
    assert f'name="item" value="{changed.pk}" checked' not in page
    again = {"item": [kept.pk], "reason": "The rule needs it."} | said(kept)
    assert client.post(f"/studies/{one.study.slug}/adjudication/agreed/", again).status_code == 302


def test_what_is_ticked_that_is_no_item_of_ones_own_is_refused_alike(client: Client) -> None:
    one = agreeing()
    elsewhere = agreeing().question.items.get()
    own = one.question.items.get()
    Membership.objects.create(study=one.study, person=one.one, role=Role.ADJUDICATOR)
    client.force_login(one.one)
    address, answers = f"/studies/{one.study.slug}/adjudication/agreed/", []
    for pk in (own.pk, elsewhere.pk, 10**9, "x", "9" * 40, "²", ""):
        answer = client.post(address, {"item": [pk], "reason": "x"} | said(own) | said(elsewhere))
        answers.append((answer.status_code, "is no item of this study" in answer.content.decode()))
    assert set(answers) == {(422, True)}
    assert not Decision.objects.exists()


def test_batch_with_one_undecided_span_settles_nothing(client: Client) -> None:
    one = agreeing()
    two = agreeing(one, "other")
    batch = [
        Reviewed(one.question.items.get(), Segment.RULE_AND_EXCEPTION, WORDS),
        Reviewed(two.question.items.get(), Segment.RULE_AND_EXCEPTION, {"rule": WORDS["rule"]}),
    ]
    with pytest.raises(BadInput, match="question other"):
        settle_agreed(one.adjudicator, batch, "looked over")
    assert not AdjudicatedResult.objects.exists()
    assert not Decision.objects.exists()
    client.force_login(one.adjudicator)
    answer = client.post(
        f"/studies/{one.study.slug}/adjudication/agreed/", {"item": str(batch[0].item.pk), "reason": "x"}
    )
    assert answer.status_code == 422
    assert "necessity" in answer.content.decode()


def test_batch_refuses_nothing_differing_items_and_ones_own_question() -> None:
    one = agreeing()
    with pytest.raises(BadInput, match="no item was chosen"):
        settle_agreed(one.adjudicator, [], "x")
    differing = make_desk(key="differs", document_id="d", study=one.study)
    differing.submit_both(differing.content(), differing.content(answer="Never."))
    item = differing.question.items.get()
    with pytest.raises(BadInput, match="its passes differ"):
        settle_agreed(one.adjudicator, [Reviewed(item, Segment.RULE_AND_EXCEPTION, WORDS)], "x")
    with pytest.raises(NotAllowed):
        settle_agreed(one.one, [Reviewed(one.question.items.get(), Segment.RULE_AND_EXCEPTION, WORDS)], "x")
    assert not isinstance(BadInput("a", "b", "c"), BadInputs)
    assert not Decision.objects.exists()


def test_an_item_that_waits_for_a_returned_pass_stands_apart_and_is_nobodys_next(client: Client) -> None:
    one = agreeing()
    grave = make_desk(key="grave", document_id="grave", study=one.study)
    grave.submit_both(grave.content(), grave.content(answer="Never."))
    item, waits = one.question.items.get(), grave.question.items.get()
    return_pass(one.lead, grave.first, "Look again.")
    assert [(row.question.key, row.waits, row.is_ready) for row in queue_rows(one.adjudicator, one.study)] == [
        ("grave", True, False),
        ("same", False, True),
    ]
    client.force_login(one.adjudicator)
    page = client.get(f"/studies/{one.study.slug}/adjudication/").content.decode()
    ready, _, waiting = page.partition("Waiting for a returned pass")
    assert (f"/adjudication/{waits.pk}/" in ready, f"/adjudication/{waits.pk}/" in waiting) == (False, True)
    assert "1 open, 1 waiting, 0 settled." in " ".join(page.split())
    confirm_agreed(one.adjudicator, item)
    settle_item(one.adjudicator, item, Segment.RULE_AND_EXCEPTION, WORDS)
    assert "Next item" not in client.get(f"/adjudication/{item.pk}/").content.decode()
    grave.submit(grave.first, grave.content())
    assert "Next item" in client.get(f"/adjudication/{item.pk}/").content.decode()


def test_queue_asks_as_often_for_three_items_as_for_one() -> None:
    one = agreeing()
    with CaptureQueriesContext(connection) as first:
        queue_rows(one.adjudicator, one.study)
    agreeing(one, "two")
    agreeing(one, "three")
    with CaptureQueriesContext(connection) as second:
        assert len(queue_rows(one.adjudicator, one.study)) == 3
    assert len(second) == len(first)


def test_agreed_items_are_bounded_and_leave_out_returned_ones() -> None:
    one = agreeing()
    two = agreeing(one, "two")
    assert len(agreed_items(one.adjudicator, one.study, 1)) == 1
    two.first.state = "returned"
    two.first.save()
    assert [found.item.question.key for found in agreed_items(one.adjudicator, one.study, 5)] == ["same"]
