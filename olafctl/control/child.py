"""A child program that is interrupted, not killed, when its parent ends: it may have settings to restore."""

import ctypes
import signal
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TextIO

_TIMEOUT_SECONDS = 30.0
_PR_SET_PDEATHSIG = 1


def run(
    line: Sequence[str],
    *,
    folder: Path | None = None,
    environment: Mapping[str, str] | None = None,
    output: TextIO | None = None,
) -> int:
    """Run ``line`` to its end, its standard output going to ``output``; returns its code."""
    # In a group of its own: what interrupts us from the keyboard must not reach it twice.
    with _interruptible():
        child = subprocess.Popen(
            line, cwd=folder, env=environment, stdout=output, process_group=0, preexec_fn=_end_with_parent
        )
    with child:
        try:
            return child.wait()
        except BaseException:
            child.send_signal(signal.SIGINT)
            try:
                child.wait(_TIMEOUT_SECONDS)
            except subprocess.TimeoutExpired:
                child.kill()
            raise


def _end_with_parent() -> None:
    """In the child: be interrupted when the parent dies, also when it is killed and cannot say so."""
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGINT)


@contextmanager
def _interruptible() -> Iterator[None]:
    """What is started inside can be interrupted, even if we, in a shell's background, cannot."""
    before = signal.getsignal(signal.SIGINT)
    if before is not signal.SIG_IGN:
        yield
        return
    # A handler, unlike SIG_IGN, ends with the exec.
    signal.signal(signal.SIGINT, lambda number, frame: None)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
