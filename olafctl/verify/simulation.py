"""Schedules and the arrival model: whether one keeps to it, and the start of one carried on."""

import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from enum import StrEnum
from fractions import Fraction
from functools import cmp_to_key
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

from olafctl.verify.question import ScheduleOutcome
from olafctl.verify.system import ClusterFlow, Slope, SlotFreed, System, Transmission
from olafswitch.errors import BadInput, Problem

FORMAT = "olaf-schedule/1"


@dataclass(frozen=True)
class GeneratedUpdate:
    """One generated update; ``time`` is A(k), its generation and, if sent, its arrival at the engine."""

    time: int
    cluster: int
    worker: int
    seq: int
    sent: bool


@dataclass(frozen=True)
class UpdateSchedule:
    """All updates of a system within the horizon, in the order in which they reach the engine."""

    system: System
    updates: tuple[GeneratedUpdate, ...]


def save_schedule(schedule: UpdateSchedule, objective: str, path: Path) -> None:
    """Write ``schedule`` as JSON. Raises BadInput when the file cannot be written."""
    document = {
        "format": FORMAT,
        "system": asdict(schedule.system),
        "objective": objective,
        "updates": [update_row(update) for update in schedule.updates if update.sent],
        "withheld": [update_row(update) for update in schedule.updates if not update.sent],
    }
    try:
        path.write_text(json.dumps(document, indent=1, ensure_ascii=False) + "\n")
    except OSError as error:
        raise BadInput(Problem(f"cannot be written: {error.strerror}", str(path))) from error


def load_schedule(path: Path) -> UpdateSchedule:
    """Read a saved schedule. Raises BadInput when the file is not one."""
    try:
        document = json.loads(path.read_text())
        if document["format"] != FORMAT:
            raise BadInput(Problem(f"its format is {document['format']!r}", str(path), f"known: {FORMAT}"))
        system = _parse_system(document["system"])
        rows = [(row, True) for row in document["updates"]] + [(row, False) for row in document["withheld"]]
        updates = [
            GeneratedUpdate(
                int(row["time_ns"]), int(row["cluster"]), int(row["worker"]), int(row["seq"]), sent
            )
            for row, sent in rows
        ]
    except (OSError, ValueError, KeyError, TypeError, AttributeError, OverflowError) as error:
        raise BadInput(
            Problem(f"is not a saved schedule: {error}", str(path), "olafctl verify --save writes one")
        ) from error
    for update in updates:
        if not 0 <= update.cluster < len(system.clusters) or update.time < 0:
            raise BadInput(Problem(f"update {update.seq} has no such cluster or time", str(path)))
    return UpdateSchedule(system, tuple(sorted(updates, key=lambda update: update.time)))


def update_row(update: GeneratedUpdate) -> dict[str, int]:
    """Return an update as a row of the saved schedule."""
    return {
        "time_ns": update.time,
        "cluster": update.cluster,
        "worker": update.worker,
        "seq": update.seq,
        "gen_time": update.time,
    }


def _parse_system(fields: dict[str, Any]) -> System:
    clusters = tuple(
        ClusterFlow(**{**cluster, "phase": tuple(cluster["phase"])}) for cluster in fields["clusters"]
    )
    kinds = {
        "transmission": Transmission(fields["transmission"]),
        "slope": Slope(fields["slope"]),
        "slot_freed": SlotFreed(fields["slot_freed"]),
    }
    return System(**{**fields, **kinds, "clusters": clusters})


class Disposition(StrEnum):
    """The fate of a generated update."""

    WITHHELD = "withheld"
    WAITS = "waits"
    JOINS = "joins"
    """It replaces, or is aggregated with, its cluster's waiting update."""
    LOST = "lost"


class Departure(NamedTuple):
    """An update that left: its cluster, when its slot was taken, A(k), D(k), Δ_p (None: first), ACK_Q."""

    cluster: int
    opened: int
    arrival: int
    time: int
    peak: int | None
    ack_queue: int


@dataclass(slots=True)
class _Slot:
    cluster: int
    opened: int
    newest: int


@dataclass(slots=True)
class Simulation:
    """The state between two updates. Offer updates in time order, then call :meth:`finish`."""

    system: System
    waiting: list[_Slot] = field(default_factory=list)
    busy_until: int = 0
    departures: list[Departure] = field(default_factory=list)
    lost: list[int] = field(default_factory=list)
    received: list[int | None] = field(default_factory=list)
    final_age: list[int] = field(default_factory=list)
    acks: list[list[int]] = field(default_factory=list)
    withheld: list[int] = field(default_factory=list)
    credit: list[Fraction] = field(default_factory=list)

    def __post_init__(self) -> None:
        count = len(self.system.clusters)
        if not self.received:
            self.lost, self.withheld, self.final_age = [0] * count, [0] * count, [0] * count
            self.received = [None] * count
            self.acks = [[0] for _ in range(count)]
            self.credit = [Fraction(0)] * count

    def copy(self) -> "Simulation":
        """Return an independent copy of the state."""
        return Simulation(
            self.system,
            [_Slot(slot.cluster, slot.opened, slot.newest) for slot in self.waiting],
            self.busy_until,
            self.departures.copy(),
            self.lost.copy(),
            self.received.copy(),
            self.final_age.copy(),
            [acks.copy() for acks in self.acks],
            self.withheld.copy(),
            self.credit.copy(),
        )

    def choices(self, time: int, cluster: int) -> tuple[bool, ...]:
        """Return the options of a worker of ``cluster`` for an update generated at ``time``: send,
        withhold."""
        self._depart(time)
        if not self.system.controlled:
            return (True,)
        probability = self.system.probability(self.feedback_age(time, cluster))
        if self.system.transmission is Transmission.EXPECTED:
            return (self.credit[cluster] + probability >= 1,)
        if probability == 1:
            return (True,)
        if (
            self.system.transmission is Transmission.BOUNDED
            and self.withheld[cluster] >= self.system.patience
        ):
            return (True,)
        return (True, False)

    def feedback_age(self, time: int, cluster: int) -> int:
        """Return Δ̂ (OLAF §5): ns since the cluster's last ACK by ``time``, with one at 0."""
        return time - max(ack for ack in self.acks[cluster] if ack <= time)

    def offer(self, time: int, cluster: int, sent: bool) -> Disposition:
        """Offer an update that a worker generates at ``time`` and sends or not; return its fate."""
        self._depart(time)
        received = self.received[cluster]
        self.final_age[cluster] = time - (0 if received is None else received)
        if self.system.controlled and self.system.transmission is Transmission.EXPECTED:
            probability = self.system.probability(self.feedback_age(time, cluster))
            self.credit[cluster] += probability - sent
        self.withheld[cluster] = 0 if sent else self.withheld[cluster] + 1
        return self._arrive(time, cluster) if sent else Disposition.WITHHELD

    def finish(self) -> ScheduleOutcome:
        """Let all updates leave, and return the outcome of the schedule."""
        while self.waiting:
            self._depart(max(self.busy_until, self.waiting[0].opened))
        peaks: list[list[int]] = [[] for _ in self.system.clusters]
        for departure in self.departures:
            if departure.peak is not None:
                peaks[departure.cluster].append(departure.peak)
        return ScheduleOutcome(peaks, self.final_age, self.lost)

    def _arrive(self, time: int, cluster: int) -> Disposition:
        for slot in self.waiting:
            if slot.cluster == cluster:
                slot.newest = time
                return Disposition.JOINS
        sending = self.system.slot_freed is SlotFreed.SENT and self.busy_until > time
        if len(self.waiting) + sending >= self.system.slots:
            self.lost[cluster] += 1
            return Disposition.LOST
        self.waiting.append(_Slot(cluster, time, time))
        return Disposition.WAITS

    def _depart(self, now: int) -> None:
        """Begin every departure due by ``now``; the head is locked from then on (OLAF §12.1)."""
        while self.waiting:
            slot = self.waiting[0]
            time = max(self.busy_until, slot.opened)
            if time > now:
                return
            del self.waiting[0]
            previous = self.received[slot.cluster]
            peak = None if previous is None else time - previous
            behind = sum(other.opened < time for other in self.waiting)
            self.departures.append(Departure(slot.cluster, slot.opened, slot.newest, time, peak, behind))
            self.received[slot.cluster] = slot.newest
            self.acks[slot.cluster].append(time + self.system.ack_delay)
            self.busy_until = time + self.system.service


@dataclass(frozen=True)
class SimulationRun:
    """A simulated schedule: each update's disposition, the departures in order, the outcome, and the
    decisions that no worker could have taken."""

    dispositions: tuple[Disposition, ...]
    departures: tuple[Departure, ...]
    outcome: ScheduleOutcome
    impossible: tuple[GeneratedUpdate, ...]


def simulate_schedule(schedule: UpdateSchedule) -> SimulationRun:
    """Run a schedule, its updates in time order, from an empty engine at time 0."""
    simulation = Simulation(schedule.system)
    dispositions: list[Disposition] = []
    impossible: list[GeneratedUpdate] = []
    for update in schedule.updates:
        if update.sent not in simulation.choices(update.time, update.cluster):
            impossible.append(update)
        dispositions.append(simulation.offer(update.time, update.cluster, update.sent))
    outcome = simulation.finish()
    return SimulationRun(tuple(dispositions), tuple(simulation.departures), outcome, tuple(impossible))


Meeting = set[tuple[tuple[int, int], tuple[int, int]]]


def continue_schedule(start: UpdateSchedule, system: System) -> UpdateSchedule:
    """Return ``start``, of a shorter horizon, continued to ``system``'s: in time, with everything sent."""
    planned = {(update.cluster, update.worker, update.seq): update for update in start.updates}
    first = _find_meetings(start.updates)
    updates = list(start.updates)
    for index, cluster in enumerate(system.clusters):
        for worker in range(1, cluster.workers + 1):
            for seq in range(system.rounds[index]):
                if (index, worker, seq) not in planned:
                    origin = planned[index, worker, 0].time
                    updates.append(GeneratedUpdate(origin + seq * cluster.period, index, worker, seq, True))

    def earlier(one: GeneratedUpdate, other: GeneratedUpdate) -> int:
        pair = (one.cluster, one.worker), (other.cluster, other.worker)
        return one.time - other.time or (-1 if pair in first else 1 if pair[::-1] in first else 0)

    simulation = Simulation(system)
    decided = []
    for update in sorted(updates, key=cmp_to_key(earlier)):
        allowed = simulation.choices(update.time, update.cluster)
        sent = update.sent if update.sent in allowed else allowed[0]
        simulation.offer(update.time, update.cluster, sent)
        decided.append(GeneratedUpdate(update.time, update.cluster, update.worker, update.seq, sent))
    return UpdateSchedule(system, tuple(decided))


def is_lawful(schedule: UpdateSchedule) -> bool:
    """Return whether a schedule keeps to its system's arrival model, and to its order of meetings."""
    system = schedule.system
    by_worker: dict[tuple[int, int], list[GeneratedUpdate]] = {}
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
    meetings = _find_meetings(schedule.updates)
    in_time = all(one.time <= other.time for one, other in pairwise(schedule.updates))
    return in_time and (not system.exact or not any(pair[::-1] in meetings for pair in meetings))


def _find_meetings(updates: Iterable[GeneratedUpdate]) -> Meeting:
    """Return (first, second) for all sources of different clusters that reach the engine at one instant."""
    by_time: dict[int, list[GeneratedUpdate]] = {}
    for update in updates:
        by_time.setdefault(update.time, []).append(update)
    return {
        ((one.cluster, one.worker), (other.cluster, other.worker))
        for group in by_time.values()
        for place, one in enumerate(group)
        for other in group[place + 1 :]
        if one.cluster != other.cluster
    }
