"""The second opinion: the engine and its workers as a discrete-event model, one step an update.

It shares nothing with the encoding but the parameters: a list of waiting slots, an output that is busy
until some time, and what each cluster has received. Everything is an integer nanosecond.
"""

from dataclasses import dataclass, field
from enum import StrEnum
from fractions import Fraction
from typing import NamedTuple

from olafctl.verify.question.objective import Outcome
from olafctl.verify.question.system import SlotFreed, System, Transmission
from olafctl.verify.simulation.schedule import Schedule, Update


class Disposition(StrEnum):
    """What becomes of a generated update."""

    WITHHELD = "withheld"
    WAITS = "waits"
    JOINS = "joins"
    """Replaces or is aggregated with its cluster's waiting update."""
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
    """The state between two updates. Offer updates in time order, then :meth:`finish`."""

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
        """An independent state to continue from."""
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
        """What a worker of ``cluster`` may decide for an update generated at ``time``: send, withhold."""
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
        """Δ̂ (OLAF §5): ns since the last ACK that reached the cluster by ``time``, one at 0 included."""
        return time - max(ack for ack in self.acks[cluster] if ack <= time)

    def offer(self, time: int, cluster: int, sent: bool) -> Disposition:
        """A worker generates an update at ``time`` and sends it or not; what becomes of it."""
        self._depart(time)
        received = self.received[cluster]
        self.final_age[cluster] = time - (0 if received is None else received)
        if self.system.controlled and self.system.transmission is Transmission.EXPECTED:
            probability = self.system.probability(self.feedback_age(time, cluster))
            self.credit[cluster] += probability - sent
        self.withheld[cluster] = 0 if sent else self.withheld[cluster] + 1
        return self._arrive(time, cluster) if sent else Disposition.WITHHELD

    def finish(self) -> Outcome:
        """Let everything leave; what the schedule came to."""
        while self.waiting:
            self._depart(max(self.busy_until, self.waiting[0].opened))
        peaks: list[list[int]] = [[] for _ in self.system.clusters]
        for departure in self.departures:
            if departure.peak is not None:
                peaks[departure.cluster].append(departure.peak)
        return Outcome(peaks, self.final_age, self.lost)

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
class Run:
    """A simulated schedule: each update's disposition, the departures in order, the outcome, and the
    decisions no worker could have taken."""

    dispositions: tuple[Disposition, ...]
    departures: tuple[Departure, ...]
    outcome: Outcome
    impossible: tuple[Update, ...]


def simulate(schedule: Schedule) -> Run:
    """Run a schedule, its updates in time order, from an empty engine at time 0."""
    simulation = Simulation(schedule.system)
    dispositions: list[Disposition] = []
    impossible: list[Update] = []
    for update in schedule.updates:
        if update.sent not in simulation.choices(update.time, update.cluster):
            impossible.append(update)
        dispositions.append(simulation.offer(update.time, update.cluster, update.sent))
    outcome = simulation.finish()
    return Run(tuple(dispositions), tuple(simulation.departures), outcome, tuple(impossible))
