"""Routes of the evaluation app."""

from django.urls import URLPattern, URLResolver, path, re_path

from evaluation.views import (
    bundle,
    measures,
    next_experiment,
    plans,
    question,
    question_list,
    release,
    release_record,
    releases,
    result_files,
    results,
    segment,
    sweeps,
)

urlpatterns: list[URLPattern | URLResolver] = [
    path("studies/<slug:slug>/plans/", plans.plans, name="plans"),
    path("studies/<slug:slug>/releases/", releases.releases, name="releases"),
    path("plans/<int:pk>/", plans.plan, name="plan"),
    path("plans/<int:pk>/plan.toml", plans.plan_toml, name="plan-toml"),
    path("sweeps/<int:pk>/", sweeps.sweep, name="sweep"),
    path("sweeps/<int:pk>/results/", results.results, name="results"),
    path("sweeps/<int:pk>/results.csv", result_files.differences_file, {"kind": "csv"}, name="results-table"),
    path("sweeps/<int:pk>/results.parquet", result_files.differences_file, {"kind": "parquet"}, name="results-parquet"),
    path("sweeps/<int:pk>/measures/", measures.measures, name="results-measures"),
    path("sweeps/<int:pk>/results/<slug:segment>/", segment.segment, name="results-segment"),
    path("sweeps/<int:pk>/top-k/", results.top_k, name="results-top-k"),
    path("sweeps/<int:pk>/charts/", results.charts, name="results-charts"),
    re_path(
        r"^sweeps/(?P<pk>[0-9]{1,18})/charts/(?P<name>[-a-z]+)\.(?P<kind>svg|csv)$",
        result_files.chart_file,
        name="results-chart",
    ),
    re_path(r"^sweeps/(?P<pk>[0-9]{1,18})/charts/(?P<name>[-a-z]+)/$", result_files.drawing, name="results-drawing"),
    path("sweeps/<int:pk>/questions/", question_list.questions, name="sweep-questions"),
    re_path(
        r"^sweeps/(?P<pk>[0-9]{1,18})/questions\.(?P<kind>csv|parquet)$",
        result_files.questions_file,
        name="sweep-questions-file",
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
    path("sweeps/<int:pk>/bundle.tar.gz", bundle.bundle, name="sweep-bundle"),
    path("sweeps/<int:pk>/release/", release.release, name="release"),
    path("sweeps/<int:pk>/release/record/", release_record.release_page, name="release-record"),
    path("sweeps/<int:pk>/release/record.pdf", release_record.release_pdf, name="release-pdf"),
]
