"""Routes of the annotate app's API, below /api/."""

from django.urls import URLPattern, URLResolver, path

from annotate.api import (
    agreement,
    fixture_sets,
    freeze,
    item_acts,
    items,
    own_decisions,
    questions,
    sources,
    studies,
    task_edits,
    tasks,
)

_STUDY = "studies/<slug:slug>/"
_ITEM = "items/<int:pk>/"
_SET = f"{_STUDY}fixture-sets/<int:pk>/"

urlpatterns: list[URLPattern | URLResolver] = [
    path("tasks/<int:pk>/edits/", task_edits.TaskEdits.as_view(), name="api-task-edits"),
    path("", studies.Start.as_view(), name="api"),
    path("studies/", studies.Studies.as_view(), name="api-studies"),
    path(_STUDY, studies.StudyDetail.as_view(), name="api-study"),
    path(f"{_STUDY}sources/", sources.Sources.as_view(), name="api-sources"),
    path(f"{_STUDY}versions/", sources.Versions.as_view(), name="api-versions"),
    path(f"{_STUDY}versions/<int:pk>/", sources.VersionDetail.as_view(), name="api-version"),
    path(f"{_STUDY}versions/<int:pk>/bytes/", sources.VersionBytes.as_view(), name="api-version-bytes"),
    path(f"{_STUDY}questions/", questions.Questions.as_view(), name="api-questions"),
    path(f"{_STUDY}questions/<slug:key>/", questions.QuestionDetail.as_view(), name="api-question"),
    path(f"{_STUDY}items/", items.Items.as_view(), name="api-items"),
    path(f"{_STUDY}agreed-items/", items.AgreedItems.as_view(), name="api-agreed-items"),
    path(f"{_STUDY}agreement/", agreement.Agreement.as_view(), name="api-agreement"),
    path(f"{_STUDY}agreement/items/", agreement.AgreementItems.as_view(), name="api-agreement-items"),
    path(f"{_STUDY}freeze/", freeze.Freeze.as_view(), name="api-freeze"),
    path(f"{_STUDY}fixture-sets/", fixture_sets.FixtureSets.as_view(), name="api-fixture-sets"),
    path(_SET, fixture_sets.FixtureSetDetail.as_view(), name="api-fixture-set"),
    path(f"{_SET}canonical/", fixture_sets.FixtureSetCanonical.as_view(), name="api-fixture-set-canonical"),
    path(f"{_SET}archive/", fixture_sets.FixtureSetArchive.as_view(), name="api-fixture-set-archive"),
    path(f"{_SET}fixtures/", fixture_sets.Fixtures.as_view(), name="api-fixtures"),
    path(f"{_SET}fixtures/<slug:fixture_id>/", fixture_sets.FixtureCanonical.as_view(), name="api-fixture"),
    path(_ITEM, items.ItemDetail.as_view(), name="api-item"),
    path(f"{_ITEM}decisions/", item_acts.ItemDecisions.as_view(), name="api-item-decisions"),
    path(f"{_ITEM}confirm/", item_acts.ItemConfirmation.as_view(), name="api-item-confirm"),
    path(f"{_ITEM}results/", item_acts.ItemResults.as_view(), name="api-item-results"),
    path(f"{_ITEM}return/", item_acts.ItemReturn.as_view(), name="api-item-return"),
    path(f"{_ITEM}reopen/", item_acts.ItemReopening.as_view(), name="api-item-reopen"),
    path(f"{_ITEM}notes/", item_acts.ItemNotes.as_view(), name="api-item-notes"),
    path("tasks/", tasks.Tasks.as_view(), name="api-tasks"),
    path("tasks/<int:pk>/", tasks.TaskDetail.as_view(), name="api-task"),
    path("tasks/<int:pk>/content/", tasks.TaskContent.as_view(), name="api-task-content"),
    path("tasks/<int:pk>/time/", task_edits.TaskTime.as_view(), name="api-task-time"),
    path("tasks/<int:pk>/decisions/", own_decisions.TaskDecisions.as_view(), name="api-task-decisions"),
    path("tasks/<int:pk>/notes/", own_decisions.TaskNotes.as_view(), name="api-task-notes"),
    path("keys/", task_edits.MyKeys.as_view(), name="api-keys"),
    path("tasks/<int:pk>/submissions/", tasks.TaskSubmissions.as_view(), name="api-task-submissions"),
]
