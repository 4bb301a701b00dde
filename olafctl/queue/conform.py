"""Holds the Verilated queue to the golden model, on random traffic.

Compared, of every frame that leaves: all bytes, all sidecar fields, the status. Of every run: each
counter that says what became of frames. Frames that pass by the queue must leave in order, byte for byte;
one may be refused only when the bypass had no room for it.

``python -m olafctl.queue.conform --frames 200000`` runs many seeds and prints how often each rule was met.
"""

import random
import time
from collections import Counter, deque
from collections.abc import Callable
from dataclasses import dataclass, field

import click
import numpy as np

from olafctl.queue.golden import GoldenQueue, Unexplained, with_status
from olafctl.queue.model import Departure, Instant, QueueModel, Sidecar, without_status
from olafctl.queue.registers import MODE_FIFO, MODE_OLAF, rate_word
from olafctl.queue.traffic import Traffic
from olafctl.queue.verilate import Parameters, build_queue
from olafctl.wire.layouts import BEAT_BYTES, Kind

BYPASS_BEATS = 512
_LIMIT = 20_000_000

GEOMETRIES = (
    Parameters(clusters=16, slots=8, beats=24),
    Parameters(clusters=9, slots=8, beats=142),
    Parameters(clusters=1, slots=1, beats=6, adder_latency=3),
    Parameters(clusters=1024, slots=40, beats=24, adder_latency=6),
)
"""From one cluster and one slot to a thousand, with and without jumbo frames, shorter and longer adders."""


class Comparison:
    """A queue and its golden model, side by side."""

    def __init__(self, model: QueueModel, parameters: Parameters) -> None:
        self.model = model
        self.golden = GoldenQueue(parameters)
        self.frames = 0
        self._offered_others: deque[tuple[Sidecar, bytes]] = deque()
        self._others: deque[tuple[Sidecar, bytes]] = deque()
        self._other_beats = 0
        self._left_others: deque[tuple[int, int]] = deque()
        model.watch()

    def set(self, **settings: int) -> None:
        """Write settings, by register name, while nothing arrives."""
        golden = self.golden
        for name, value in settings.items():
            self.model.registers.write(name, value)
            match name:
                case "reward_threshold":
                    golden.threshold = np.uint32(value).view(np.float32)
                case "rate":
                    golden.limit_rate(value, self.model.cycle)
                case "active_window":
                    golden.window = value
                case _:
                    setattr(golden, name, value)
            self.see()

    def offer(self, sidecar: Sidecar, frame: bytes, cycle: int = 0) -> None:
        """Send a frame to both."""
        self.frames += 1
        self.golden.counters["input_beats"] += -(-len(frame) // BEAT_BYTES)
        self.model.offer(sidecar, frame, cycle)
        if sidecar.kind == Kind.UPDATE:
            self.golden.offer(sidecar, frame)
        else:
            self._offered_others.append((sidecar, frame))

    def settle(self) -> None:
        """Let all come to rest, and compare what left. Raises Unexplained on any difference."""
        if self.model.settle(_LIMIT) >= _LIMIT:
            raise Unexplained("the queue does not come to rest")
        self.see()

    def see(self) -> None:
        """Compare what left since the last time."""
        departures = list(self.model.take())
        others = [departure for departure in departures if departure.sidecar.kind != Kind.UPDATE]
        self._left_others.extend(
            (departure.last, -(-len(departure.frame) // BEAT_BYTES)) for departure in others
        )
        for instant in self.model.instants():
            self.golden.at(instant)
            self._bypass(instant)
        for departure in departures:
            self._compare(departure)

    def check_counters(self) -> None:
        """Compare every counter that the golden model predicts, and the occupancy."""
        shown = self.model.registers.read_all()
        self.see()
        wrong = [
            f"{name} is {shown[name]}, must be {expected}"
            for name, expected in (*self.golden.counters.items(), ("occupancy", self.golden.occupancy))
            if shown[name] != expected
        ]
        if wrong:
            raise Unexplained("; ".join(wrong))

    def _bypass(self, instant: Instant) -> None:
        counters = self.golden.counters
        while self._left_others and self._left_others[0][0] < instant.cycle:
            self._other_beats -= self._left_others.popleft()[1]
        if instant.admitted or instant.refused:
            sidecar, frame = self._offered_others.popleft()
            counters["in_bypass"] += 1
            if instant.admitted:
                self._others.append((sidecar, frame))
                self._other_beats += -(-len(frame) // BEAT_BYTES)
            else:
                counters["dropped_bypass"] += 1
                wanted = max(1, -(-sidecar.size // BEAT_BYTES))
                if self._other_beats + wanted <= BYPASS_BEATS:
                    raise Unexplained(f"a frame of {wanted} beats was refused by a bypass with room for it")

    def _compare(self, departure: Departure) -> None:
        counters = self.golden.counters
        counters["output_beats"] += -(-len(departure.frame) // BEAT_BYTES)
        if departure.sidecar.kind == Kind.UPDATE:
            sidecar, frame = self.golden.next_update()
        else:
            if not self._others:
                raise Unexplained("a frame left that was never let in")
            sidecar, frame = self._others.popleft()
            counters["out_bypass"] += 1
        if departure.frame != frame:
            raise Unexplained(_difference(departure.frame, frame))
        expected = with_status(without_status(sidecar), self.golden.status())
        if departure.sidecar != expected:
            raise Unexplained(f"a frame left with {departure.sidecar}, must be {expected}")


def _difference(seen: bytes, expected: bytes) -> str:
    if len(seen) != len(expected):
        return f"a frame left with {len(seen)} bytes, must have {len(expected)}"
    at = next(index for index, (one, other) in enumerate(zip(seen, expected, strict=True)) if one != other)
    some = slice(at, at + 8)
    return f"byte {at} of a frame of {len(seen)}: {seen[some].hex()}, must be {expected[some].hex()}"


@dataclass
class Coverage:
    """What a series of runs met."""

    frames: int = 0
    seeds: int = 0
    rules: Counter[str] = field(default_factory=Counter)

    def add(self, comparison: Comparison) -> None:
        self.frames += comparison.frames
        self.seeds += 1
        self.rules.update(comparison.golden.counters)
        self.rules.update(comparison.golden.cases)

    @property
    def unmet(self) -> list[str]:
        """Rules that no frame met."""
        return sorted(rule for rule in EXPECTED if not self.rules[rule])


EXPECTED = (
    *(name for name in GoldenQueue(Parameters()).counters),
    "merged, newer",
    "merged, older",
    *(f"cut through while {fate}" for fate in ("appended", "merged", "replaced_worker", "replaced_reward")),
    *(f"repaired {end} while {fate}" for end in ("short", "long") for fate in ("appended", "merged")),
)


def run_seed(model: QueueModel, parameters: Parameters, seed: int, frames: int) -> Comparison:
    """Random traffic under random settings in a new ``model``, episode by episode.

    Raises Unexplained, naming the seed, when the queue and its golden model differ.
    """
    pick = random.Random(seed)
    comparison = Comparison(model, parameters)
    try:
        comparison.set(active_window=pick.choice((50, 1000, 20_000)))
        while comparison.frames < frames:
            _episode(comparison, parameters, pick, min(frames - comparison.frames, 150))
        comparison.set(hold=0, rate=0)
        comparison.settle()
        comparison.check_counters()
    except Unexplained as error:
        raise Unexplained(f"{parameters}, seed {seed}: {error}") from error
    return comparison


def _episode(comparison: Comparison, parameters: Parameters, pick: random.Random, frames: int) -> None:
    longest = (parameters.beats - 1) * 16
    if longest > 400 and pick.random() < 0.7:
        longest = 400
    clusters = min(parameters.clusters, pick.choice((1, 2, 4, 9, 16, 1024)))
    traffic = Traffic(pick.getrandbits(32), parameters, clusters, longest)
    comparison.set(
        rate=0,
        mode=MODE_FIFO if pick.random() < 0.15 else MODE_OLAF,
        reward_enable=int(pick.random() < 0.5),
        reward_threshold=int(np.float32(pick.choice((0.0, 0.5, 2.0, float("inf")))).view(np.uint32)),
    )
    comparison.set(
        rate=rate_word(pick.choice((None, None, 5_000_000_000, 20_000_000_000, 40_000_000_000))),
        hold=int(pick.random() < 0.2),
    )
    restless = pick.choice((0.0, 0.0, 0.02, 0.3))
    stopping = pick.choice((0.0, 0.0, 0.02, 0.3))
    comparison.model.disturb(pick.getrandbits(32), restless, stopping, pick.choice((0.02, 0.5)))
    start = comparison.model.cycle
    spread = pick.choice((0, 0, 30, 200))
    for index in range(frames):
        comparison.offer(*traffic.frame(), start + index * spread)
    if pick.random() < 0.1:
        comparison.model.block(True)
        comparison.model.run(start + 3000)
        comparison.model.block(False)
    comparison.settle()
    if pick.random() < 0.5:
        comparison.set(hold=0)
        comparison.settle()
    comparison.check_counters()


def run(frames: int, per_seed: int, progress: Callable[[Coverage], None] = lambda coverage: None) -> Coverage:
    """Seeds over all GEOMETRIES until ``frames`` were compared. Raises Unexplained on any difference."""
    libraries = [(parameters, build_queue(parameters)) for parameters in GEOMETRIES]
    coverage = Coverage()
    while coverage.frames < frames:
        parameters, library = libraries[coverage.seeds % len(libraries)]
        with QueueModel(library) as model:
            coverage.add(run_seed(model, parameters, coverage.seeds, per_seed))
        progress(coverage)
    return coverage


@click.command()
@click.option("--frames", default=200_000, show_default=True)
@click.option("--per-seed", default=2_000, show_default=True, help="Frames of one seed.")
def main(frames: int, per_seed: int) -> None:
    """Compare the Verilated queue with its golden model, and print how often each rule was met."""
    start = time.monotonic()
    coverage = run(
        frames,
        per_seed,
        lambda so_far: click.echo(f"\r{so_far.frames} of {frames} frames", nl=False, err=True),
    )
    click.echo("", err=True)
    for rule, met in sorted(coverage.rules.items()):
        click.echo(f"{met:>12}  {rule}")
    took = time.monotonic() - start
    click.echo(f"{coverage.frames} frames, {coverage.seeds} seeds, no difference, {took:.0f} s")
    if coverage.unmet:
        raise click.ClickException(f"never met: {', '.join(coverage.unmet)}")


if __name__ == "__main__":
    main()
