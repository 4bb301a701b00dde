"""What an interrupt does while a command's modules are still loaded; imports nothing that takes time."""

import os
import signal
from types import FrameType

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


def end_quietly() -> None:
    """End at an interrupt from now on, with one line, until the command line handles them itself."""
    for each in SIGNALS:
        if signal.getsignal(each) is not signal.SIG_IGN:
            signal.signal(each, _end)


def _end(number: int, frame: FrameType | None) -> None:
    os.write(2, b"interrupted\n")
    os._exit(130)
