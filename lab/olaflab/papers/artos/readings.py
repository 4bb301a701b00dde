"""When ARTOS wakes actors early, read in several ways: what its rule leaves open, and what follows from it.

The paper prints when to wake them (§4.3), but not since when a learner's latency counts, and not whether the
window outlives a change of the number of actors. A range is what it calls Δ; a deviation is what would fit.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import pstdev

from olaf.elastic import Monitor, Schedule

from olaflab.papers.artos.model import ModelCosts, ModelOutcome, average_outcomes, model_artos, model_ray


class Read(Monitor):
    """The rule with another measure of how the intervals differ."""

    def __init__(self, differ: Callable[[Sequence[float]], float]) -> None:
        super().__init__()
        self._differ = differ

    def prewarm(self) -> float | None:
        if not self.stable:
            return None
        first, slowest = min(end for _, end in self.window), max(start for start, _ in self.window)
        return max(0.0, first - slowest - self._differ([end - start for start, end in self.window]))


@dataclass(frozen=True)
class Reading:
    """One way to read it."""

    name: str
    make: Callable[[], Monitor] = Monitor
    learner: bool = False
    """Latencies count since the learner was invoked, not since the actors were."""
    forgets: bool = False
    """At a change of the number of actors."""


def _zero_difference(values: Sequence[float]) -> float:
    return 0.0


READINGS = (
    Reading("as printed"),
    Reading("the window begins again when the number of actors changes", forgets=True),
    Reading("latency since the learner was invoked", learner=True),
    Reading("both", learner=True, forgets=True),
    Reading("without Δ(interval)", lambda: Read(_zero_difference)),
    Reading("Δ(interval) as the standard deviation", lambda: Read(pstdev)),
)


@dataclass(frozen=True)
class ReadingLine:
    """What a reading gives; shares in percent of Ray's."""

    reading: str
    long: float
    """Core-seconds held, table 6, 200 updates: the paper has -47.1."""
    short: float
    """40 updates: -54.8."""
    fixed: float
    """Figure 14: 55.1 remain."""
    long_seconds: float
    """Latency, 200 updates: 1053."""
    short_seconds: float
    """40 updates: 208."""
    on_time: float
    """Invocations that wait less than 0.05 s, 200 updates: 92.75."""


def evaluate_readings(costs: ModelCosts, noise: float, seeds: int) -> list[ReadingLine]:
    """Evaluate all readings."""
    return [_evaluate_reading(reading, costs, noise, seeds) for reading in READINGS]


def _evaluate_reading(reading: Reading, costs: ModelCosts, noise: float, seeds: int) -> ReadingLine:
    def made(schedule: Schedule, updates: int) -> tuple[ModelOutcome, float]:
        outcomes = [
            model_artos(costs, schedule, updates, noise, seed, monitor=reading.make(),
                  learner=reading.learner, forgets=reading.forgets)
            for seed in range(seeds)
        ]  # fmt: skip
        found = average_outcomes(outcomes)
        return found, 100 * found.cpu / model_ray(costs, schedule, updates).cpu

    long, of_long = made(Schedule(4, 32, 4, 25), 200)
    short, of_short = made(Schedule(4, 32, 4, 5), 40)
    _, of_fixed = made(Schedule(16, 16, 1, 1), 200)
    return ReadingLine(reading.name, of_long - 100, of_short - 100, of_fixed, long.seconds, short.seconds,
                100 * long.on_time)  # fmt: skip
