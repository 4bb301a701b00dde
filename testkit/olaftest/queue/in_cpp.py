"""The queue in C++, alone and as shards of one, against the Verilated queue."""

import random
from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass, fields, replace
from pathlib import Path

import numpy as np

from olafctl.queue.registers import DISPOSITIONS, REGISTERS, Access, Command, IndexSettings, rate_word
from olafctl.queue.software import build_software_queue
from olafctl.queue.verilate import build_queue
from olafctl.wire.geometry import Geometry
from olafctl.wire.layouts import FrameKind
from olafctl.wire.modes import Mode
from olaftest.queue.comparison import QueueComparison
from olaftest.queue.conform import GEOMETRIES, Coverage, run_seeds
from olaftest.queue.golden import Unexplained
from olaftest.queue.model import AnyQueue, Departure, QueueModel, Sidecar, without_status
from olaftest.queue.traffic import make_update

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

    def add_counts(self, other: "Agreement") -> None:
        for each in fields(self):
            setattr(self, each.name, getattr(self, each.name) + getattr(other, each.name))


def compare_loads(loads: int, frames: int, seed: int, geometry: Geometry | None = None) -> Agreement:
    """Compare ``frames`` whole frames of each of ``loads`` random loads. Raises MissingTool without
    Verilator."""
    geometry = geometry or Geometry()
    libraries = build_queue(geometry), build_software_queue(geometry)
    total = Agreement()
    for load in range(loads):
        total.add_counts(_compare_load(random.Random(f"{seed} {load}"), geometry, frames, *libraries))
    return total


def _compare_load(
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
    arrivals = _draw_arrivals(pick, geometry, frames)
    left, counted = [], []
    for queue in (QueueModel(verilated), AnyQueue(in_cpp)):
        with queue:
            for index, its in enumerate(settings):
                queue.registers.configure(index, index, its)
            queue.registers.write("rate", word)
            for cycle, sidecar, frame in arrivals:
                queue.offer(sidecar, frame, cycle)
            queue.settle(_AT_REST)
            left.append(list(queue.take_departures()))
            counted.append(queue.registers.read_all())
    found = _count_differences(*left)
    counters = [each.name for each in REGISTERS if each.access is Access.COUNTER and each.name not in UNLIKE]
    found.other_counters = sum(counted[0][name] != counted[1][name] for name in counters)
    return found


def _draw_arrivals(pick: random.Random, geometry: Geometry, frames: int) -> Arrivals:
    """Draw updates and ACKs of some indices and workers, from back to back to far apart."""
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
        sidecar, frame = make_update(
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
            sidecar = Sidecar(len(frame), kind=FrameKind.ACK, cluster=index)
        made.append((cycle, sidecar, frame))
    return made


def _count_differences(theirs: list[Departure], ours: list[Departure]) -> Agreement:
    found = Agreement(frames=len(theirs), other_frames=abs(len(theirs) - len(ours)))
    for one, other in zip(theirs, ours, strict=False):
        same = without_status(one.sidecar) == without_status(other.sidecar) and one.frame == other.frame
        found.other_frames += not same
        found.other_times += same and one.last != other.last
        found.other_statuses += same and one.sidecar != other.sidecar
    return found


_LATER = 100
"""Cycles after which a slot that has become free is free to what comes."""
_LEAVES = 1000
"""Cycles in which what has begun to leave has left."""
_COUNTERS = ("in_updates", "out_updates", "appended", "merged", "forced", *DISPOSITIONS)
_Left = dict[int, list[tuple[Sidecar, bytes]]]
"""What left of each index, in order."""


class _Recorded(QueueComparison):
    """A comparison that records what left."""

    def __init__(self, model: QueueModel, geometry: Geometry) -> None:
        super().__init__(model, geometry)
        self.left: _Left = defaultdict(list)

    def _compare_departure(self, departure: Departure) -> None:
        super()._compare_departure(departure)
        self.left[departure.sidecar.index].append((without_status(departure.sidecar), departure.frame))


class Shards:
    """Queues of one library, and which of them has which index."""

    def __init__(self, library: Path, count: int) -> None:
        self.queues = [AnyQueue(library) for _ in range(count)]
        self._owners: dict[int, int] = defaultdict(int)
        self.left: _Left = defaultdict(list)
        self.moves = 0

    def offer(self, sidecar: Sidecar, frame: bytes) -> None:
        """Offer a frame to the shard that has its index."""
        self.queues[self._owners[sidecar.index]].offer(sidecar, frame)

    def write(self, name: str, value: int) -> None:
        """Set a register of all."""
        for queue in self.queues:
            queue.registers.write(name, value)

    def command(self, command: Command, first: int, last: int, settings: IndexSettings) -> None:
        """Give a command to all."""
        for queue in self.queues:
            if command is Command.SET:
                queue.registers.configure(first, last, settings)
            else:
                queue.registers.command(command, first, last)

    def move_index(self, index: int, shard: int) -> None:
        """Move an index, with all that waits."""
        before, self._owners[index] = self._owners[index], shard
        if before != shard:
            self.moves += 1
            self.queues[shard].take_over(self.queues[before], index, index)
            self.queues[before].run(self.queues[before].cycle + _LEAVES)
            # What has begun to leave there, before anything leaves here, as in an engine.
            self.take_departures()

    def settle(self) -> None:
        """Let everything leave."""
        for queue in self.queues:
            queue.settle(_AT_REST)
            queue.run(queue.cycle + _LATER)
        self.take_departures()

    def take_departures(self) -> None:
        for queue in self.queues:
            for each in queue.take_departures():
                self.left[each.sidecar.index].append((without_status(each.sidecar), each.frame))

    def counters(self) -> dict[str, int]:
        """Add up the counters of all shards. Raises Unexplained when those of one do not add up."""
        total = dict.fromkeys(_COUNTERS, 0)
        for number, queue in enumerate(self.queues):
            shown = queue.registers.read_all()
            accounted = shown["out_updates"] + shown["merged"] + shown["resident_updates"]
            accounted += sum(shown[name] for name in DISPOSITIONS)
            if accounted != shown["in_updates"]:
                raise Unexplained(
                    f"shard {number} has {shown['in_updates']} updates, {accounted} accounted for"
                )
            for name in _COUNTERS:
                total[name] += shown[name]
        return total


def run_seed(model: QueueModel, library: Path, geometry: Geometry, seed: int, frames: int, count: int) -> int:
    """Run ``frames`` in episodes through ``model`` and ``count`` shards; return the moves. Raises
    Unexplained."""
    pick = random.Random(f"shards {seed}")
    comparison, shards = _Recorded(model, geometry), Shards(library, count)
    for name, value in (("accumulate_quota", geometry.slots), ("stale_shifts_low", 0x32221110)):
        comparison.set(**{name: value})
        shards.write(name, value)
    try:
        while comparison.frames < frames:
            _run_episode(comparison, shards, geometry, pick)
    except Unexplained as error:
        raise Unexplained(f"{count} shards, {geometry}, seed {seed}: {error}") from error
    return shards.moves


def _run_episode(comparison: _Recorded, shards: Shards, geometry: Geometry, pick: random.Random) -> None:
    indices = [pick.randrange(geometry.indices) for _ in range(pick.randint(1, 6))]
    for index in indices:
        _give_both(comparison, shards, Command.SET, index, _draw_settings(pick))
    comparison.settle()
    shards.settle()
    comparison.set(hold=1)
    shards.write("hold", 1)
    for sidecar, frame in _draw_frames(
        indices, geometry, pick, geometry.slots - comparison.golden.accumulating
    ):
        comparison.offer(sidecar, frame)
        comparison.settle()  # or what comes right behind an ACK may not be judged by its version yet
        shards.offer(sidecar, frame)
        draw = pick.random()
        if draw < 0.3:
            shards.move_index(pick.choice(indices), pick.randrange(len(shards.queues)))
        elif draw < 0.4:
            which = pick.choice((Command.FBCAST, Command.RESET, Command.SET))
            _give_both(comparison, shards, which, pick.choice(indices), _draw_settings(pick))
    comparison.settle()
    shards.settle()
    comparison.set(hold=0)
    shards.write("hold", 0)
    for index in indices:
        for queue in shards.queues:
            queue.run(queue.cycle + pick.randrange(200))
        shards.move_index(index, pick.randrange(len(shards.queues)))
    comparison.settle()
    shards.settle()
    if shards.left != comparison.left:
        index = next(each for each in indices if shards.left[each] != comparison.left[each])
        raise Unexplained(f"what left of index {index} is not what left of one queue")
    shards.left.clear()
    comparison.left.clear()
    golden = comparison.golden.counters
    wrong = {name: value for name, value in shards.counters().items() if value != golden[name]}
    if wrong:
        raise Unexplained(f"together the shards count {wrong}")


def _give_both(
    comparison: QueueComparison, shards: Shards, command: Command, index: int, settings: IndexSettings
) -> None:
    comparison.command(command, index, index, settings)
    shards.command(command, index, index, settings)


def _draw_settings(pick: random.Random) -> IndexSettings:
    return IndexSettings(
        pick.choice(tuple(Mode)),
        threshold=pick.choice((1, 2, 3, 4)),
        reward_enable=pick.randrange(2),
        reward_threshold=int(np.float32(pick.choice((0.0, 0.5))).view(np.uint32)),
        stale_enable=pick.randrange(2),
        stale_bound=pick.choice((0, 2, 65535)),
    )


def _draw_frames(
    indices: list[int], geometry: Geometry, pick: random.Random, count: int
) -> Iterator[tuple[Sidecar, bytes]]:
    """Draw ``count`` updates and ACKs."""
    lanes = 16 * (min(pick.choice((1, 2, 5)), geometry.beats) - 1)
    rounds: dict[int, int] = defaultdict(int)
    for number in range(count):
        index, worker = pick.choice(indices), pick.randint(1, 3)
        rounds[index] += 1
        sidecar, frame = make_update(
            index,
            worker,
            np.random.default_rng(pick.getrandbits(32)).normal(size=lanes).astype("<f4").tobytes(),
            seq=1 + rounds[index] // 3 + pick.choice((0, 0, 0, 1)),
            reward=int(np.float32(pick.choice((0.0, 1.0, -2.0))).view(np.uint32)),
            gen_time=1000 + number + pick.choice((0, 0, -5)),
            member=worker % geometry.members,
        )
        if pick.random() < 0.2:
            sidecar = replace(sidecar, kind=FrameKind.ACK, worker=0, member=0)
        yield sidecar, frame


def run_shards(
    frames: int, count: int, progress: Callable[[Coverage], None], resume: Path | None = None
) -> Coverage:
    """Run seeds over all geometries with several indices until ``frames`` were compared; see
    :func:`olaftest.queue.conform.run_seeds`. Raises Unexplained on any difference, BadInput."""
    several = [geometry for geometry in GEOMETRIES if geometry.indices > 1]
    libraries = [(each, build_queue(each), build_software_queue(each)) for each in several]

    def one(coverage: Coverage, geometry: Geometry, verilated: Path, in_cpp: Path) -> None:
        part = min(1000, frames - coverage.frames)
        with QueueModel(verilated) as model:
            moves = run_seed(model, in_cpp, geometry, coverage.seeds, part, count)
        coverage.frames += part
        coverage.seeds += 1
        coverage.rules["moves"] += moves

    return run_seeds(frames, libraries, one, progress, resume, f"{count} shards")
