"""Members of a study and who gets which questions; for its lead."""

from __future__ import annotations

from django import forms
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import reverse
from django.views.decorators.http import require_http_methods

from annotate.domain.errors import BadInput
from annotate.domain.vocabulary import Role
from annotate.models import Person, Study
from annotate.models.choices import choices
from annotate.permissions import require
from annotate.selectors.people import annotators, members
from annotate.services.assign_questions import assign_questions
from annotate.services.members import add_member
from annotate.views.respond import crumbs, respond
from annotate.views.study_nav import asker, study_and_actor, study_links


class MemberForm(forms.Form):
    """Somebody with a sign-in, their role, and the labels they hold."""

    username = forms.CharField(label="Username", max_length=150)
    role = forms.ChoiceField(label="Role", choices=choices(Role))
    clearance = forms.CharField(label="May read labels", required=False, help_text="Separated by commas.")


class PairForm(forms.Form):
    """Two annotators of the study."""

    first = forms.ModelChoiceField(label="First annotator", queryset=Person.objects.none())
    second = forms.ModelChoiceField(label="Second annotator", queryset=Person.objects.none())

    def __init__(self, *args: object, study: Study, **kwargs: object) -> None:
        super().__init__(*args, **kwargs)  # type: ignore[arg-type]
        for name in ("first", "second"):
            field = self.fields[name]
            assert isinstance(field, forms.ModelChoiceField)
            field.queryset = annotators(study)


@require_http_methods(["GET", "POST"])
@login_required
def people(request: HttpRequest, slug: str) -> HttpResponse:
    """Show members with their load; on POST add a member or assign the open questions to a pair."""
    study, actor = study_and_actor(request, slug, "member.manage")
    member_form, pair_form = MemberForm(), PairForm(study=study)
    refusal: BadInput | None = None
    if request.method == "POST":
        try:
            if request.POST.get("action") == "assign":
                require(actor, "question.assign")
                pair_form = PairForm(request.POST, study=study)
                if pair_form.is_valid():
                    pair = [pair_form.cleaned_data["first"], pair_form.cleaned_data["second"]]
                    made = assign_questions(asker(request), study, pair)
                    messages.success(request, f"{len(made)} assignments made.")
                    return HttpResponseRedirect(request.path)
            else:
                member_form = MemberForm(request.POST)
                if member_form.is_valid():
                    _add(request, study, member_form)
                    return HttpResponseRedirect(request.path)
        except BadInput as caught:
            refusal = caught
    context = {
        "study": study,
        "study_links": study_links(actor, study, "people"),
        "members": members(asker(request), study),
        "member_form": member_form,
        "assign_form": pair_form,
        "refusal": refusal,
        "crumbs": crumbs(("Home", reverse("home")), (study.title, reverse("study", args=[study.slug])), ("People", "")),
    }
    return respond(request, "annotate/people.html", context, status=200 if request.method == "GET" else 422)


def _add(request: HttpRequest, study: Study, form: MemberForm) -> None:
    name = form.cleaned_data["username"]
    person = Person.objects.filter(username=name, is_active=True).first()
    if person is None:
        raise BadInput(
            "user name", f"nobody signs in as “{name}”", "Make the person with `manage.py add_person` first."
        )
    labels = [label.strip() for label in form.cleaned_data["clearance"].split(",") if label.strip()]
    add_member(asker(request), study, person, Role(form.cleaned_data["role"]), labels)
    messages.success(request, f"{person} is now {form.cleaned_data['role']}.")
