"""Tables 2 and 3 over what the paper leaves open: the same setups, measured and shown in the same way."""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from olaflab.model.scenario import Control
from olaflab.papers.figure import Points, Progress, Table
from olaflab.papers.olaf.multi_hop import MS, Queue, Setup, measure, once
from olaflab.papers.statistics import Figures, over

SWEEP_RUNS = 10
"""Runs of each setup of a sweep, at most."""
_EDGES = (0.5, 0.55, 0.6, 0.7, 0.8, 1.0, 2.0, 100.0)
"""Outputs of SW1 and SW2, in Mb/s; the last is no bottleneck at all."""
_JITTERS = (0.0, 0.01, 0.1, 1.0)
_CORES = (0.5, 0.75, 1.0, 1.5)
DEVICE_QUEUE = 100
"""Frames: what a device of ns-3 holds unless told otherwise."""
DEEP_FIFO = f"FIFO, {DEVICE_QUEUE} frames behind"
"""The base's name for FIFO with a device's queue behind each of its own."""
_BEHIND = (25, 50, 75, DEVICE_QUEUE)
_ALIKE = (1.0, 2.0, 5.0, 10.0)
"""Outputs of all three, in Mb/s, where all workers send at once."""
_M = 1e6

HEADS = (
    "loss, %",
    "held back, %",
    "AoM S1, ms",
    "AoM S2, ms",
    "fairness",
    "workers' AoM S1, ms",
    "workers' AoM S2, ms",
    "workers' fairness",
)
_NAMES = (
    ("loss", 1),
    ("held", 1),
    ("age_s1", 0),
    ("age_s2", 0),
    ("fairness", 3),
    ("worker_s1", 0),
    ("worker_s2", 0),
    ("worker_fairness", 3),
)


@dataclass(frozen=True)
class Point:
    """A place in a sweep: what it is called, and what differs from the base in all queues."""

    sweep: str
    label: str
    changes: Mapping[str, Any]


def points() -> Iterator[Point]:
    """Everything that OLAF §8.3 leaves open, one at a time; the edges' rates and the jitter go together."""
    for edge in _EDGES:
        for jitter in _JITTERS:
            label = f"{edge:g} Mb/s, jitter {jitter:.0%}"
            yield Point("edge", label, {"x1": edge * _M, "x2": edge * _M, "jitter": jitter})
    for core in _CORES:
        changes = {"x1": 0.7 * core * _M, "x2": 0.7 * core * _M, "x3": core * _M}
        yield Point("core", f"{core:g} Mb/s", changes)
    for core in (0.4, 0.5):
        changes = {"x1": 100 * _M, "x2": 100 * _M, "x3": core * _M}
        yield Point("core", f"{core:g} Mb/s, SW1 and SW2 100 Mb/s", changes)
    for behind in _BEHIND:
        yield Point("behind", f"{behind} frames behind FIFO's slots", {"behind": behind})
    for rate in _ALIKE:
        for jitter in (0.01, 0.1):
            changes = {"x1": rate * _M, "x2": rate * _M, "x3": rate * _M, "jitter": jitter, "together": True}
            yield Point("together", f"all outputs {rate:g} Mb/s, jitter {jitter:.0%}", changes)
    for delay in (0, 1, 10):
        yield Point("delay", f"{delay} ms each way on every link", {"delay": delay * MS})


def control_points() -> Iterator[Point]:
    """What transmission control leaves open (OLAF §5)."""
    for tolerance in (0.05, 0.1, 0.2, 0.4):
        for text, v in (("Δ_T", tolerance), ("1/Δ_T", 1 / tolerance)):
            yield Point(
                "control", f"Δ_T {tolerance * 1000:g} ms, v = {text}", {"control": Control(v, tolerance)}
            )
    yield Point("control", "an ACK is as long as an update", {"ack_bytes": 1000})
    for window in (10, 100, 200, 400):
        yield Point(
            "control", f"active clusters: those of the last {window} ms", {"active_window": window * MS}
        )


def measured(periods: tuple[int, int], runs: int, controls: bool, progress: Progress) -> Points:
    """The base and every point of the sweeps; with ``controls`` also those of transmission control."""
    progress(f"{runs} runs of each queue")
    each = {queue: [once(Setup(queue, periods), seed) for seed in range(runs)] for queue in Queue}
    pairs = zip(each[Queue.OLAF], each[Queue.OLAF_TC], strict=True)
    fairer = sum(with_control["fairness"] > without["fairness"] for without, with_control in pairs)
    base = {queue.value: over(rows).as_json() for queue, rows in each.items()}
    deep = Setup(Queue.FIFO, periods, behind=DEVICE_QUEUE)
    base[DEEP_FIFO] = measure(deep, range(runs)).as_json()
    found = []
    everything = [(point, list(Queue)) for point in points()]
    if controls:
        everything += [(point, [Queue.OLAF_TC]) for point in control_points()]
    for number, (point, queues) in enumerate(everything):
        if number % 8 == 0:
            progress(f"sweep, setup {number + 1} of {len(everything)}")
        rows = {
            queue.value: measure(
                replace(Setup(queue, periods), **point.changes), range(min(runs, SWEEP_RUNS))
            ).as_json()
            for queue in queues
        }
        found.append({"sweep": point.sweep, "label": point.label, "queues": rows})
    return {"runs": runs, "base": base, "fairer": fairer, "sweep": found}


def cells(found: Figures) -> list[str]:
    """One row under HEADS."""
    return [found.text(name, digits) for name, digits in _NAMES]


def table(title: str, data: Points, sweep: str, queues: Collection[str] = tuple(Queue)) -> Table:
    """All setups of one sweep, a row for each queue."""
    rows = [
        [point["label"], queue, *cells(Figures.of_json(kept))]
        for point in data["sweep"]
        if point["sweep"] == sweep
        for queue, kept in point["queues"].items()
        if queue in queues
    ]
    return Table(title, ("setup", "queue", *HEADS), rows)


def statements(data: Points, sweep: str) -> Sequence[tuple[str, int, int, list[str]]]:
    """Each statement of the paper: in how many setups of a sweep it holds, of how many, and where not."""
    setups = {
        point["label"]: {queue: Figures.of_json(kept) for queue, kept in point["queues"].items()}
        for point in data["sweep"]
        if point["sweep"] == sweep
    }
    found = []
    for text, holds in _STATEMENTS.items():
        wrong = [label for label, queues in setups.items() if not holds(queues)]
        found.append((text, len(setups) - len(wrong), len(setups), wrong))
    return found


def _less(queues: Mapping[str, Figures], names: tuple[str, str]) -> float:
    """How many times less Olaf's age is than FIFO's: the lesser of the two groups' ratios."""
    return min(queues["FIFO"].mean(name) / queues["Olaf"].mean(name) for name in names)


_STATEMENTS: Mapping[str, Callable[[Mapping[str, Figures]], bool]] = {
    "FIFO loses at least 80 %": lambda queues: queues["FIFO"].mean("loss") >= 80,
    "Olaf loses at most 6 %": lambda queues: queues["Olaf"].mean("loss") <= 6,
    "Olaf_TC loses at most 6 %": lambda queues: queues["Olaf_TC"].mean("loss") <= 6,
    "Olaf's Age-of-Model is lower than FIFO's": lambda queues: _less(queues, ("age_s1", "age_s2")) > 1,
    "Olaf's Age-of-Model is at least 4 times lower, by cluster": lambda queues: (
        _less(queues, ("age_s1", "age_s2")) >= 4
    ),
    "Olaf's Age-of-Model is at least 4 times lower, by worker": lambda queues: (
        _less(queues, ("worker_s1", "worker_s2")) >= 4
    ),
    "Olaf's fairness is above FIFO's": lambda queues: (
        queues["Olaf"].mean("fairness") > queues["FIFO"].mean("fairness")
    ),
    "Olaf_TC's fairness is at least 0.98": lambda queues: queues["Olaf_TC"].mean("fairness") >= 0.98,
    "Olaf_TC's fairness is above Olaf's": lambda queues: (
        queues["Olaf_TC"].mean("fairness") > queues["Olaf"].mean("fairness")
    ),
}
