"""Whether what clients were answered can have happened in one order (linearizability), worker by worker.

Workers do not influence each other while nothing is full, so each one's history is checked by itself: the
search for an order (Wing and Gong, 1993) is then short.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import Enum


class Outcome(Enum):
    """What a client was told."""

    DONE = "done"
    REFUSED = "refused"
    UNKNOWN = "unknown"
    """The connection or the daemon ended first, or the devices did not answer."""


@dataclass(frozen=True)
class Call:
    """One operation on one worker, from its begin to its end in the order of all begins and ends."""

    worker: str
    action: str
    """``join``, ``leave``, ``move`` or ``read``."""
    cluster: str
    """Where to; of a ``read`` where it was found, empty when it was no member."""
    began: int
    ended: float
    """Infinite when the outcome is unknown: it may still take effect."""
    outcome: Outcome


def violations(calls: Iterable[Call]) -> list[str]:
    """The workers whose history has no order that explains every answer."""
    histories: dict[str, list[Call]] = {}
    for call in calls:
        histories.setdefault(call.worker, []).append(call)
    return [worker for worker, history in sorted(histories.items()) if not _explained(history)]


def _explained(history: Sequence[Call]) -> bool:
    """Whether the calls have an order: each takes effect between its begin and its end, and its answer
    follows from the state before it. At first the worker is no member."""
    everything = frozenset(range(len(history)))
    must = frozenset(n for n in everything if history[n].outcome is not Outcome.UNKNOWN)
    seen: set[tuple[frozenset[int], str]] = set()
    waiting = [(everything, "")]
    while waiting:
        left, state = waiting.pop()
        if not left & must:
            return True
        if (left, state) in seen:
            continue
        seen.add((left, state))
        # The next one began before any other that is left had ended.
        bound = min((history[n].ended for n in left), default=math.inf)
        for number in left:
            call = history[number]
            if call.began > bound:
                continue
            for after in _effects(call, state):
                waiting.append((left - {number}, after))
    return False


def _effects(call: Call, state: str) -> list[str]:
    """The states that a call can leave when it takes effect on ``state``, its answer being what it was."""
    allowed = {
        "join": state in ("", call.cluster),
        "leave": state != "",
        "move": state != "",
        "read": state == call.cluster,
    }[call.action]
    changed = {"join": call.cluster, "leave": "", "move": call.cluster, "read": state}[call.action]
    match call.outcome:
        case Outcome.DONE:
            return [changed] if allowed else []
        case Outcome.REFUSED:
            return [] if allowed else [state]
        case Outcome.UNKNOWN:
            return [changed, state] if allowed else [state]
