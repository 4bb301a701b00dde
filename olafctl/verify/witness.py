"""From a Z3 model to a schedule, and from the start of a schedule to the whole of it."""

from collections.abc import Iterable, Sequence
from functools import cmp_to_key
from typing import Any

from olafctl.verify import arrivals, laws
from olafctl.verify.encoding import Question
from olafctl.verify.numbers import Bool, Term
from olafctl.verify.objective import Outcome
from olafctl.verify.schedule import Schedule, Update
from olafctl.verify.simulation import Simulation
from olafctl.verify.system import System

Meeting = set[tuple[tuple[int, int], tuple[int, int]]]


class Witness:
    """A satisfying model: its schedule (None when a time falls between ticks), and what Z3 makes of it."""

    def __init__(self, question: Question, model: Any) -> None:
        self._question, self._model = question, model
        self._tick = question.system.tick
        self.schedule = self._schedule()

    def outcome(self) -> Outcome:
        """Peaks, final ages and losses as the model has them, in ns."""
        peaks: list[list[int]] = []
        for flow in self._question.arrivals.flows:
            held = [update for update in flow if self._holds(laws.has_peak(update))]
            peaks.append([self._time(laws.peak(update)) for update in held])
        final = [self._time(laws.final_age(flow[-1])) for flow in self._question.arrivals.flows]
        lost = [sum(self._holds(update.lost) for update in flow) for flow in self._question.arrivals.flows]
        return Outcome(peaks, final, lost)

    def departures(self) -> list[tuple[int, int, int, int]]:
        """(cluster, A of the slot's first update, D, ACK_Q) of every slot, in ns, as the model has them."""
        updates = self._question.arrivals.updates
        return [
            (
                update.cluster,
                self._time(update.arrival),
                self._time(update.departure),
                int(
                    self._model.eval(
                        laws.ack_queue(update, updates, self._question.arrivals), model_completion=True
                    ).as_long()
                ),
            )
            for update in updates
            if self._holds(update.opens)
        ]

    def choices(self) -> list[tuple[str, bool]]:
        """Every Boolean variable by name, with its value."""
        return [
            (name.name(), bool(self._model[name]))
            for name in self._model.decls()
            if name.range().name() == "Bool"
        ]

    def _schedule(self) -> Schedule | None:
        read = self._question.arithmetic.read
        timed = []
        for update in self._question.arrivals.updates:
            time = read(self._model, update.arrival)
            if time is None:
                return None
            timed.append((time * self._tick, update))
        ordered = sorted(timed, key=cmp_to_key(self._earlier))
        return Schedule(
            self._question.system,
            tuple(
                Update(time, update.cluster, update.worker + 1, update.seq, self._holds(update.sent))
                for time, update in ordered
            ),
        )

    def _earlier(self, one: tuple[int, arrivals.Update], other: tuple[int, arrivals.Update]) -> int:
        if one[0] != other[0]:
            return one[0] - other[0]
        return -1 if self._holds(self._question.arrivals.precedes(one[1], other[1])) else 1

    def _holds(self, condition: Bool) -> bool:
        if isinstance(condition, bool):
            return condition
        return bool(self._model.eval(condition, model_completion=True))

    def _time(self, term: Term) -> int:
        value = self._question.arithmetic.read(self._model, term)
        if value is None:
            raise ValueError("a time of an integral schedule falls between ticks")
        return value * self._tick


def continued(start: Schedule, system: System) -> Schedule:
    """``start``, found for a shorter horizon, carried on to ``system``'s: in time, everything sent."""
    planned = {(update.cluster, update.worker, update.seq): update for update in start.updates}
    first = _meetings(start.updates)
    updates = list(start.updates)
    for index, cluster in enumerate(system.clusters):
        for worker in range(1, cluster.workers + 1):
            for seq in range(system.rounds[index]):
                if (index, worker, seq) not in planned:
                    origin = planned[index, worker, 0].time
                    updates.append(Update(origin + seq * cluster.period, index, worker, seq, True))

    def earlier(one: Update, other: Update) -> int:
        pair = (one.cluster, one.worker), (other.cluster, other.worker)
        return one.time - other.time or (-1 if pair in first else 1 if pair[::-1] in first else 0)

    simulation = Simulation(system)
    decided = []
    for update in sorted(updates, key=cmp_to_key(earlier)):
        allowed = simulation.choices(update.time, update.cluster)
        sent = update.sent if update.sent in allowed else allowed[0]
        simulation.offer(update.time, update.cluster, sent)
        decided.append(Update(update.time, update.cluster, update.worker, update.seq, sent))
    return Schedule(system, tuple(decided))


def lawful(schedule: Schedule) -> bool:
    """Whether a schedule keeps to its system's arrival model, the order of meetings included."""
    system = schedule.system
    by_worker: dict[tuple[int, int], list[Update]] = {}
    for update in schedule.updates:
        by_worker.setdefault((update.cluster, update.worker), []).append(update)
    for (index, _), updates in by_worker.items():
        cluster, ordered = system.clusters[index], sorted(updates, key=lambda update: update.seq)
        if [update.seq for update in ordered] != list(range(system.rounds[index])):
            return False
        offsets = [update.time - update.seq * cluster.period for update in ordered]
        if max(offsets) - min(offsets) > cluster.jitter or min(offsets) < cluster.phase[0]:
            return False
        if max(offsets) > cluster.phase[1] + cluster.jitter:
            return False
    meetings = _meetings(schedule.updates)
    in_time = all(a.time <= b.time for a, b in zip(schedule.updates, schedule.updates[1:], strict=False))
    return in_time and (not system.exact or not any(pair[::-1] in meetings for pair in meetings))


def _meetings(updates: Sequence[Update] | Iterable[Update]) -> Meeting:
    """(first, second) for all sources of different clusters that reach the engine at one instant."""
    by_time: dict[int, list[Update]] = {}
    for update in updates:
        by_time.setdefault(update.time, []).append(update)
    return {
        ((one.cluster, one.worker), (other.cluster, other.worker))
        for group in by_time.values()
        for place, one in enumerate(group)
        for other in group[place + 1 :]
        if one.cluster != other.cluster
    }
