"""The logs of a deployment's processes."""

import queue
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from olafctl.control.store import Store
from olafctl.machines import everywhere
from olafctl.machines.client import MachineAgent, call_each
from olafctl.testbed.model import Testbed
from olafswitch.errors import OlafError

_INTERVAL = 0.2


def paths_of(store: Store) -> Sequence[Path]:
    """Return every log in the deployment's folder, whether its process still runs or not."""
    return sorted(store.folder.rglob("*.log"))


def read_elsewhere(testbed: Testbed, lines: int) -> Iterator[tuple[str, str]]:
    """Yield the last lines of each log on the testbed's machines, as MACHINE/LOG and line. Raises
    OlafError."""
    for name, found in call_each(
        everywhere.agents_of(testbed), lambda agent: agent.call("Logs", lines=lines)
    ).items():
        for log in found:
            yield from ((f"{name}/{log['log']}", line) for line in log["lines"])


def follow_elsewhere(testbed: Testbed) -> Iterator[tuple[str, str]]:
    """Yield new lines of the logs on the testbed's machines. Raises OlafError when a machine is away."""
    lines: queue.Queue[tuple[str, str] | OlafError] = queue.Queue()

    def listen(name: str, agent: MachineAgent) -> None:
        try:
            for part in agent.receive_parts("Follow"):
                lines.put((f"{name}/{part['log']}", part["line"]))
        except OlafError as error:
            lines.put(error)

    for name, agent in everywhere.agents_of(testbed).items():
        threading.Thread(target=listen, args=(name, agent), name=f"logs of {name}", daemon=True).start()
    while True:
        if isinstance(found := lines.get(), OlafError):
            raise found
        yield found


def last_lines(path: Path, count: int) -> Sequence[str]:
    """Return the last ``count`` lines; bytes that are not text are shown as escapes."""
    with path.open(errors="backslashreplace") as log:
        return [line.rstrip("\n") for line in deque(log, maxlen=min(count, sys.maxsize))]


def follow_logs(
    paths: Sequence[Path], active: Callable[[], bool] = lambda: True
) -> Iterator[tuple[Path, str]]:
    """Yield lines as they are written from now on, while ``active``."""
    logs = [(path, path.open(errors="backslashreplace")) for path in paths]
    for _, log in logs:
        log.seek(0, 2)
    while active():
        idle = True
        for path, log in logs:
            while line := log.readline():
                idle = False
                yield path, line.rstrip("\n")
        if idle:
            time.sleep(_INTERVAL)
