"""A schedule: what every worker generates, when, and whether it sends it. Saved as JSON, replayable.

The file is an object with ``format`` "olaf-schedule/1", ``system`` (the parameters it was found under,
times in ns), ``objective`` (text, to read), ``updates`` and ``withheld``: lists of objects

    {"time_ns", "cluster", "worker", "seq", "gen_time"}

in order; at equal times the first in the list reaches the engine first. ``updates`` alone is what a
replay through an engine needs; ``withheld`` are the updates whose worker decided against sending.
``cluster`` is the index at the engine, ``worker`` counts from 1, ``seq`` from 0 at each worker.
"""

import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from olafctl.verify.question.system import Cluster, Slope, SlotFreed, System, Transmission
from olafswitch.errors import BadInput, Problem

FORMAT = "olaf-schedule/1"


@dataclass(frozen=True)
class Update:
    """One generated update; ``time`` is A(k), its arrival at the engine if sent, and its generation."""

    time: int
    cluster: int
    worker: int
    seq: int
    sent: bool


@dataclass(frozen=True)
class Schedule:
    """All updates of a system within the horizon, in the order they reach the engine."""

    system: System
    updates: tuple[Update, ...]


def save(schedule: Schedule, objective: str, path: Path) -> None:
    """Write ``schedule`` as the module describes. Raises BadInput when the file cannot be written."""
    document = {
        "format": FORMAT,
        "system": asdict(schedule.system),
        "objective": objective,
        "updates": [row(update) for update in schedule.updates if update.sent],
        "withheld": [row(update) for update in schedule.updates if not update.sent],
    }
    try:
        path.write_text(json.dumps(document, indent=1, ensure_ascii=False) + "\n")
    except OSError as error:
        raise BadInput(Problem(f"cannot be written: {error.strerror}", str(path))) from error


def load(path: Path) -> Schedule:
    """Read a saved schedule. Raises BadInput when the file is not one."""
    try:
        document = json.loads(path.read_text())
        if document["format"] != FORMAT:
            raise BadInput(Problem(f"its format is {document['format']!r}", str(path), f"known: {FORMAT}"))
        system = _system(document["system"])
        rows = [(row, True) for row in document["updates"]] + [(row, False) for row in document["withheld"]]
        updates = [
            Update(int(row["time_ns"]), int(row["cluster"]), int(row["worker"]), int(row["seq"]), sent)
            for row, sent in rows
        ]
    except (OSError, ValueError, KeyError, TypeError, AttributeError, OverflowError) as error:
        raise BadInput(
            Problem(f"is not a saved schedule: {error}", str(path), "olafctl verify --save writes one")
        ) from error
    for update in updates:
        if not 0 <= update.cluster < len(system.clusters) or update.time < 0:
            raise BadInput(Problem(f"update {update.seq} has no such cluster or time", str(path)))
    return Schedule(system, tuple(sorted(updates, key=lambda update: update.time)))


def row(update: Update) -> dict[str, int]:
    """An update as the module describes."""
    return {
        "time_ns": update.time,
        "cluster": update.cluster,
        "worker": update.worker,
        "seq": update.seq,
        "gen_time": update.time,
    }


def _system(fields: dict[str, Any]) -> System:
    clusters = tuple(
        Cluster(**{**cluster, "phase": tuple(cluster["phase"])}) for cluster in fields["clusters"]
    )
    kinds = {
        "transmission": Transmission(fields["transmission"]),
        "slope": Slope(fields["slope"]),
        "slot_freed": SlotFreed(fields["slot_freed"]),
    }
    return System(**{**fields, **kinds, "clusters": clusters})
