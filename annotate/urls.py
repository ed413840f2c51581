"""Routes of the annotate app."""

from django.contrib.auth.views import LoginView, LogoutView
from django.urls import URLPattern, URLResolver, include, path

from annotate.views import (
    adjudication,
    agreed_items,
    agreement,
    assignments,
    fixtures,
    freeze,
    guidelines,
    home,
    item_source,
    own_decisions,
    people,
    questions,
    sources,
    studies,
)

urlpatterns: list[URLPattern | URLResolver] = [
    path("", home.home, name="home"),
    path(
        "sign-in/",
        LoginView.as_view(template_name="registration/sign_in.html", redirect_authenticated_user=True),
        name="sign-in",
    ),
    path("sign-out/", LogoutView.as_view(), name="sign-out"),
    path("tasks/<int:pk>/decisions/", own_decisions.decisions, name="own-decisions"),
    path("tasks/", include("annotate.urls_workspace")),
    path("studies/<slug:slug>/", studies.study, name="study"),
    path("studies/<slug:slug>/sources/", sources.sources, name="sources"),
    path("studies/<slug:slug>/sources/<int:pk>/", sources.source, name="source"),
    path("studies/<slug:slug>/sources/<int:pk>/bytes/", sources.download, name="source-download"),
    path("studies/<slug:slug>/questions/", questions.questions, name="questions"),
    path("studies/<slug:slug>/guideline/", guidelines.guidelines, name="guidelines"),
    path("studies/<slug:slug>/people/", people.people, name="people"),
    path("studies/<slug:slug>/assignments/", assignments.assignments, name="assignments"),
    path("studies/<slug:slug>/adjudication/", adjudication.adjudication, name="adjudication"),
    path("studies/<slug:slug>/adjudication/agreed/", agreed_items.agreed, name="agreed-items"),
    path("studies/<slug:slug>/agreement/", agreement.agreement, name="agreement"),
    path("studies/<slug:slug>/agreement/items.csv", agreement.agreement_items_csv, name="agreement-items"),
    path("studies/<slug:slug>/fixtures/", fixtures.fixtures, name="fixtures"),
    path("studies/<slug:slug>/fixtures/freeze/", freeze.freeze, name="freeze"),
    path("studies/<slug:slug>/fixtures/<int:pk>/", fixtures.fixture_set, name="fixture-set"),
    path("studies/<slug:slug>/fixtures/<int:pk>/manifest/", fixtures.manifest, name="fixture-set-manifest"),
    path("studies/<slug:slug>/fixtures/<int:pk>/archive/", fixtures.fixture_set_archive, name="fixture-set-archive"),
    path("adjudication/<int:pk>/", adjudication.adjudicate, name="adjudicate"),
    path("adjudication/<int:pk>/blocks/", item_source.item_blocks, name="adjudicate-blocks"),
]
