"""Whether what clients were answered can have happened in one order (linearizability), worker by worker.

A move is about two clusters and one worker, so the worker is the object: its state is the cluster it is in,
and workers do not influence each other while nothing is full. Each worker's history is checked by itself.

The search is Lowe's just-in-time one ("Testing for linearizability", 2017): through the calls' begins and
ends in order, keeping every configuration that explains the answers so far. Calls of unknown outcome may take
effect at any time until their end, or never. Two of them that ask for the same thing are interchangeable,
and a configuration that has used fewer of them can do all that one can which has used more: without these two
rules each unknown outcome would double the configurations.
"""

import heapq
import itertools
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import Enum

from olafswitch.errors import OlafError, Problem

_CONFIGURATIONS = 1_000


class CallOutcome(Enum):
    """The answer that a client received."""

    DONE = "done"
    REFUSED = "refused"
    UNKNOWN = "unknown"
    """The connection or the daemon ended first, or the devices did not answer."""


@dataclass(frozen=True)
class HistoryCall:
    """One operation on one worker, from its begin to its end in the order of all begins and ends."""

    worker: str
    action: str
    """``join``, ``leave``, ``move`` or ``read``."""
    cluster: str
    """Where to; of a ``read`` where it was found, empty when it was no member."""
    began: int
    ended: float
    """For an unknown outcome, when the daemon that may still have had it was dead; infinite if it lived
    on."""
    outcome: CallOutcome


class Undecided(OlafError):
    """A history has more configurations than are searched."""


@dataclass(frozen=True)
class _Configuration:
    """One way in which a history can have gone so far."""

    state: str
    done: frozenset[int]
    """Calls under way that have taken effect and whose answers are known."""
    used: frozenset[int]
    """Calls of unknown outcome that have taken effect and may still be under way."""


def find_violations(calls: Iterable[HistoryCall], most: int = _CONFIGURATIONS) -> list[str]:
    """Find the workers whose history has no order that explains every answer.

    Raises Undecided when a worker's history has more than ``most`` configurations at once.
    """
    histories: dict[str, list[HistoryCall]] = {}
    for call in calls:
        histories.setdefault(call.worker, []).append(call)
    return [worker for worker, history in sorted(histories.items()) if not _has_order(history, most)]


def _has_order(history: Sequence[HistoryCall], most: int) -> bool:
    """Return whether the calls have an order: each takes effect between its begin and its end, and its answer
    follows from the state before it. At first the worker is not a member."""
    open_calls: dict[int, HistoryCall] = {}
    possible = {_Configuration("", frozenset(), frozenset())}
    for number, begins in _in_order(history):
        call = history[number]
        if begins:
            open_calls[number] = call
            continue
        everything = _reach_configurations(possible, open_calls, most)
        del open_calls[number]
        # A call of unknown outcome has taken effect by now, or never does.
        possible = {
            _Configuration(each.state, each.done - {number}, each.used - {number})
            for each in everything
            if number in each.done or call.outcome is CallOutcome.UNKNOWN
        }
        if not possible:
            return False
    return True


def _in_order(history: Sequence[HistoryCall]) -> list[tuple[int, bool]]:
    """Return the calls' begins (True) and ends, as they came; leave out ends that never came."""
    events = [(float(call.began), 0, number) for number, call in enumerate(history)]
    events += [(call.ended, 1, number) for number, call in enumerate(history) if call.ended < math.inf]
    return [(number, what == 0) for _, what, number in sorted(events)]


def _reach_configurations(
    possible: Iterable[_Configuration], open_calls: dict[int, HistoryCall], most: int
) -> list[_Configuration]:
    """Return what the open calls can make of the configurations, and these, without dominated ones."""
    order = itertools.count()
    waiting = [(len(each.used), next(order), each) for each in possible]
    heapq.heapify(waiting)
    smallest: dict[tuple[str, frozenset[int]], list[frozenset[int]]] = {}
    found: list[_Configuration] = []
    while waiting:
        # Fewer uses first, so what dominates a configuration is there before it.
        _, _, each = heapq.heappop(waiting)
        less = smallest.setdefault((each.state, each.done), [])
        if any(used <= each.used for used in less):
            continue
        less.append(each.used)
        found.append(each)
        if len(found) > most:
            what = f"more than {most} configurations of {next(iter(open_calls.values())).worker}"
            raise Undecided(Problem(what, "the history", "run again with fewer clients, or more workers"))
        for after in _step_configurations(each, open_calls):
            heapq.heappush(waiting, (len(after.used), next(order), after))
    return found


def _step_configurations(
    before: _Configuration, open_calls: dict[int, HistoryCall]
) -> Iterable[_Configuration]:
    """Yield the configurations in which one more open call has taken effect."""
    alike: dict[tuple[str, str], int] = {}
    for number, call in open_calls.items():
        if call.outcome is not CallOutcome.UNKNOWN:
            if number not in before.done and (after := _effect_of_call(call, before.state)) is not None:
                yield _Configuration(after, before.done | {number}, before.used)
        elif number not in before.used:
            # Of those that are alike, the one that ends first: the others can still be used later.
            kind = call.action, call.cluster
            if kind not in alike or call.ended < open_calls[alike[kind]].ended:
                alike[kind] = number
    for number in alike.values():
        changed = _effect_of_call(open_calls[number], before.state)
        if changed is not None and changed != before.state:
            yield _Configuration(changed, before.done, before.used | {number})


def _effect_of_call(call: HistoryCall, state: str) -> str | None:
    """Return the state that a call leaves when it takes effect on ``state``; None when its answer would have
    been another. An unknown outcome is taken as a success: a refusal changes nothing."""
    allowed = {
        "join": state in ("", call.cluster),
        "leave": state != "",
        "move": state != "",
        "read": state == call.cluster,
    }[call.action]
    if call.outcome is CallOutcome.REFUSED:
        return None if allowed else state
    if not allowed:
        return None
    return {"join": call.cluster, "leave": "", "move": call.cluster, "read": state}[call.action]
