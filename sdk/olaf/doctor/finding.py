"""The result of one examination."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum


class Verdict(str, Enum):
    """How it is."""

    OK = "ok"
    WARNING = "warning"
    """Training works; something is not as it should be."""
    FAULT = "fault"
    """Training does not work like this."""
    SKIPPED = "skipped"
    """Not examined, because of a fault before it or for want of an option."""


@dataclass(frozen=True)
class Finding:
    """One line of the report."""

    check: str
    verdict: Verdict
    what: str
    remedy: str = ""


def ok(check: str, what: str) -> Finding:
    """A finding without a fault."""
    return Finding(check, Verdict.OK, what)


def warning(check: str, what: str, remedy: str) -> Finding:
    """Training works, but."""
    return Finding(check, Verdict.WARNING, what, remedy)


def fault(check: str, what: str, remedy: str) -> Finding:
    """Training does not work, and what to do."""
    return Finding(check, Verdict.FAULT, what, remedy)


def skipped(check: str, why: str) -> Finding:
    """A finding that was not examined."""
    return Finding(check, Verdict.SKIPPED, why)
