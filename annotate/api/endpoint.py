"""What every endpoint is: signed-in people only, one permission named per method, never cached."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, ClassVar

from django.http import Http404, HttpResponse
from rest_framework.authentication import SessionAuthentication
from rest_framework.exceptions import MethodNotAllowed
from rest_framework.permissions import BasePermission
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from annotate.api.json_body import JsonWhateverIsAsked, StrictJsonParser
from annotate.api.refusals import answer_refusal
from annotate.models import Person, Study
from annotate.permissions import Actor
from annotate.views.study_nav import study_and_actor


class SessionSignIn(SessionAuthentication):
    """The session of the pages, with its CSRF check; who is not signed in gets 401 and not 403."""

    def authenticate_header(self, request: Request) -> str:
        """Return the scheme that a 401 names."""
        return "Session"


class SignedIn(BasePermission):
    """For what concerns nobody but the person who asks."""

    def has_permission(self, request: Request, view: APIView) -> bool:
        """Whether somebody is signed in; a method the endpoint does not have is 405 for them."""
        return bool(request.user and request.user.is_authenticated)


class StudyAction(SignedIn):
    """The action that the endpoint's `actions` name for the method, asked in the study the address leads to.

    A stranger to the study gets 404, a member without the action 403, a method without an action 405.
    """

    def has_permission(self, request: Request, view: APIView) -> bool:
        """Let the endpoint find its study and actor; raises Http404, NotAllowed or MethodNotAllowed."""
        if not super().has_permission(request, view):
            return False
        if not isinstance(view, StudyEndpoint):
            raise TypeError(f"{type(view).__name__} is no StudyEndpoint")
        method = "GET" if request.method == "HEAD" else str(request.method)
        if method not in view.actions:
            raise MethodNotAllowed(str(request.method))
        view.enter(view.actions[method])
        return True


class Endpoint(APIView):
    """An endpoint; one that names no `permission_classes` is closed to everyone (annotate.permissions.Nobody)."""

    authentication_classes = [SessionSignIn]
    parser_classes = [StrictJsonParser]
    content_negotiation_class = JsonWhateverIsAsked
    metadata_class = None

    @property
    def person(self) -> Person:
        """Return who is signed in; the permission has made sure that somebody is."""
        person = self.request.user
        if not isinstance(person, Person):
            raise TypeError("the endpoint was reached without a sign-in")
        return person

    def get_exception_handler(self) -> Callable[[Exception, dict[str, Any]], Response | None]:
        """Return what answers refusals."""
        return answer_refusal

    def finalize_response(self, request: Request, response: Any, *args: Any, **kwargs: Any) -> Any:
        """Forbid storing: every answer depends on who asks, and some on what a colleague did a second ago."""
        answer = super().finalize_response(request, response, *args, **kwargs)
        answer["Cache-Control"] = "no-store"
        return answer


class StudyEndpoint(Endpoint):
    """An endpoint inside a study; `actions` names the permission of each method (HEAD goes with GET)."""

    permission_classes = [StudyAction]
    actions: ClassVar[Mapping[str, str]] = {}
    study: Study
    actor: Actor

    @property
    def allowed_methods(self) -> list[str]:
        """Return what the Allow header says."""
        return [*self.actions, *(["HEAD"] if "GET" in self.actions else [])]

    def enter(self, action: str) -> None:
        """Set `study` and `actor` from the address; raises Http404 to strangers, NotAllowed without the action."""
        self.study, self.actor = study_and_actor(self.request._request, str(self.kwargs["slug"]), action)


def attachment(content: bytes, name: str) -> HttpResponse:
    """Return exact bytes as a download; never the stored media type, since somebody else's bytes must not run."""
    response = HttpResponse(content, content_type="application/octet-stream")
    response["Content-Disposition"] = f'attachment; filename="{name}"'
    return response


class NothingHere(Endpoint):
    """Every other address below /api/: 404 in JSON, whatever the method and whoever asks."""

    permission_classes = [SignedIn]

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:
        """Refuse signed-in people with 404 and everybody else as everywhere."""
        super().initial(request, *args, **kwargs)
        raise Http404("no such address")
