"""Routes of the evaluation app."""

from django.urls import URLPattern, URLResolver, path, re_path

from evaluation.views import (
    next_experiment,
    plans,
    question,
    release,
    release_record,
    releases,
    result_files,
    results,
    sweeps,
)

urlpatterns: list[URLPattern | URLResolver] = [
    path("studies/<slug:slug>/plans/", plans.plans, name="plans"),
    path("studies/<slug:slug>/releases/", releases.releases, name="releases"),
    path("plans/<int:pk>/", plans.plan, name="plan"),
    path("plans/<int:pk>/plan.toml", plans.plan_toml, name="plan-toml"),
    path("sweeps/<int:pk>/", sweeps.sweep, name="sweep"),
    path("sweeps/<int:pk>/results/", results.results, name="results"),
    path("sweeps/<int:pk>/results.csv", result_files.table_file, name="results-table"),
    path("sweeps/<int:pk>/results/<slug:segment>/", results.segment, name="results-segment"),
    re_path(
        r"^sweeps/(?P<pk>[0-9]{1,18})/results/(?P<segment>[-a-z0-9]+)/support-by-phase\.(?P<kind>svg|csv)$",
        result_files.chart_file,
        name="results-chart",
    ),
    path("sweeps/<int:pk>/questions/<str:question_id>/", question.sweep_question, name="sweep-question"),
    path(
        "sweeps/<int:pk>/questions/<str:question_id>/next/", next_experiment.next_experiment, name="sweep-question-next"
    ),
    path(
        "sweeps/<int:pk>/questions/<str:question_id>/fixture.tar.gz",
        next_experiment.fixture_file,
        name="sweep-question-fixture",
    ),
    path("sweeps/<int:pk>/release/", release.release, name="release"),
    path("sweeps/<int:pk>/release/record/", release_record.release_page, name="release-record"),
    path("sweeps/<int:pk>/release/record.pdf", release_record.release_pdf, name="release-pdf"),
]
