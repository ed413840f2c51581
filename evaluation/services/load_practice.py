"""Load the practice study: open work for the demo's people, beside the demo study and apart from its numbers."""

from __future__ import annotations

from django.db import transaction

from annotate.domain.vocabulary import Role
from annotate.models import Study
from annotate.permissions import OPERATOR
from annotate.selectors.passes import open_assignments_of
from annotate.services.members import add_member
from annotate.services.studies import create_study
from evaluation.demo import FOLDER
from evaluation.demo.pass_files import read_pass
from evaluation.services.load_demo import DemoPeople, demo_texts, import_demo, submit_demo_pass

SLUG = "demo-practice"
TITLE = "Practice: the darkroom"
_PRACTICE = FOLDER / "practice"


def load_practice(people: DemoPeople) -> Study:
    """Make the study with its open tasks and items and return it, whole or not at all.

    A study of this name that is there already is returned as it is: people have worked in it, or it is their own.
    Raises BadInput where a file of it does not fit the others.
    """
    there = Study.objects.filter(slug=SLUG).first()
    if there is not None:
        return there
    with transaction.atomic():
        study = create_study(
            OPERATOR,
            SLUG,
            TITLE,
            description="Six questions on one page, to try marking and adjudicating. Nothing is measured with them.",
            guideline=(FOLDER / "guideline.md").read_text(encoding="utf-8"),
        )
        for person in people.annotators:
            add_member(OPERATOR, study, person, Role.ANNOTATOR, ())
        add_member(OPERATOR, study, people.adjudicator, Role.ADJUDICATOR, ())
        add_member(OPERATOR, study, people.lead, Role.LEAD, ())
        add_member(OPERATOR, study, people.observer, Role.OBSERVER, ())
        import_demo(study, people, lambda done, of, what: None, _PRACTICE)
        texts = demo_texts(study)
        for number, annotator in enumerate(people.annotators, 1):
            path = _PRACTICE / "passes" / f"annotator-{number}.json"
            contents = read_pass(path.read_bytes(), path.name, texts)
            for assignment in open_assignments_of(annotator, study):
                # What the file leaves out is what there is to try.
                if assignment.question.key in contents:
                    submit_demo_pass(annotator, assignment, contents[assignment.question.key], texts)
    return study
