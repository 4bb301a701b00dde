"""Idle cycles are skipped, and this does not show in any byte, cycle or counter."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from random import Random

import pytest

from olafctl.queue.registers import rate_word
from olafctl.wire.geometry import Geometry
from olaftest.queue.conform import GEOMETRIES
from olaftest.queue.model import Departure, Instant, QueueModel
from olaftest.queue.traffic import Frame, Traffic

from .conftest import NewQueue

_ALWAYS = 2**31 - 1


@dataclass(frozen=True)
class Episode:
    """Settings, and frames with the cycles at which they come, counted from the settings on."""

    settings: dict[str, int]
    frames: Sequence[tuple[int, Frame]]


@dataclass(frozen=True)
class SeenCycles:
    """The visible results of an episode."""

    began: int
    ended: int
    registers: dict[str, int]
    departures: list[Departure]
    instants: list[Instant]


def episodes(geometry: Geometry, seed: int) -> list[Episode]:
    pick, made = Random(seed), []
    traffic = Traffic(seed, geometry, min(geometry.indices, 9), 60)
    for window in (0, 1, 40, 300, 1500, 20_000, _ALWAYS):
        settings = {
            "active_window": window,
            "rate": rate_word(pick.choice((None, 1_000_000_000, 7_000_000_000))),
            "hold": int(pick.random() < 0.2),
        }
        gaps = [pick.choice((3, 17, 60, 250, 700)) for _ in range(25)]
        frames = [(sum(gaps[:index]) + pick.randrange(9), traffic.next_frame()) for index in range(len(gaps))]
        made.append(Episode(settings, sorted(frames, key=lambda item: item[0])))
    return made


def walk(model: QueueModel, end: int) -> None:
    """Run every single cycle until ``end`` or just after: a register access skips none."""
    while model.cycle < end:
        model.registers.read("slots")


def play(
    model: QueueModel,
    plan: Sequence[Episode],
    ends: Sequence[int],
    pass_time: Callable[[QueueModel, int], None],
) -> list[SeenCycles]:
    model.watch()
    seen = []
    for episode, end in zip(plan, ends, strict=True):
        for name, value in episode.settings.items():
            model.registers.write(name, value)
        began = model.cycle
        for at, frame in episode.frames:
            model.offer(*frame, began + at)
        pass_time(model, end)
        ended = model.cycle
        registers = model.registers.read_all()
        seen.append(SeenCycles(began, ended, registers, list(model.take_departures()), model.instants()))
    return seen


@pytest.mark.parametrize(
    "geometry",
    [pytest.param(each, marks=pytest.mark.slow if 0 < at < 4 else ()) for at, each in enumerate(GEOMETRIES)],
    ids=str,
)
def test_skipped_cycles_leave_no_trace(geometry: Geometry, new_queue: NewQueue) -> None:
    for seed in range(2):
        plan = episodes(geometry, seed)
        ends = [9_000 * count + Random(seed).randrange(99) for count in range(1, len(plan) + 1)]
        walked = play(new_queue(geometry), plan, ends, walk)
        skipped = play(new_queue(geometry), plan, [seen.ended for seen in walked], QueueModel.run)
        assert skipped == walked
        assert {seen.registers["active_clusters"] for seen in walked} > {0}
        assert sum(len(seen.departures) for seen in walked) > 50
