"""What a freeze weighs against other sets and other people: partitions, successors, two at one moment, its page."""

import re
import threading
from dataclasses import astuple, replace

import pytest
from django.core.management import call_command
from django.db import connection
from django.urls import reverse

from annotate.domain.content import PassContent
from annotate.domain.errors import BadInput, BadInputs
from annotate.domain.vocabulary import Role, Segment
from annotate.models import Fixture, FixtureSet, Question
from annotate.permissions import OPERATOR
from annotate.selectors.fixtures import (
    corrections,
)
from annotate.selectors.frozen_partition import frozen_partition
from annotate.services.freeze_fixtures import freeze_fixtures
from annotate.services.reopen_item import reopen_item
from annotate.services.settle_item import settle_item
from ledger.models import Record
from ledger.services.verify import verify
from tests.annotate.passes import make_desk
from tests.annotate.settled import mixed, replace_question, settle
from tests.factories import TEXT, make_member, make_question

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize("rule", ["document", "template"])
def test_a_document_or_template_crosses_the_partition_only_where_nobody_asked_otherwise(rule):
    study = mixed(template=True)
    with pytest.raises(BadInputs) as refused:
        freeze_fixtures(OPERATOR, study, "strict", apart=[rule])
    assert [problem.where.split()[0] for problem in refused.value.problems] == [rule]
    assert not study.fixture_sets.exists()
    alone = freeze_fixtures(OPERATOR, study, "held-only", ["held"], apart=[rule])
    assert Record.objects.get(kind="fixtures.frozen").value["apart"] == [rule]
    # The other side in a set of its own would cross as it does within one.
    with pytest.raises(BadInputs, match=r"development: open-one; held-out: held \(frozen before\)"):
        freeze_fixtures(OPERATOR, study, "development-only", ["open-one"], apart=[rule])
    assert freeze_fixtures(OPERATOR, study, "loose", successor_of=alone).fixtures.count() == 2
    assert verify().findings == ()


@pytest.mark.parametrize(
    ("apart", "told"),
    [
        ((), "every question group. Documents may stand on both sides. Templates may stand on both sides."),
        (("template",), "every question group, every template. Documents may stand on both sides."),
        (("template", "document"), "every question group, every document, every template."),
    ],
)
def test_the_sets_page_and_api_say_by_which_rule_it_is_divided_and_what_stands_on_each_side(client, apart, told):
    held = make_desk(key="held", group="g", slice_tags=["template:limits", "template:"], document_id="first")
    settle(held)
    settle(replace_question(held, "held-too", group="g", partition="held-out"))
    nothing = replace_question(held, "nothing", partition="held-out", cluster_document="first")
    unanswerable = PassContent(replace(nothing.content().contract, answerable=False, answer=""))
    settle(nothing, unanswerable, segment=Segment.UNANSWERABLE_CONTROL)
    other = make_desk(
        f"{TEXT} As printed.", study=held.study, key="open", document_id="second", partition="development"
    )
    settle(other)
    if not apart:
        settle(replace_question(held, "both", partition="development", slice_tags=["template:limits"]))
    frozen = freeze_fixtures(OPERATOR, held.study, "v1", apart=apart)
    made = frozen_partition(frozen)
    counts = {side.partition: astuple(side)[1:] for side in (*made.sides, made.both)}
    assert counts == {
        "development": (2, 0, 2, 1, 2) if not apart else (1, 0, 1, 0, 1),
        "held-out": (3, 1, 1, 1, 1),
        None: (0, 0, 1, 1, 1) if not apart else (0, 0, 0, 0, 0),
    }
    lead = make_member(held.study, Role.LEAD)
    client.force_login(lead)
    page = client.get(reverse("fixture-set", args=[held.study.slug, frozen.pk])).content.decode()
    assert f"Kept on one side by this freeze: {told}" in " ".join(re.sub("<[^>]+>", "", page).split())
    answer = client.get(reverse("api-fixture-set", args=[held.study.slug, frozen.pk])).json()
    assert answer["kept_on_one_side"] == list(made.apart)
    assert [(one["partition"], one["questions"], one["documents"]) for one in answer["partitions"]] == [
        ("development", counts["development"][0], counts["development"][2]),
        ("held-out", 3, 1),
        ("on both sides", 0, counts[None][2]),
    ]


def test_a_set_without_a_record_of_its_freeze_says_so(client):
    study = mixed()
    frozen = freeze_fixtures(OPERATOR, study, "v1")
    unrecorded = FixtureSet(study=study, name="v2", digest=frozen.digest[::-1], canonical=frozen.canonical)
    unrecorded.save()
    assert frozen_partition(unrecorded).apart is None
    client.force_login(make_member(study, Role.LEAD))
    page = client.get(reverse("fixture-set", args=[study.slug, unrecorded.pk])).content.decode()
    assert "The ledger has no record of this freeze" in page


def test_a_group_crosses_no_partition_by_halves_in_two_sets():
    desk = make_desk(key="held", group="g", partition="held-out")
    settle(desk)
    half = replace_question(desk, "open-half", group="g", partition="development")
    settle(half)
    alone = replace_question(desk, "alone", partition="development")
    settle(alone)
    freeze_fixtures(OPERATOR, desk.study, "held", ["held"])
    with pytest.raises(BadInputs, match="group g"):
        freeze_fixtures(OPERATOR, desk.study, "development", ["open-half"])
    assert freeze_fixtures(OPERATOR, desk.study, "alone", ["alone"]).fixtures.count() == 1
    Question.objects.filter(pk=desk.question.pk).update(partition="development")
    corrected = freeze_fixtures(OPERATOR, desk.study, "development", ["open-half"])
    assert corrected.fixtures.get().fixture_id == "open-half"


def test_a_successor_of_a_successor_says_what_changed_since_the_one_it_names():
    study = mixed()
    first = freeze_fixtures(OPERATOR, study, "v1", ["held"])
    second = freeze_fixtures(OPERATOR, study, "v2", successor_of=first)
    Question.objects.filter(study=study, key="open-one").update(mandatory=True)
    third = freeze_fixtures(OPERATOR, study, "v3", successor_of=second)
    assert corrections(OPERATOR, second) == ["fixture open-one: added"]
    assert corrections(OPERATOR, third) == ["fixture open-one: changed in mandatory"]
    # Back to what an earlier set holds: that set is used, never a second one of the same digest.
    with pytest.raises(BadInput, match="frozen as “v1” already"):
        freeze_fixtures(OPERATOR, study, "v4", ["held"], successor_of=third)
    assert [one.successor_of for one in study.fixture_sets.order_by("pk")] == [None, first, second]


def test_the_page_freezes_no_set_of_another_study_and_nothing_where_nothing_is_ticked(client):
    study, foreign = mixed(), make_desk()
    settle(foreign)
    theirs = freeze_fixtures(OPERATOR, foreign.study, "theirs")
    client.force_login(make_member(study, Role.LEAD))
    url = reverse("freeze", args=[study.slug])
    for form, said in (
        ({"question": ["held"], "successor_of": theirs.pk}, "Select a valid choice"),
        ({}, "there is none to freeze"),
        ({"question": [foreign.question.key + "-x"]}, "none with this key"),
    ):
        answer = client.post(url, {"name": "v1", **form})
        assert (answer.status_code, said in answer.content.decode()) == (422, True), form
    assert not study.fixture_sets.exists()


def at_once(*calls):
    """Run every call in a thread of its own, all at one moment; return what each raised (None: nothing)."""
    together, raised = threading.Barrier(len(calls)), {}

    def run(number, call):
        try:
            together.wait(timeout=30)
            call()
            raised[number] = None
        except BadInput as refusal:
            raised[number] = refusal
        finally:
            connection.close()

    threads = [threading.Thread(target=run, args=one) for one in enumerate(calls)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=60)
    return [raised[number] for number in range(len(calls))]


@pytest.mark.django_db(transaction=True)
def test_two_freezes_of_one_name_at_once_make_one_set():
    desk = make_desk()
    settle(desk)
    leads = [make_member(desk.study, Role.LEAD) for _ in range(3)]
    refused = at_once(*[lambda lead=lead: freeze_fixtures(lead, desk.study, "v1") for lead in leads])
    assert sorted(one is None for one in refused) == [False, False, True]
    assert all("there is a set called “v1” already" in str(one) for one in refused if one)
    assert (desk.study.fixture_sets.count(), Fixture.objects.count()) == (1, 1)
    assert verify().findings == ()


@pytest.mark.django_db(transaction=True)
def test_a_freeze_holds_a_question_that_is_settled_at_the_same_moment_whole_or_not_at_all():
    desk = make_desk()
    last = settle(desk)
    reopen_item(desk.adjudicator, last.item, "The exception was overlooked.")
    words = {row.span_name: (row.necessity, "the limit rests on it") for row in last.span_decisions.all()}
    frozen, made = at_once(
        lambda: freeze_fixtures(desk.lead, desk.study, "v1"),
        lambda: settle_item(desk.adjudicator, last.item, last.segment, words),
    )
    assert made is None
    if frozen is None:
        order = list(Record.objects.order_by("seq").values_list("kind", flat=True))[-2:]
        assert order == ["item.settled", "fixtures.frozen"]
    else:
        assert "opened again" in str(frozen)
        assert not desk.study.fixture_sets.exists()
    assert verify().findings == ()


@pytest.mark.django_db(transaction=True)
def test_a_double_click_on_freeze_makes_one_set_and_is_told_so():
    desk = make_desk()
    settle(desk)
    settle(replace_question(desk, "other"))
    assert at_once(*[lambda: freeze_fixtures(desk.lead, desk.study, "v1", apart=["document"])] * 3) == [None] * 3
    made = desk.study.fixture_sets.get()
    assert Record.objects.filter(kind="fixtures.frozen").count() == 1
    again = {"questions": ["other"]}, {"apart": []}, {"apart": ["document"], "successor_of": made}
    for otherwise in again:
        with pytest.raises(BadInput, match="there is a set called “v1” already"):
            freeze_fixtures(desk.lead, desk.study, "v1", **otherwise)
    with pytest.raises(BadInput, match="there is a set called “v1” already"):
        freeze_fixtures(OPERATOR, desk.study, "v1", apart=["document"])
    assert verify().findings == ()


@pytest.mark.django_db(transaction=True)
def test_a_freeze_comes_before_or_after_a_reopening_and_never_in_between():
    desk = make_desk()
    settle(desk)
    item = desk.question.items.get()
    frozen, opened = at_once(
        lambda: freeze_fixtures(desk.lead, desk.study, "v1"),
        lambda: reopen_item(desk.adjudicator, item, "The exception was overlooked."),
    )
    assert opened is None
    order = list(Record.objects.order_by("seq").values_list("kind", flat=True))[-2:]
    if frozen is None:
        assert order == ["fixtures.frozen", "discussion.noted"]
    else:
        assert "opened again" in str(frozen)
        assert not desk.study.fixture_sets.exists()
    with pytest.raises(BadInputs, match="opened again"):
        freeze_fixtures(desk.lead, desk.study, "v2")


def test_an_unknown_rule_is_refused():
    with pytest.raises(BadInput, match="apart"):
        freeze_fixtures(OPERATOR, mixed(), "v1", apart=["author"])


def test_the_page_freezes_the_ticked_questions_as_a_successor_and_says_what_changed(client):
    study = mixed()
    make_question(study, "unmarked")
    lead = make_member(study, Role.LEAD)
    client.force_login(lead)
    url = reverse("freeze", args=[study.slug])
    shown = client.get(url)
    assert [(one["row"].question.key, one["ticked"]) for one in shown.context["rows"]] == [
        ("held", True),
        ("open-one", True),
        ("unmarked", False),
    ]
    assert "it is not adjudicated" in shown.content.decode()
    assert (shown.context["preview"].sums, shown.context["preview"].total) == ((1, 1), 2)
    assert [one["row"].question.key for one in client.get(url, {"q": "OPEN-"}).context["rows"]] == ["open-one"]
    assert client.post(url, {"name": "v1", "question": ["unmarked"]}).status_code == 422
    assert client.post(url, {"name": "v1", "question": ["held"]}).status_code == 302
    first = study.fixture_sets.get()
    answer = client.post(url, {"name": "v2", "question": ["held", "open-one"], "successor_of": first.pk}, follow=True)
    assert "1 thing changed against “v1”" in answer.content.decode()
    assert corrections(OPERATOR, study.fixture_sets.get(name="v2")) == ["fixture open-one: added"]


def test_the_command_looks_before_it_freezes(capsys):
    study = mixed()
    call_command("freeze", study=study.slug, name="v1", look=True, apart=["document"])
    said = capsys.readouterr().out
    assert "1 document clusters, 1 blocks" in said
    assert not study.fixture_sets.exists()
