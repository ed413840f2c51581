"""What every recovery policy refuses before it runs."""

from __future__ import annotations


class RecoveryConfigError(ValueError):
    """A recovery that cannot widen anything; the message names the setting and the mend."""


def whole_number(policy: str, setting: str, value: object, unit: str) -> None:
    """Refuse anything but a whole number of at least 1 `unit`; raises RecoveryConfigError."""
    if isinstance(value, bool) or not isinstance(value, int):
        raise RecoveryConfigError(f"{policy}: recovery.{setting} must be a whole number of {unit}, got {value!r}")
    if value < 1:
        raise RecoveryConfigError(f"{policy}: recovery.{setting} is {value}; give at least 1 of {unit}")
