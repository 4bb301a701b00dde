"""Tells processes that a trigger has fired, in several ways (ARTOS §4.2).

``olaf.experience.remote`` tells another machine.
"""

from __future__ import annotations

import contextlib
import os
import select
from collections.abc import Mapping
from typing import Any, Callable, Protocol

from olaf.experience.memory import companion_path
from olaf.experience.ring import Ring
from olaf.experience.triggers import DataKey, Firing, ObjectKey, Time, Transfer, Trigger

_PIPE = 1 << 16
"""Bytes that a pipe holds."""

Passer = Callable[[Trigger], None]
"""Called when a trigger has fired."""


def direct(handle: Callable[[Firing], object]) -> Passer:
    """Call ``handle`` where the trigger was checked; the rows are done when it returns."""

    def pass_on(trigger: Trigger) -> None:
        while (firing := trigger.take()) is not None:
            handle(firing)
            trigger.done(firing)

    return pass_on


class Puts(Protocol):
    """Any queue, of this process or between processes."""

    def put(self, item: Firing) -> object:
        """Add an item."""


def queue(target: Puts) -> Passer:
    """Put the firing into a local queue; its receiver reports to the trigger when it is done."""

    def pass_on(trigger: Trigger) -> None:
        while (firing := trigger.take()) is not None:
            target.put(firing)

    return pass_on


class Bell:
    """Wakes a process of this machine that waits for a trigger, which it then takes from the ring itself.

    The firing is in the ring, so nothing is lost when either process dies; the bell only ends the waiting.
    """

    def __init__(self, ring: Ring, name: str) -> None:
        """Make a named pipe next to the ring's memory. Raises ValueError for a ring of one process."""
        if ring.path is None:
            raise ValueError("a ring of one process has no bell: pass on directly or through a queue")
        path = companion_path(ring.path, f"{name}.bell")
        with contextlib.suppress(FileExistsError):
            os.mkfifo(path, 0o600)
        self._pipe = os.open(path, os.O_RDWR | os.O_NONBLOCK | os.O_CLOEXEC)

    def __call__(self, trigger: Trigger | None = None) -> None:
        """Ring it. A bell that is full has been rung."""
        with contextlib.suppress(BlockingIOError):
            os.write(self._pipe, b"!")

    def wait(self, seconds: float | None = None) -> bool:
        """Sleep until it is rung; whether it was."""
        ready, _, _ = select.select([self._pipe], [], [], seconds)
        if ready:
            with contextlib.suppress(BlockingIOError):
                os.read(self._pipe, _PIPE)
        return bool(ready)

    def close(self) -> None:
        """Close the pipe; its name goes with the ring's."""
        os.close(self._pipe)


class Bound:
    """The triggers of a ring, each with its passer. A process that changes the ring calls :meth:`check`."""

    def __init__(self, pairs: Mapping[Trigger, Passer]) -> None:
        self.triggers = {trigger.name: trigger for trigger in pairs}
        self._pairs = dict(pairs)

    def check(self, now: float = 0.0) -> int:
        """Pass on all that fires; how many did."""
        fired = 0
        for trigger, passer in self._pairs.items():
            while trigger.check(now):
                fired += 1
                passer(trigger)
        return fired

    def due(self) -> float | None:
        """Return when to check next although nothing changes: what ``Party.tick`` of a port returns."""
        times = [due for trigger in self._pairs if (due := trigger.due()) is not None]
        return min(times, default=None)


_KINDS = {
    "data": {"n", "size", "keys", "max_lag"},
    "object": {"key"},
    "time": {"seconds"},
    "transfer": {"stages", "size"},
}


def bind(
    ring: Ring, configuration: Mapping[str, Mapping[str, Any]], to: Mapping[str, Passer], start: float = 0.0
) -> Bound:
    """Bind triggers from plain data, such as a YAML file's: all of ARTOS' table 3 is written this way.

    Each entry names a trigger: ``on`` is data, object, time or transfer, ``to`` one of the passers, the rest
    the trigger's arguments. ``start`` is the time from which periods count. Raises ValueError for an entry
    with other keys, or too few.
    """
    pairs: dict[Trigger, Passer] = {}
    for name, entry in configuration.items():
        values = dict(entry)
        kind, target = values.pop("on", None), values.pop("to", None)
        unknown = set(values) - _KINDS.get(str(kind), set(values))
        if kind not in _KINDS or target not in to or unknown:
            what = f"on: one of {', '.join(_KINDS)}; to: one of {', '.join(to)}"
            raise ValueError(f"trigger {name}: {dict(entry)}: {', '.join(sorted(unknown)) or what}")
        try:
            pairs[_make_trigger(ring, name, str(kind), values, start)] = to[target]
        except TypeError as error:
            raise ValueError(f"trigger {name}: {dict(entry)}: {error}") from None
    return Bound(pairs)


def _make_trigger(ring: Ring, name: str, kind: str, values: dict[str, Any], start: float) -> Trigger:
    if kind == "data":
        return DataKey(ring, name, **values)
    if kind == "object":
        return ObjectKey(ring, name, **values)
    if kind == "time":
        return Time(name, start=start, **values)
    return Transfer(ring, name, **values)
