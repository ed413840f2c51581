"""A study in every state its pages can show: what a walk over all of them, or a designer, looks at."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

from django.urls import reverse

from annotate.domain.content import AnswerContract, MarkedSpan, PassContent
from annotate.domain.vocabulary import (
    Choice,
    DependencyType,
    Necessity,
    Partition,
    ReasonCode,
    Role,
    Sample,
    Segment,
    SpanLabel,
)
from annotate.models import (
    AdjudicatedResult,
    AdjudicationItem,
    Assignment,
    FixtureSet,
    Question,
    SourceVersion,
    Study,
)
from annotate.selectors.adjudication import settled_content
from annotate.services.decide import confirm_agreed, decide
from annotate.services.discuss import add_note, reply
from annotate.services.freeze_fixtures import freeze_fixtures
from annotate.services.open_held_out import open_held_out
from annotate.services.pause_task import pause_tasks
from annotate.services.publish_guideline import publish_guideline
from annotate.services.reopen_item import reopen_item
from annotate.services.return_pass import return_pass
from annotate.services.save_pass import save_pass
from annotate.services.settle_item import settle_item
from tests.annotate.passes import Desk
from tests.factories import make_member, make_question, make_source, make_source_version, make_study

HOUSE = (
    "# House rules 🛠️\r\n\r\n"
    "A tool is lent for fourteen days. The fourteen days are counted from the day after collection.\r\n"
    "Tools marked with a red dot 🔴 are lent for three days, because others wait for them.\r\n\r\n"
    "## What the desk needs\r\n\r\n"
    "Bring the card that was given to you when you joined; a photograph of the card is not enough.\r\n"
    "The form wants plain text: <script>alert('loans')</script> and </pre> stop the printer.\r\n\r\n"
    "## Deposits\r\n\r\n"
    "A deposit is taken for power tools. It is twenty euros for tools worth less than two hundred euros.\r\n"
)
ARABIC = (
    "تُعار الأداة لمدة أربعة عشر يومًا. تُحتسب الأيام من اليوم التالي للاستلام (14 days).\n\n"
    "الأدوات الحمراء لثلاثة أيام فقط.\n"
)
LOG = (
    "2026-10-21T09:14:02Z desk=3 "
    + " ".join(f"loan[{n}]=tool-{n * 7919 % 1000:03d}:{'returned' if n % 3 else 'late'}" for n in range(400))
    + "\nno-blank:"
    + "0123456789abcdef" * 200
    + "\nEnd of the log.\n"
)


@dataclass
class Scene:
    """The study, its people, and the items by what is to be seen in them."""

    study: Study = field(default_factory=lambda: make_study(title="The tool library"))
    questions: dict[str, Question] = field(default_factory=dict)
    tasks: dict[str, Assignment] = field(default_factory=dict)
    items: dict[str, AdjudicationItem] = field(default_factory=dict)
    sets: list[FixtureSet] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.lead = make_member(self.study, Role.LEAD)
        self.one, self.two = make_member(self.study), make_member(self.study)
        self.adjudicator = make_member(self.study, Role.ADJUDICATOR)
        self.observer = make_member(self.study, Role.OBSERVER)
        self.newcomer = make_member(self.study)
        self.old = make_source_version(
            self.study,
            "A tool is lent for ten days.\n",
            source=make_source(self.study, "house-rules", title="House rules of the tool library"),
            version_label="2025",
        )
        self.house = make_source_version(
            self.study, HOUSE, source=self.old.source, version_label="2026", supersedes=self.old, locale="en"
        )
        self.arabic = make_source_version(
            self.study, ARABIC, source=make_source(self.study, "house-rules-ar", title="قواعد"), locale="ar"
        )
        self.log = make_source_version(
            self.study, LOG, source=make_source(self.study, "desk-log", title="Log of the lending desk, autumn")
        )
        publish_guideline(self.lead, self.study, "Mark the whole rule, and whatever limits it.\n")
        self._work()
        publish_guideline(
            self.lead,
            self.study,
            "Mark the whole rule, and whatever limits it.\n\nAn example after “for example” is no evidence.\n",
            [SpanLabel.RULE, SpanLabel.EXCEPTION, SpanLabel.QUALIFIER, SpanLabel.SCOPE],
            "Says what an example is, and offers four labels.",
        )
        self._freeze()

    def address(self, name: str, *args: Any) -> str:
        """Return the address of a page of the study."""
        return reverse(name, args=[self.study.slug, *args])

    def workspace(self, name: str, version: SourceVersion | None = None) -> str:
        """Return the address of a task's workspace, at a version."""
        return reverse("workspace", args=[self.tasks[name].pk]) + (f"?version={version.pk}" if version else "")

    def decisions(self, name: str) -> str:
        """Return the address of what was decided about a pass."""
        return reverse("own-decisions", args=[self.tasks[name].pk])

    def item(self, name: str) -> str:
        """Return the address of an item's A/B page."""
        return reverse("adjudicate", args=[self.items[name].pk])

    def span(self, name: str, quote: str, label: SpanLabel = SpanLabel.EVIDENCE) -> MarkedSpan:
        """Return a span over the first place of `quote` in the house rules."""
        start = HOUSE.encode().index(quote.encode())
        return MarkedSpan(self.house.sha256, start, start + len(quote.encode()), name, label)

    def content(self, **changes: Any) -> PassContent:
        """Return a complete pass; keywords change its contract."""
        contract = AnswerContract(
            answerable=True,
            answer="Fourteen days; three days with a red dot.",
            dependency=DependencyType.EXCEPTION,
            missing_text="Say fourteen days for unmarked tools only.",
        )
        spans = (
            self.span("rule", "A tool is lent for fourteen days.", SpanLabel.RULE),
            self.span("exception", "Tools marked with a red dot 🔴 are lent for three days", SpanLabel.EXCEPTION),
        )
        return PassContent(replace(contract, **changes), spans, (("rule", "exception"),))

    def disputed(self) -> PassContent:
        """Return a pass that differs from `content` in a boundary, the scope, a set and what must not be used."""
        longer = self.span(
            "exception",
            "Tools marked with a red dot 🔴 are lent for three days, because others wait for them.",
            SpanLabel.EXCEPTION,
        )
        counted = self.span("counted", "The fourteen days are counted from the day after collection.", SpanLabel.SCOPE)
        deposit = self.span("deposit", "A deposit is taken for power tools.")
        base = self.content(scope="members of the library", answer="Fourteen days, or three.")
        return replace(
            base,
            spans=(base.spans[0], longer, counted, deposit),
            sets=(("rule", "exception"), ("rule", "exception", "counted")),
            forbidden=("deposit",),
        )

    def _asked(self, name: str, text: str, **more: Any) -> Desk:
        question = make_question(self.study, name, text, **more)
        desk = Desk(self.study, self.house, question, self.one, self.two, self.adjudicator, self.lead)
        self.questions[name], self.tasks[name] = question, desk.first
        return desk

    def _both(self, name: str, text: str, one: PassContent, two: PassContent, **more: Any) -> Desk:
        desk = self._asked(name, text, **more)
        desk.submit_both(one, two)
        self.items[name] = AdjudicationItem.objects.get(question=desk.question)
        return desk

    def _work(self) -> None:
        self._asked("fresh", "What is the deposit for a pillar drill?")
        desk = self._asked("begun", "For how long is a tool lent, and from which day are the days of the loan counted?")
        save_pass(self.one, desk.first, 0, self._crowded())
        desk = self._asked("paused", "Which tools may not leave the house?")
        save_pass(self.one, desk.first, 0, self.content())
        pause_tasks(self.lead, self.study, [desk.first], "The rules change on Monday; wait for the new version.")
        desk = self._asked("outdated", "For how many days is a tool lent?")
        was = self.old.sha256
        first, days = MarkedSpan(was, 0, 28, "rule", SpanLabel.RULE), MarkedSpan(was, 0, 6, "who", SpanLabel.SCOPE)
        save_pass(self.one, desk.first, 0, replace(self.content(), spans=(first, days), sets=(("rule", "who"),)))
        desk = self._asked("returned", "Is a photograph of the card enough?")
        desk.submit(desk.first, self.content())
        return_pass(self.lead, desk.first, "The second sentence limits the first one; please look again.")
        desk = self._asked("sent", "May somebody else collect a tool for me?")
        desk.submit(desk.first, self.content())
        self._both("disputed", "For how long is a tool with a red dot lent?", self.content(), self.disputed())
        for name in ("agreed-1", "agreed-2"):
            self._both(name, f"For how long is a tool lent ({name})?", self.content(), self.content())
        self._talked()
        self._settled("settled", group="loans", slice_tags=["template:how-long"])
        self._settled("settled-too", partition=Partition.HELD_OUT, sample=Sample.ENRICHED)
        item = self.items["settled"]
        reopen_item(self.adjudicator, item, "The answer leaves out the first day.")
        row = item.disagreements.first()
        assert row is not None
        decide(self.adjudicator, item, row, Choice.EDITED, "members", ReasonCode.OUT_OF_SCOPE, "Both are too wide.")
        self._settle(item)

    def _talked(self) -> None:
        desk = self._both("talked", "Who pays for a broken blade?", self.content(), self.content(scope="members"))
        item = self.items["talked"]
        add_note(self.adjudicator, item, "The scope is the only difference. Does the rule name anybody?")
        return_pass(self.adjudicator, desk.first, "Whom does the rule name? Read the heading again.")
        reply(self.one, desk.first, "Nobody; I left the scope open on purpose.")
        self.tasks["talked"] = desk.first

    def _settled(self, name: str, **more: Any) -> None:
        two = self.content(scope="everybody")
        self._both(name, f"How long may I keep a tool ({name})?", self.content(), two, **more)
        item = self.items[name]
        for row in item.disagreements.all():
            decide(self.adjudicator, item, row, Choice.A, None, ReasonCode.WORDING_ONLY, "Nothing limits it.")
        confirm_agreed(self.adjudicator, item)
        self._settle(item)

    def _settle(self, item: AdjudicationItem) -> AdjudicatedResult:
        names = [span.name for span in settled_content(item).spans]
        reasons = dict.fromkeys(names, (Necessity.NECESSARY, "Without it the answer is wrong for marked tools."))
        return settle_item(self.adjudicator, item, Segment.RULE_AND_EXCEPTION, reasons)

    def _crowded(self) -> PassContent:
        """Return a pass with many spans that overlap, nest and belong to several sets, and one of another source."""
        text = HOUSE.encode()
        first = text.index(b"A tool is lent")
        stairs = [
            MarkedSpan(self.house.sha256, first + 2 * n, first + 40 + 9 * n, f"step-{n}", list(SpanLabel)[n % 8])
            for n in range(8)
        ]
        other = MarkedSpan(self.arabic.sha256, 0, len("تُعار الأداة".encode()), "arabic", SpanLabel.RULE)
        names = [span.name for span in stairs]
        sets = (tuple(names[:3]), tuple(names[2:5]), tuple(names[4:6]), (names[6], "arabic"), tuple(names[1:2]))
        return replace(self.content(), spans=(*stairs, other), sets=sets, forbidden=("step-7",))

    def _freeze(self) -> None:
        first = freeze_fixtures(self.lead, self.study, "first", ["settled-too"])
        second = freeze_fixtures(self.lead, self.study, "second", ["settled", "settled-too"], successor_of=first)
        open_held_out(self.lead, second, "Sweep of the plan “library-overlap”")
        open_held_out(self.lead, second, "Results page of sweep 3")
        self.sets = [first, second]
