"""Sign-in as every request needs it: the session's row, then the person's row, each by its key.

Both are read anew with every request, so that signing out, changing a password and deactivating a person end a session
at once. What differs from Django's own classes is only that these two lookups are written out: composing them costs
more processor time than answering them, and every request of the site pays for it.
"""

from __future__ import annotations

from typing import Any

from django.contrib.auth.backends import ModelBackend
from django.contrib.sessions.backends.db import SessionStore as DatabaseSessions
from django.db import connection
from django.db.models.expressions import Col
from django.utils import timezone

from annotate.models import Person

_SESSION = "SELECT session_data FROM django_session WHERE session_key = %s AND expire_date > %s"
_FIELDS = Person._meta.concrete_fields
_COLUMNS = [field.get_col(Person._meta.db_table) for field in _FIELDS]
_PERSON = f"SELECT {', '.join(str(field.column) for field in _FIELDS)} FROM annotate_person WHERE id = %s"  # noqa: S608


class SessionStore(DatabaseSessions):
    """Sessions in the database."""

    def load(self) -> dict[str, Any]:
        """Return the data of the session; empty, and the key forgotten, where it has ended."""
        now = connection.ops.adapt_datetimefield_value(timezone.now())
        with connection.cursor() as cursor:
            cursor.execute(_SESSION, [self.session_key, now])
            row = cursor.fetchone()
        if row is None:
            self._session_key = None
            return {}
        return self.decode(row[0])


class SignIn(ModelBackend):
    """People by name and password; who is deactivated is nobody."""

    def get_user(self, user_id: Any) -> Person | None:
        """Return the person of a session, None where there is none or they were deactivated."""
        with connection.cursor() as cursor:
            cursor.execute(_PERSON, [user_id])
            row = cursor.fetchone()
        if row is None:
            return None
        values = [_as_python(column, value) for column, value in zip(_COLUMNS, row, strict=True)]
        person = Person.from_db(connection.alias, [field.attname for field in _FIELDS], values)
        return person if self.user_can_authenticate(person) else None


def _as_python(column: Col, value: Any) -> Any:
    """Make Django's value of the database's, as Django's own compiler does."""
    for convert in (*connection.ops.get_db_converters(column), *column.get_db_converters(connection)):
        value = convert(value, column, connection)
    return value
