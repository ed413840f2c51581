"""Acts about several questions lock all of them before the first is recorded, so that nobody waits in a circle."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

import pytest
from django.db import connection, transaction

from annotate.domain.import_formats.questions_toml import QuestionEntry
from annotate.domain.vocabulary import Necessity, NoteKind, Segment
from annotate.permissions import OPERATOR
from annotate.services.discuss import write_note
from annotate.services.import_questions import write_questions
from annotate.services.lock_questions import lock_questions
from annotate.services.pause_task import pause_tasks, resume_tasks
from annotate.services.reassign import reassign
from annotate.services.return_pass import return_passes
from annotate.services.settle_agreed import Reviewed, settle_agreed
from ledger.services.verify import verify
from tests.annotate.passes import Desk, make_desk
from tests.factories import make_member

pytestmark = pytest.mark.django_db(transaction=True)

WORDS = dict.fromkeys(("rule", "qualifier"), (Necessity.NECESSARY, "without it the answer is wrong"))


def settle_both(one: Desk, two: Desk) -> None:
    items = [desk.question.items.get() for desk in (one, two)]
    settle_agreed(
        one.adjudicator, [Reviewed(item, Segment.RULE_AND_EXCEPTION, WORDS) for item in items], "The rule needs it."
    )


def return_both(one: Desk, two: Desk) -> None:
    return_passes(one.lead, [one.first, two.first], "Look again.")


def in_a_thread(call: Callable[[], object]) -> Callable[[], BaseException | None]:
    """Start `call` in a thread of its own; what is returned waits for its end and returns what it raised."""
    raised: list[BaseException] = []

    def run() -> None:
        try:
            call()
        except BaseException as problem:
            raised.append(problem)
        finally:
            connection.close()

    thread = threading.Thread(target=run)
    thread.start()

    def end() -> BaseException | None:
        thread.join(timeout=60)
        assert not thread.is_alive()
        return raised[0] if raised else None

    return end


def until_somebody_waits() -> None:
    """Return once another connection waits for a lock of this one; on SQLite whoever comes waits at its BEGIN."""
    if connection.vendor != "postgresql":
        return
    deadline = time.monotonic() + 60
    with connection.cursor() as cursor:
        while time.monotonic() < deadline:
            cursor.execute("SELECT 1 FROM pg_locks WHERE NOT granted AND pg_backend_pid() = ANY(pg_blocking_pids(pid))")
            if cursor.fetchone():
                return
            time.sleep(0.02)
    raise AssertionError("nobody came to wait for what is locked here")


@pytest.mark.parametrize("act", [settle_both, return_both])
def test_who_holds_one_of_the_questions_can_record_while_the_others_wait(act: Callable[[Desk, Desk], None]) -> None:
    one = make_desk(key="one")
    two = make_desk(key="two", document_id="two", study=one.study)
    for desk in (one, two):
        desk.submit_both(desk.content(), desk.content())
    with transaction.atomic():
        lock_questions([two.question.pk])
        end = in_a_thread(lambda: act(one, two))
        until_somebody_waits()
        write_note(one.adjudicator, two.question, NoteKind.NOTE, "A word beside.")
    assert end() is None
    assert two.question.notes.filter(text="A word beside.").count() == 1
    assert verify().findings == ()


@pytest.mark.parametrize("pause", [True, False])
def test_a_pause_waits_for_whoever_gives_the_tasks_of_several_questions_away(pause: bool) -> None:
    one = make_desk(key="one")
    two = make_desk(key="two", document_id="two", study=one.study)
    third = make_member(one.study)
    if not pause:
        pause_tasks(one.lead, one.study, [two.first], "The source changes.")

    def act() -> None:
        if pause:
            pause_tasks(one.lead, one.study, [two.first], "The source changes.")
        else:
            resume_tasks(one.lead, one.study, [two.first])

    with transaction.atomic():
        lock_questions([one.question.pk, two.question.pk])
        reassign(one.lead, one.first, third)
        end = in_a_thread(act)
        # The other has locked what it can by then, while the ledger's head is held here.
        until_somebody_waits()
        reassign(one.lead, two.first, third)
    assert end() is None
    assert verify().findings == ()


def test_an_import_that_rewrites_questions_waits_for_a_submission_and_sees_it() -> None:
    one = make_desk(key="one")
    two = make_desk(key="two", document_id="two", study=one.study)
    entries = [QuestionEntry(key, "Something else?", one.question.as_of) for key in ("one", "two")]
    with transaction.atomic():
        lock_questions([two.question.pk])
        end = in_a_thread(lambda: write_questions(OPERATOR, one.study, entries))
        until_somebody_waits()
        two.submit_both(two.content(), two.content())
    refused = end()
    assert "(two): a pass on it was submitted" in str(refused)
    assert not one.study.questions.filter(text="Something else?").exists()
    assert verify().findings == ()
