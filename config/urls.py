"""The URL map: each app owns its own part."""

from django.urls import include, path

urlpatterns = [
    path("", include("annotate.urls")),
    path("", include("evaluation.urls")),
]
