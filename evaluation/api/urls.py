"""Routes of the evaluation app's API, below /api/."""

from django.urls import URLPattern, URLResolver, path

from evaluation.api import plans, releases, sweeps

urlpatterns: list[URLPattern | URLResolver] = [
    path("studies/<slug:slug>/plans/", plans.Plans.as_view(), name="api-plans"),
    path("studies/<slug:slug>/sweeps/", sweeps.Sweeps.as_view(), name="api-sweeps"),
    path("studies/<slug:slug>/releases/", releases.Releases.as_view(), name="api-releases"),
    path("plans/<int:pk>/", plans.PlanDetail.as_view(), name="api-plan"),
    path("plans/<int:pk>/lock/", plans.PlanLock.as_view(), name="api-plan-lock"),
    path("plans/<int:pk>/estimate/", plans.PlanEstimate.as_view(), name="api-plan-estimate"),
    path("plans/<int:pk>/sweeps/", sweeps.PlanSweeps.as_view(), name="api-plan-sweeps"),
    path("sweeps/<int:pk>/", sweeps.SweepDetail.as_view(), name="api-sweep"),
    path("sweeps/<int:pk>/cancel/", sweeps.SweepCancel.as_view(), name="api-sweep-cancel"),
    path("sweeps/<int:pk>/pause/", sweeps.SweepPause.as_view(), name="api-sweep-pause"),
    path("sweeps/<int:pk>/resume/", sweeps.SweepResume.as_view(), name="api-sweep-resume"),
    path("sweeps/<int:pk>/results/", sweeps.SweepResults.as_view(), name="api-results"),
    path("sweeps/<int:pk>/release/", releases.SweepRelease.as_view(), name="api-release"),
]
