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
    from django.core.management import execute_from_command_line

    try:
        execute_from_command_line(sys.argv)
    except KeyboardInterrupt:
        print("Stopped.", file=sys.stderr)
        sys.exit(130)


if __name__ == "__main__":
    main()
