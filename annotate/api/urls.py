"""Routes of the annotate app's API, below /api/."""

from django.urls import URLPattern, URLResolver, path

from annotate.api import fixture_sets, questions, sources, studies, task_edits, tasks

_STUDY = "studies/<slug:slug>/"
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
    path(f"{_STUDY}fixture-sets/", fixture_sets.FixtureSets.as_view(), name="api-fixture-sets"),
    path(_SET, fixture_sets.FixtureSetDetail.as_view(), name="api-fixture-set"),
    path(f"{_SET}canonical/", fixture_sets.FixtureSetCanonical.as_view(), name="api-fixture-set-canonical"),
    path(f"{_SET}fixtures/", fixture_sets.Fixtures.as_view(), name="api-fixtures"),
    path(f"{_SET}fixtures/<slug:fixture_id>/", fixture_sets.FixtureCanonical.as_view(), name="api-fixture"),
    path("tasks/", tasks.Tasks.as_view(), name="api-tasks"),
    path("tasks/<int:pk>/", tasks.TaskDetail.as_view(), name="api-task"),
    path("tasks/<int:pk>/content/", tasks.TaskContent.as_view(), name="api-task-content"),
    path("tasks/<int:pk>/time/", task_edits.TaskTime.as_view(), name="api-task-time"),
    path("keys/", task_edits.MyKeys.as_view(), name="api-keys"),
    path("tasks/<int:pk>/submissions/", tasks.TaskSubmissions.as_view(), name="api-task-submissions"),
]
