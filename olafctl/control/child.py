"""A child program that is interrupted, not killed, when its parent ends: it may have settings to restore."""

import os
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TextIO

_TIMEOUT_SECONDS = 30.0
_STARTER = """
import ctypes, os, signal, sys
for each in (signal.SIGINT, signal.SIGPIPE, signal.SIGXFSZ):
    signal.signal(each, signal.SIG_DFL)
ctypes.CDLL(None).prctl(1, int(signal.SIGINT))
if os.getppid() != int(sys.argv[1]):
    sys.exit(130)
os.execvp(sys.argv[2], sys.argv[2:])
"""
"""A starter that becomes the program. The program can be interrupted even where its parent, in a shell's
background, cannot, and the kernel interrupts it (PR_SET_PDEATHSIG) when its parent is killed. Python code
between fork and exec would spare this process, but is not safe next to threads: gRPC's aborts there."""


def run_child(
    line: Sequence[str],
    *,
    folder: Path | None = None,
    environment: Mapping[str, str] | None = None,
    output: TextIO | None = None,
) -> int:
    """Run ``line`` to its end, with its standard output going to ``output``; return its code."""
    # It has its own group: an interrupt from the keyboard must not reach it twice.
    starter = [sys.executable, "-I", "-c", _STARTER, str(os.getpid()), *line]
    with subprocess.Popen(starter, cwd=folder, env=environment, stdout=output, process_group=0) as child:
        try:
            return child.wait()
        except BaseException:
            child.send_signal(signal.SIGINT)
            try:
                child.wait(_TIMEOUT_SECONDS)
            except subprocess.TimeoutExpired:
                child.kill()
            raise
