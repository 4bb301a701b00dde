"""The queue in C++ next to the Verilated one, with the same frames in the same cycles: what leaves when."""

import random
from dataclasses import dataclass, fields
from pathlib import Path

import numpy as np

from olafctl.queue.registers import REGISTERS, Access, IndexSettings, rate_word
from olafctl.queue.software import build_software_queue
from olafctl.queue.verilate import build_queue
from olafctl.wire.geometry import Geometry
from olafctl.wire.layouts import Kind
from olafctl.wire.modes import Mode
from olaftest.queue.model import AnyQueue, Departure, QueueModel, Sidecar, without_status
from olaftest.queue.traffic import update

_FIRST = 2000
"""The cycle of the first arrival: the registers are written before."""
_AT_REST = 10**9
_RATES = (None, 2 * 10**9, 5 * 10**9, 20 * 10**9, 40 * 10**9, 100 * 10**9)
_BEATS = (1, 2, 3, 4, 5, 8, 16, 24, 142)
UNLIKE = ("cycle", "input_stalls", "cut_through")
"""Counters of how the Verilog goes about it: a frame is in the queue in C++ whole or not at all."""

Arrivals = list[tuple[int, Sidecar, bytes]]


@dataclass
class Agreement:
    """How often what left the one queue was not what left the other."""

    frames: int = 0
    """That left the Verilated one."""
    other_frames: int = 0
    """Bytes or sidecar."""
    other_times: int = 0
    """The same, in another cycle."""
    other_statuses: int = 0
    other_counters: int = 0

    def add(self, other: "Agreement") -> None:
        for each in fields(self):
            setattr(self, each.name, getattr(self, each.name) + getattr(other, each.name))


def agreement(loads: int, frames: int, seed: int, geometry: Geometry | None = None) -> Agreement:
    """``frames`` whole frames of each of ``loads`` random loads. Raises MissingTool without Verilator."""
    geometry = geometry or Geometry()
    libraries = build_queue(geometry), build_software_queue(geometry)
    total = Agreement()
    for load in range(loads):
        total.add(_compare(random.Random(f"{seed} {load}"), geometry, frames, *libraries))
    return total


def _compare(
    pick: random.Random, geometry: Geometry, frames: int, verilated: Path, in_cpp: Path
) -> Agreement:
    word = rate_word(pick.choice(_RATES))
    settings = [
        IndexSettings(
            pick.choices(list(Mode), (0.6, 0.2, 0.1, 0.1))[0],
            threshold=pick.choice((1, 2, 3, 4)),
            reward_enable=pick.randrange(2),
            reward_threshold=int(np.float32(pick.choice((0.0, 0.5, 3.0))).view(np.uint32)),
        )
        for _ in range(geometry.indices)
    ]
    arrivals = _arrivals(pick, geometry, frames)
    left, counted = [], []
    for queue in (QueueModel(verilated), AnyQueue(in_cpp)):
        with queue:
            for index, its in enumerate(settings):
                queue.registers.configure(index, index, its)
            queue.registers.write("rate", word)
            for cycle, sidecar, frame in arrivals:
                queue.offer(sidecar, frame, cycle)
            queue.settle(_AT_REST)
            left.append(list(queue.take()))
            counted.append(queue.registers.read_all())
    found = _difference(*left)
    counters = [each.name for each in REGISTERS if each.access is Access.COUNTER and each.name not in UNLIKE]
    found.other_counters = sum(counted[0][name] != counted[1][name] for name in counters)
    return found


def _arrivals(pick: random.Random, geometry: Geometry, frames: int) -> Arrivals:
    """Updates and ACKs of some indices and workers, from back to back to far apart."""
    beats = pick.choice([each for each in _BEATS if each <= geometry.beats])
    spread = pick.choice((beats, 2 * beats, 5 * beats, 20 * beats))
    indices, workers = pick.randint(1, geometry.indices), pick.randint(1, 4)
    acks = pick.choice((0.0, 0.0, 0.1, 0.5))
    cycle, made = _FIRST, Arrivals()
    rounds = [0] * geometry.indices
    for _ in range(frames):
        cycle += pick.randint(beats, max(spread, beats + 2))
        index, worker = pick.randrange(indices), pick.randint(1, workers)
        rounds[index] += 1
        sidecar, frame = update(
            index,
            worker,
            np.random.default_rng(cycle).normal(size=16 * (beats - 1)).astype("<f4").tobytes(),
            seq=1 + rounds[index] // workers + pick.choice((0,) * 20 + (-1, 1)),
            reward=int(np.float32(pick.choice((0.0, 1.0, -2.0, 5.0))).view(np.uint32)),
            gen_time=cycle + pick.choice((0, 0, -500)),
            member=worker,
        )
        if pick.random() < acks:
            frame = frame[: pick.randint(1, len(frame))]
            sidecar = Sidecar(len(frame), kind=Kind.ACK, cluster=index)
        made.append((cycle, sidecar, frame))
    return made


def _difference(theirs: list[Departure], ours: list[Departure]) -> Agreement:
    found = Agreement(frames=len(theirs), other_frames=abs(len(theirs) - len(ours)))
    for one, other in zip(theirs, ours, strict=False):
        same = without_status(one.sidecar) == without_status(other.sidecar) and one.frame == other.frame
        found.other_frames += not same
        found.other_times += same and one.last != other.last
        found.other_statuses += same and one.sidecar != other.sidecar
    return found
