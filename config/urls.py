"""The URL map: each app owns its own part."""

from django.urls import include, path

from annotate.api.endpoint import NothingHere

# The API first: every save asks it, and an address is compared with one route after the other.
urlpatterns = [
    path("api/", include("annotate.api.urls")),
    path("api/", include("evaluation.api.urls")),
    path("api/<path:rest>", NothingHere.as_view(), name="api-nothing-here"),
    path("", include("annotate.urls")),
    path("", include("evaluation.urls")),
]
