"""Holds the Verilated queue and the one in C++ to the golden model, on random traffic.

Compared, of every frame that leaves: all bytes, all sidecar fields, the status. Of every run: each
counter of what became of frames. Frames that pass by the queue must leave in order, byte for byte;
one may be refused only when the bypass had no room for it.

``olaflab bench conform`` runs many seeds and prints how often each rule was met.
"""

import json
import random
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

from olafctl.queue.registers import Command, IndexSettings, rate_word
from olafctl.queue.verilate import build_queue
from olafctl.wire.geometry import Geometry
from olafctl.wire.modes import Mode
from olafswitch.errors import BadInput, Problem
from olaftest.queue import edges
from olaftest.queue.clockless import ClocklessQueue, build_clockless
from olaftest.queue.comparison import QueueComparison
from olaftest.queue.golden import GoldenQueue, Unexplained, iswitch_async
from olaftest.queue.model import QueueModel
from olaftest.queue.traffic import Traffic

GEOMETRIES = (
    Geometry(indices=16, slots=8, beats=24),
    Geometry(indices=9, slots=8, beats=142, adder_latency=5),
    Geometry(indices=1, slots=1, beats=6, members=1, adder_latency=3),
    Geometry(indices=1024, slots=40, beats=24, members=64, adder_latency=6),
    Geometry(indices=5, slots=3, beats=4, members=3),
)
"""From one index and one slot to a thousand, with and without jumbo frames, every adder latency."""
_WINDOW_FRAMES = 150
_WEIGHED_FRAMES = 80
_OLDER_ACKS = 24
"""ACKs of older versions; the engine believes the last ones: it doubts sixteen in a row."""
_STROBES = ((0xF,), (1, 2, 4, 8), (0xC, 0x3), (8, 6, 1), (2, 0, 0xD))
"""Ways to write a register, all bytes of it in the end."""


@dataclass
class Coverage:
    """What a series of runs met."""

    frames: int = 0
    seeds: int = 0
    rules: Counter[str] = field(default_factory=Counter)

    def add_run(self, comparison: QueueComparison) -> None:
        self.frames += comparison.frames
        self.seeds += 1
        self.rules.update(comparison.golden.counters)
        self.rules.update(comparison.golden.cases)

    @property
    def unmet_rules(self) -> list[str]:
        """Rules that no frame met."""
        return sorted(rule for rule in EXPECTED if not self.rules[rule])


EXPECTED = (
    *GoldenQueue(Geometry()).counters,
    *("merged, newer", "merged, older", "contributed, newer", "contributed, older"),
    *(f"cut through while {what}" for what in ("appended", "merged", "replaced_worker", "replaced_reward")),
    *(f"repaired {end} while {what}" for end in ("truncated", "overlong") for what in ("appended", "merged")),
    *(f"released by {what}" for what in ("the last contribution", "SET", "FBCAST")),
    *("discarded by SET", "discarded by RESET"),
    *("scaled", "weighed, not scaled", "forgotten after stale updates", "an older version was believed"),
    *(f"numbered, {place}" for place in iswitch_async.PLACES),
    *(f"command {command.name}" for command in Command),
    "command refused",
)


def run_seed(
    model: QueueModel, geometry: Geometry, seed: int, frames: int, in_cpp: Path | None = None
) -> QueueComparison:
    """Run random traffic under random settings in a new ``model``, episode by episode.

    ``in_cpp`` is the library of the queue in C++, which receives every event of the model.

    Raises Unexplained, naming the seed, when the queue and its golden model differ.
    """
    pick = random.Random(seed)
    comparison = QueueComparison(model, geometry)
    try:
        used = _start_in_the_middle(comparison, geometry, pick)
        comparison = QueueComparison(model, geometry, None if in_cpp is None else ClocklessQueue(in_cpp))
        comparison.command(Command.GET, used, used, IndexSettings())
        comparison.set(active_window=pick.choice((50, 1000, 20_000)))
        _run_windows(comparison, geometry, pick)
        edges.window_edges(comparison, geometry, pick)
        _run_weights(comparison, geometry, pick)
        edges.version_edges(comparison, geometry, pick)
        edges.commands_beside_acks(comparison, geometry, pick)
        while comparison.frames < frames:
            _run_episode(comparison, geometry, pick, min(frames - comparison.frames, 150))
        comparison.set(hold=0, rate=0)
        comparison.settle()
        comparison.check_counters()
        comparison.check_rest()
    except Unexplained as error:
        raise Unexplained(f"{geometry}, seed {seed}: {error}") from error
    return comparison


def _start_in_the_middle(comparison: QueueComparison, geometry: Geometry, pick: random.Random) -> int:
    """Reset the queue while it works: what was under way must leave no trace. An index that was used."""
    traffic = Traffic(pick.getrandbits(32), geometry, min(geometry.indices, 4), 64)
    comparison.set(rate=rate_word(pick.choice((None, 1_000_000_000))))
    comparison.command(
        Command.SET,
        0,
        geometry.indices - 1 if geometry.indices < 99 else 9,
        _draw_settings(pick, traffic, Mode.ISWITCH),
    )
    for _ in range(30):
        comparison.offer(*traffic.next_beats())
    comparison.model.run(comparison.model.cycle + pick.randrange(20, 400))
    comparison.model.reset()
    return traffic.indices[0]


def _run_windows(comparison: QueueComparison, geometry: Geometry, pick: random.Random) -> None:
    """Run numbered sums alone, of few members, none of which is refused for lack of room."""
    traffic = Traffic(pick.getrandbits(32), geometry, 1, 16, numbered=True)
    comparison.set(accumulate_quota=geometry.slots)
    (index,) = traffic.indices
    threshold = pick.choice((1, 2, 2, 3))
    settings = IndexSettings(Mode.ISWITCH_ASYNC, threshold=threshold)
    comparison.command(Command.SET, index, index, settings)
    unknown = pick.choice((len(Mode), 1 << pick.randrange(2, 8), 1 << pick.randrange(9, 32)))
    comparison.bad_command(Command.SET, index, index, settings, mode=unknown)
    for command in (Command.RESET, Command.FBCAST):
        for _ in range(_WINDOW_FRAMES // 2):
            comparison.offer(*traffic.next_beats())
        comparison.settle()
        comparison.command(Command.GET, index, index, settings)
        comparison.command(command, index, index, settings)
        comparison.settle()


def _run_weights(comparison: QueueComparison, geometry: Geometry, pick: random.Random) -> None:
    """Run updates that are weighed by their staleness, then some that are too old, with few ACKs between
    them.

    Each time the server begins again.
    """
    comparison.set(stale_shifts_low=pick.getrandbits(32), stale_shifts_high=pick.getrandbits(32))
    for acks, behind, bound in ((0.3, pick.choice((0, 1)), 65535), (0.03, 40, pick.choice((0, 1, 3)))):
        traffic = Traffic(pick.getrandbits(32), geometry, 1, 40, acks=acks, behind=behind)
        (index,) = traffic.indices
        settings = IndexSettings(pick.choice((Mode.FIFO, Mode.OLAF)), stale_enable=1, stale_bound=bound)
        comparison.command(Command.SET, index, index, settings)
        for _ in range(_WEIGHED_FRAMES):
            comparison.offer(*traffic.next_beats())
        for frame in traffic.begin_again(_OLDER_ACKS):
            comparison.offer(*frame)
        comparison.settle()
    # Where there is one for every number, the first index' row is also that of the first index there is not.
    comparison.command(Command.GET, 0, 0, settings)


def _run_episode(comparison: QueueComparison, geometry: Geometry, pick: random.Random, frames: int) -> None:
    longest = (geometry.beats - 1) * 16
    if longest > 400 and pick.random() < 0.7:
        longest = 400
    indices = min(geometry.indices, pick.choice((1, 2, 4, 9, 16, 1024)))
    # Short updates of few indices, back to back: merges wait for the adders while others come and go.
    hasty = pick.random() < 0.3
    if hasty:
        longest, indices = pick.choice((1, 16, 17, 32)), min(geometry.indices, pick.choice((2, 3)))
    # Updates of few indices wait long, and those that come are judged by their rewards; in some episodes
    # by rewards and thresholds whose sums are beyond binary32's range.
    draw = 1.0 if hasty else pick.random()
    rivalry, extreme = draw < 0.3, draw < 0.1
    if rivalry:
        indices = min(geometry.indices, pick.choice((1, 2)))
    favourite = Mode.OLAF if hasty or rivalry else pick.choice((*Mode, None))
    if hasty and not rivalry and pick.random() < 0.3:
        favourite = Mode.ISWITCH_ASYNC
    numbered = favourite is Mode.ISWITCH_ASYNC
    traffic = Traffic(pick.getrandbits(32), geometry, indices, longest, extreme=extreme, numbered=numbered)
    comparison.set(
        rate=0, accumulate_quota=pick.choice((0, 1, geometry.slots // 2, geometry.slots, geometry.slots))
    )
    comparison.set(
        rate=rate_word(
            pick.choice((10**10, 2 * 10**10, 4 * 10**10, 6 * 10**10, 8 * 10**10))
            if hasty
            else pick.choice((None, None, 5 * 10**9, 2 * 10**10, 4 * 10**10))
        ),
        stale_shifts_low=pick.choice((0, 0x3222_1110, pick.getrandbits(32))),
        stale_shifts_high=pick.choice((0, 0x5554_4433, pick.getrandbits(32))),
        hold=int(not hasty and pick.random() < (0.7 if rivalry else 0.2)),
    )
    _configure_indices(comparison, traffic, pick, favourite)
    if rivalry:
        rewarding = replace(
            _draw_settings(pick, traffic, Mode.OLAF), mode=Mode.OLAF, halted=False, reward_enable=1
        )
        for index in traffic.indices:
            comparison.command(Command.SET, index, index, rewarding)
    restless = 0.0 if hasty else pick.choice((0.0, 0.0, 0.02, 0.3))
    stopping = pick.choice((0.0, 0.0, 0.02, 0.3))
    comparison.model.disturb(pick.getrandbits(32), restless, stopping, pick.choice((0.02, 0.5)))
    start = comparison.model.cycle
    spread = 0 if hasty else pick.choice((0, 0, 30, 200))
    for index in range(frames):
        comparison.offer(*traffic.next_beats(), cycle=start + index * spread)
    if pick.random() < 0.2:
        comparison.model.block(True)
        comparison.model.run(start + 3000)
        comparison.model.block(False)
        # A frame longer than it declares may wait for the output, so none may be left from before.
        comparison.settle()
        comparison.jam(traffic.fill_bypass())
    for _ in range(pick.choice((0, 0, 2, 10, 30))):
        comparison.model.run(comparison.model.cycle + pick.randrange(1 + 20 * max(10, spread)))
        _give_command(comparison, geometry, traffic, pick, favourite)
    comparison.settle()
    if pick.random() < 0.5:
        comparison.set(hold=0)
        comparison.settle()
    comparison.check_counters()


def _draw_settings(pick: random.Random, traffic: Traffic, favourite: Mode | None) -> IndexSettings:
    """Draw settings; ``favourite`` is the mode that most indices have."""
    threshold = pick.choice(traffic.thresholds)
    return IndexSettings(
        favourite if favourite is not None and pick.random() < 0.9 else pick.choice(tuple(Mode)),
        pick.random() < 0.05,
        pick.choice((1, 2, 2, 3, 3, 5, 8, 65535)),
        int(pick.random() < 0.5),
        int(np.float32(threshold).view(np.uint32)),
        int(pick.random() < 0.5),
        pick.choice((0, 1, 2, 3, 8, 40, 32767, 65535)),
    )


def _configure_indices(
    comparison: QueueComparison, traffic: Traffic, pick: random.Random, favourite: Mode | None
) -> None:
    """Configure some of the indices that take part; the others keep their settings."""
    if pick.random() < 0.5:
        first, last = min(traffic.indices), max(traffic.indices)
        comparison.command(
            Command.SET, first, last, _draw_settings(pick, traffic, favourite), pick.choice(_STROBES)
        )
    for index in pick.sample(traffic.indices, min(len(traffic.indices), pick.choice((0, 3, 8)))):
        comparison.command(
            Command.SET, index, index, _draw_settings(pick, traffic, favourite), pick.choice(_STROBES)
        )


def _give_command(
    comparison: QueueComparison,
    geometry: Geometry,
    traffic: Traffic,
    pick: random.Random,
    favourite: Mode | None,
) -> None:
    """Give a command at this cycle, for one index that takes part or some; now and then a bad one."""
    code = pick.choice((Command.SET, Command.SET, Command.FBCAST, Command.RESET, Command.GET))
    first = pick.choice(traffic.indices)
    last = first if code == Command.GET else min(geometry.indices - 1, first + pick.choice((0, 0, 1, 5)))
    settings = _draw_settings(pick, traffic, favourite)
    ranged = pick.choice((Command.SET, Command.FBCAST, Command.RESET))
    draw = pick.random()
    if draw < 0.03:
        comparison.bad_command(ranged, first + 1, first, settings)
    elif draw < 0.06:
        comparison.bad_command(ranged, first, geometry.indices + pick.choice((0, 1, 60_000)), settings)
    elif draw < 0.08:
        comparison.bad_command(pick.choice((0, 5, 255)), first, last, settings)
    elif draw < 0.1:
        unfit = pick.choice(
            (
                *(replace(settings, threshold=wrong) for wrong in (0, 65536, (1 << 32) - 1)),
                replace(settings, stale_bound=1 << pick.randrange(16, 32)),
            )
        )
        comparison.bad_command(Command.SET, first, last, unfit)
    else:
        comparison.command(code, first, last, settings, pick.choice(_STROBES))


def run_conformance(
    frames: int,
    per_seed: int,
    progress: Callable[[Coverage], None] = lambda coverage: None,
    resume: Path | None = None,
) -> Coverage:
    """Run seeds over all GEOMETRIES until ``frames`` were compared; see :func:`run_seeds`. Raises Unexplained
    on any difference, BadInput."""
    libraries = [(geometry, build_queue(geometry), build_clockless(geometry)) for geometry in GEOMETRIES]

    def one(coverage: Coverage, geometry: Geometry, verilated: Path, in_cpp: Path) -> None:
        with QueueModel(verilated) as model:
            coverage.add_run(run_seed(model, geometry, coverage.seeds, per_seed, in_cpp))

    return run_seeds(frames, libraries, one, progress, resume, f"{per_seed} frames a seed")


def run_seeds(
    frames: int,
    libraries: Sequence[tuple[Geometry, Path, Path]],
    one: Callable[[Coverage, Geometry, Path, Path], None],
    progress: Callable[[Coverage], None],
    resume: Path | None,
    how: str,
) -> Coverage:
    """Run ``one`` seed after the other, over ``libraries`` in turn, until ``frames`` were compared.

    ``resume`` keeps what is done after each seed; where it exists, the run goes on from it. It holds for the
    same libraries and ``how``: raises BadInput for a file of others.
    """
    of = [how, *(library.parent.name for _, *both in libraries for library in both)]
    coverage = Coverage()
    if resume is not None and resume.exists():
        try:
            kept = json.loads(resume.read_text())
            coverage = Coverage(kept["frames"], kept["seeds"], Counter(kept["rules"]))
            fits = kept["of"] == of
        except (ValueError, KeyError, TypeError):
            fits = False
        if not fits:
            remedy = "delete it, or name another file"
            raise BadInput(Problem("does not hold a run of these queues and options", str(resume), remedy))
    while coverage.frames < frames:
        one(coverage, *libraries[coverage.seeds % len(libraries)])
        if resume is not None:
            partial = resume.with_name(f"{resume.name}.partial")
            partial.write_text(json.dumps({"of": of, **vars(coverage)}))
            partial.replace(resume)
        progress(coverage)
    return coverage
