"""The printable record of a release: what it must hold, every script shown or told, equal bytes for equal records."""

from __future__ import annotations

import re

import pytest
from django.test import TestCase
from django.urls import reverse

from annotate.domain.vocabulary import Partition, Role
from annotate.permissions import OPERATOR
from evaluation.domain.decision import Disposition
from evaluation.domain.release_record import Facts, Fold, Grid, Numbers, Part, ReleaseRecord, Words
from evaluation.models import Sweep
from evaluation.printing.record_pdf import NOTE, printable, record_pdf
from evaluation.services.decide_release import decide_release
from evaluation.services.problems import NotSealed
from evaluation.services.sign_release import sign_release
from evaluation.views.gate_rows import in_words
from evaluation.views.release_record import record_of
from tests.factories.answers import text_of_pdf
from tests.factories.studies import make_member
from tests.factories.sweeps import PLAN, make_fixture_set, make_plan, make_sealed_sweep, make_sweep

MIXED = "Naïve café, Ωμέγα, Привет, 中文, عربي, हिन्दी, \u200b\x00 e\u0301 📏"
OPENED = PLAN.replace('partition = "development"', 'partition = "all"\nheld_out_openings = 1')


def a_record(text: str = "plain", rows: int = 3) -> ReleaseRecord:
    grid = Grid(("Gate", "Rule"), tuple((f"gate {number}", text) for number in range(rows)))
    blocks = (Facts((("Population", text),)), grid, Words((text,), code=True))
    return ReleaseRecord("Reject: plain", "By a plan.", "2026-11-30T03:00:00+00:00", (Part("Population", blocks),))


def text_of(record: ReleaseRecord) -> str:
    parts = []
    for part in record.parts:
        parts.append(part.heading)
        for block in part.blocks:
            match block:
                case Facts() | Numbers():
                    parts += [" ".join(row) for row in block.rows]
                case Grid():
                    parts += [" ".join(block.columns), *(" ".join(row) for row in block.rows)]
                case Words():
                    parts += block.paragraphs
    return "\n".join(parts)


class TestRecord(TestCase):
    @classmethod
    def setUpTestData(cls) -> None:
        fixture_set = make_fixture_set(partition=Partition.HELD_OUT)
        cls.sweep: Sweep = make_sealed_sweep(make_plan(fixture_set, OPENED))
        cls.lead = make_member(cls.sweep.plan.study, Role.LEAD, username="lead")

    def test_record_holds_what_a_release_record_must(self) -> None:
        computed = decide_release(self.sweep).disposition
        other = Disposition.REJECT if computed is not Disposition.REJECT else Disposition.COLLECT_MORE
        signed = sign_release(
            self.lead, self.sweep, idempotency_key="k", disposition=other, override_reason="We know better."
        )
        text = text_of(record_of(self.lead, self.sweep))
        for wanted in (
            "The rules of a tool library.",
            "None, except for two staff questions.",
            "Representative of the desk; the enriched ones stress conditions.",
            "4 shared labels, 1/4 to 1/1",
            "Capacity 48 48",
            "Complete support may fall by at most 0.1",
            "Permission leaks allowed 0",
            "Resampled unit document cluster",
            "Too little evidence is read as “collect more evidence”",
            "Evidence ceilings 130 tokens",
            "Index expansion allowed 1.5",
            "Override, because We know better.",
            "Signed by lead",
            "1 opening when this was signed.",
            "window-48-0 short-overlap",
            self.sweep.root,
            self.sweep.plan.digest,
            self.sweep.plan.fixture_set.digest,
            signed.digest,
            signed.ledger_head,
            "manage.py sweep short-overlap.toml",
            "manage.py verify_ledger",
        ):
            assert wanted in text, wanted
        for reading in decide_release(self.sweep).readings:
            assert in_words(reading) in text
            assert str(reading.numbers["signature"]) in text if "signature" in reading.numbers else True
            assert all(name in text for name in reading.questions)

    def test_page_and_pdf_are_for_readers_of_the_release_and_the_pdf_is_the_same_twice(self) -> None:
        self.client.force_login(self.lead)
        page = self.client.get(reverse("release-record", args=[self.sweep.pk]))
        assert page.status_code == 200
        shown = page.content.decode()
        for wanted in ("Uncertainty rule", "manage.py sweep short-overlap.toml", "verify_ledger", self.sweep.root):
            assert wanted in shown
        assert "{{" not in shown
        first, second = (self.client.get(reverse("release-pdf", args=[self.sweep.pk])) for _ in range(2))
        assert first.content == second.content
        assert first.content.startswith(b"%PDF-")
        assert first["Content-Type"] == "application/pdf"
        assert "attachment" in first["Content-Disposition"]
        self.client.force_login(make_member(self.sweep.plan.study, Role.ANNOTATOR))
        for name in ("release-record", "release-pdf"):
            assert self.client.get(reverse(name, args=[self.sweep.pk])).status_code == 403

    def test_pdf_says_every_word_of_the_record_to_whoever_searches_or_copies_it(self) -> None:
        record = record_of(self.lead, self.sweep)
        told = "".join(text_of_pdf(record_pdf(record)).split())
        said = [record.title, record.lede, *text_of(record).splitlines()]
        assert len(said) > 100
        # Numbers and columns stand beside each other and are set one cell after another, as their words are here.
        for word in {printable(word) for line in said for word in line.split()}:
            assert word in told, word

    def test_screen_folds_what_is_long_and_leads_to_every_group_once(self) -> None:
        parts = record_of(self.lead, self.sweep).parts
        assert [one.heading for one in parts if one.fold is Fold.NEVER] == ["Disposition", "Digests", "Do it again"]
        assert {one.group for one in parts if one.fold is Fold.ALWAYS} == {"Gate by gate"}
        self.client.force_login(self.lead)
        shown = self.client.get(reverse("release-record", args=[self.sweep.pk])).content.decode()
        assert shown.count(">Gate by gate</a>") == 1
        folded = sum(one.fold is Fold.NARROW for one in parts)
        assert shown.count('data-fold="narrow" open') == folded

    def test_queries_of_the_record_do_not_grow_with_the_questions_behind_it(self) -> None:
        record_of(self.lead, self.sweep)
        with self.assertNumQueries(9):
            record_of(self.lead, self.sweep)


@pytest.mark.django_db
def test_record_of_a_sweep_that_is_not_sealed_is_refused() -> None:
    with pytest.raises(NotSealed):
        record_of(OPERATOR, make_sweep())


def test_equal_records_give_equal_bytes_and_another_record_others() -> None:
    assert record_pdf(a_record(MIXED)) == record_pdf(a_record(MIXED))
    assert record_pdf(a_record(MIXED)) != record_pdf(a_record(MIXED + "."))


def test_named_numbers_of_any_count_stand_side_by_side() -> None:
    for count in (1, 8, 9, 20):
        numbers = Numbers(tuple((f"name {number}", f"−0.{number:06d}") for number in range(count)))
        made = record_pdf(ReleaseRecord("t", "", "2026-11-30T03:00:00+00:00", (Part("Gate", (numbers,)),)))
        assert made.startswith(b"%PDF-")


def test_record_longer_than_a_page_counts_its_pages() -> None:
    assert len(re.findall(rb"/Type /Page\b", record_pdf(a_record("word " * 60, rows=60)))) > 2


@pytest.mark.parametrize("text", ["中文", "عربي", "שלום", "हिन्दी", "\u200b", "\x00", "\ud800", "😀\U000e0001"])
def test_what_the_font_cannot_set_is_shown_by_its_code_points(text: str) -> None:
    shown = printable(f"a{text}b")
    assert shown.startswith("a[U+") or "😀" in shown
    assert shown.endswith("]b")
    for sign in text:
        assert sign not in shown or sign == "😀"


def test_text_the_font_holds_stays_as_it_is() -> None:
    text = "Naïve café, Ωμέγα, Привет — “quoted” −.16 ≥ ✓ e\u0301\nline"
    assert printable(text) == text


def test_pdf_says_so_where_characters_stand_as_code_points_and_only_there() -> None:
    told = text_of_pdf(record_pdf(a_record("中")))
    assert "[U+4E2D]" in told
    assert told.count(NOTE) == 1
    assert NOTE not in text_of_pdf(record_pdf(a_record("[U+4E2D]")))


def test_empty_parts_and_hostile_text_make_a_document() -> None:
    hostile = "</pre><script>alert(1)</script> (\\) %PDF endstream " + "x" * 3000
    assert record_pdf(a_record(hostile)).startswith(b"%PDF-")
    assert record_pdf(ReleaseRecord("t", "", "2026-11-30T03:00:00+00:00", ())).startswith(b"%PDF-")
