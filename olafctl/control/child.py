"""A program of ours that is asked, not killed, to end when we are: it may have things to put back."""

import signal
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TextIO

_PATIENCE_SECONDS = 30.0


def run(
    line: Sequence[str],
    *,
    folder: Path | None = None,
    environment: Mapping[str, str] | None = None,
    output: TextIO | None = None,
) -> int:
    """Run ``line`` to its end, its standard output going to ``output``; returns its code."""
    # In a group of its own: what interrupts us from the keyboard must not reach it twice.
    with subprocess.Popen(line, cwd=folder, env=environment, stdout=output, process_group=0) as child:
        try:
            return child.wait()
        except BaseException:
            child.send_signal(signal.SIGINT)
            try:
                child.wait(_PATIENCE_SECONDS)
            except subprocess.TimeoutExpired:
                child.kill()
            raise
