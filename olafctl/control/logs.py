"""The logs of a deployment's processes."""

import sys
import time
from collections import deque
from collections.abc import Iterator, Sequence
from pathlib import Path

from olafctl.control.store import Store

_INTERVAL = 0.2


def paths_of(store: Store) -> Sequence[Path]:
    """Every log in the deployment's folder, whether its process still runs or not."""
    return sorted(store.folder.rglob("*.log"))


def last_lines(path: Path, count: int) -> Sequence[str]:
    """The last ``count`` lines; bytes that are no text are shown as such."""
    with path.open(errors="backslashreplace") as log:
        return [line.rstrip("\n") for line in deque(log, maxlen=min(count, sys.maxsize))]


def follow(paths: Sequence[Path]) -> Iterator[tuple[Path, str]]:
    """Lines as they are written from now on; never ends."""
    logs = [(path, path.open(errors="backslashreplace")) for path in paths]
    for _, log in logs:
        log.seek(0, 2)
    while True:
        idle = True
        for path, log in logs:
            while line := log.readline():
                idle = False
                yield path, line.rstrip("\n")
        if idle:
            time.sleep(_INTERVAL)
