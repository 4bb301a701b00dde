"""The life of a deployment's process: tell that it is ready, serve until told to end, end cleanly."""

import signal
import threading
from collections.abc import Callable
from types import FrameType
from typing import Any

from olafctl.targets.processes import say_ready


def serve(ready_fd: int | None, ready: Any, close: Callable[[], None]) -> None:
    """Say ``ready`` (as JSON) and sleep until SIGTERM or SIGINT; then ``close``."""
    ended = threading.Event()

    def end(number: int, frame: FrameType | None) -> None:
        ended.set()

    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, end)
    if ready_fd is not None:
        say_ready(ready_fd, ready)
    ended.wait()
    close()
