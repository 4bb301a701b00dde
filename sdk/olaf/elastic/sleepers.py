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
    """Whether a process is stopped or has ended, so holds no core. On Linux; False elsewhere."""
    if sys.platform != "linux":
        return False
    try:
        text = Path(f"/proc/{pid}/stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return True
    return text.rpartition(")")[2].split()[0] in ("T", "Z", "X")
