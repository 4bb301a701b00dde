"""How a process that waits gives its core back."""

from __future__ import annotations

import os
import signal
import sys
from contextlib import suppress
from pathlib import Path
from typing import Protocol


class Sleeper(Protocol):
    """Puts processes to sleep, with all their threads, and wakes them; ignores those that have ended."""

    def sleep(self, pid: int) -> None:
        """Give the core back."""

    def wake(self, pid: int) -> None:
        """Let it go on where it was."""


class Freeze:
    """Stops a process: it keeps its memory and no core, and goes on within a millisecond."""

    def sleep(self, pid: int) -> None:
        """SIGSTOP."""
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGSTOP)

    def wake(self, pid: int) -> None:
        """SIGCONT."""
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGCONT)


def stopped(pid: int) -> bool:
    """Whether a process is stopped or has ended, so runs no more. On Linux; False elsewhere.

    On a busy machine the kernel stops a process only when its turn comes; it runs no code of its own then.
    """
    if sys.platform != "linux":
        return False
    return _stopped(pid) or _stopped(pid)  # it may stop between the two lines of one look


def _stopped(pid: int) -> bool:
    try:
        lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    except (FileNotFoundError, ProcessLookupError):
        return True
    found = {name: value.split() for name, _, value in (line.partition(":") for line in lines)}
    pending = int(found["SigPnd"][0], 16) | int(found["ShdPnd"][0], 16)
    return found["State"][0] in ("T", "Z", "X") or bool(pending >> (signal.SIGSTOP - 1) & 1)
