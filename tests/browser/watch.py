"""What a page complained about: console errors, uncaught errors and policy violations, less what a test expects."""

from __future__ import annotations

import re
from collections import Counter

from playwright.sync_api import BrowserContext, ConsoleMessage, Page

# Chromium writes this line for every answer of 400 and above; it is the only console error a test may expect.
_STATUS_LINE = re.compile(r"^Failed to load resource: the server responded with a status of (\d{3})\b")
_REPORT_VIOLATIONS = """
document.addEventListener("securitypolicyviolation", (event) => window.cutlineViolation(
  `${event.violatedDirective} blocked ${event.blockedURI || "inline"} at ${event.sourceFile || event.documentURI}`
  + `:${event.lineNumber} ${event.sample}`));
"""


class Watch:
    """Collects the complaints of every page of one test."""

    def __init__(self) -> None:
        """Start with no complaint and nothing expected."""
        self.problems: list[str] = []
        self._statuses: Counter[int] = Counter()
        self._expected: set[int] = set()

    def expect_status(self, *statuses: int) -> None:
        """Allow, and require, at least one answer of each of these statuses (for example 404, 409, 422)."""
        self._expected.update(statuses)

    def attach(self, context: BrowserContext) -> None:
        """Listen to every page that `context` has or will open."""
        context.expose_binding("cutlineViolation", lambda _source, what: self.problems.append(f"CSP: {what}"))
        context.add_init_script(_REPORT_VIOLATIONS)
        context.on("console", self._on_console)
        context.on("weberror", lambda error: self.problems.append(f"uncaught error: {error.error}"))
        context.on("page", lambda page: page.on("crash", self._on_crash))

    def complaints(self) -> list[str]:
        """Return what nobody expected, and what was expected and did not happen."""
        unexpected = [
            f"answered {status} ({n}×)" for status, n in self._statuses.items() if status not in self._expected
        ]
        missing = [f"expected an answer of {status}: none" for status in self._expected - set(self._statuses)]
        return self.problems + unexpected + missing

    def allow_console(self, starting: str) -> None:
        """Take what was written to the console so far, beginning thus, out of the complaints."""
        self.problems[:] = [one for one in self.problems if not one.startswith(f"console: {starting}")]

    def _on_console(self, message: ConsoleMessage) -> None:
        if message.type != "error":
            return
        if match := _STATUS_LINE.match(message.text):
            self._statuses[int(match[1])] += 1
        else:
            self.problems.append(f"console: {message.text} ({message.location.get('url', '')})")

    def _on_crash(self, page: Page) -> None:
        self.problems.append(f"the page at {page.url} crashed")
