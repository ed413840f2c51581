"""The URL map: each app owns its own part."""

from django.urls import include, path

from annotate.api.endpoint import NothingHere

urlpatterns = [
    path("", include("annotate.urls")),
    path("", include("evaluation.urls")),
    path("api/", include("annotate.api.urls")),
    path("api/", include("evaluation.api.urls")),
    path("api/<path:rest>", NothingHere.as_view(), name="api-nothing-here"),
]
