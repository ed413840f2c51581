"""Entry point of every management command; `manage.py demo` is the place to start."""

import os
import sys


def main() -> None:
    """Run the command named on the command line."""
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
    for number, argument in enumerate(sys.argv[1:], 1):
        shown = os.fsencode(argument).decode("utf-8", "replace")
        if shown != argument:
            # Neither a database nor a message could hold it.
            print(f"argument {number}, {shown!r}: it is not UTF-8. Write it in UTF-8; rename a file.", file=sys.stderr)
            sys.exit(2)
    from django.core.exceptions import ImproperlyConfigured
    from django.core.management import execute_from_command_line
    from django.db import DatabaseError, DataError, IntegrityError

    try:
        execute_from_command_line(sys.argv)
    except KeyboardInterrupt:
        print("Stopped.", file=sys.stderr)
        sys.exit(130)
    except ImproperlyConfigured as error:
        _end(f"Cutline is not set up to run: {error}", 2)
    except DatabaseError as error:
        if isinstance(error, IntegrityError | DataError):
            raise
        _end(
            f"The database could not be used: {str(error).strip()}. If it is new or older than the program, run "
            "manage.py migrate; otherwise see that it runs, and that this user may write to it.",
            1,
        )


def _end(message: str, code: int) -> None:
    """End with a message, since none of these is mended by reading a traceback; --traceback shows it all the same."""
    if "--traceback" in sys.argv:
        raise  # noqa: PLE0704 - called while the error is handled
    print(message, file=sys.stderr)
    sys.exit(code)


if __name__ == "__main__":
    main()
