"""Holds the Verilated queue to the golden model, on random traffic.

Compared, of every frame that leaves: all bytes, all sidecar fields, the status. Of every run: each
counter that says what became of frames. Frames that pass by the queue must leave in order, byte for byte;
one may be refused only when the bypass had no room for it.

``python -m olafctl.queue.conform --frames 200000`` runs many seeds and prints how often each rule was met.
"""

import random
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field

import click
import numpy as np

from olafctl.queue.comparison import Comparison
from olafctl.queue.golden import GoldenQueue, Unexplained
from olafctl.queue.model import QueueModel
from olafctl.queue.registers import MODE_FIFO, MODE_OLAF, rate_word
from olafctl.queue.traffic import Traffic
from olafctl.queue.verilate import build_queue
from olafctl.wire.geometry import Geometry

GEOMETRIES = (
    Geometry(clusters=16, slots=8, beats=24),
    Geometry(clusters=9, slots=8, beats=142, adder_latency=5),
    Geometry(clusters=1, slots=1, beats=6, adder_latency=3),
    Geometry(clusters=1024, slots=40, beats=24, adder_latency=6),
)
"""From one cluster and one slot to a thousand, with and without jumbo frames, every adder latency."""


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
    *(name for name in GoldenQueue(Geometry()).counters),
    "merged, newer",
    "merged, older",
    *(f"cut through while {what}" for what in ("appended", "merged", "replaced_worker", "replaced_reward")),
    *(f"repaired {end} while {what}" for end in ("truncated", "overlong") for what in ("appended", "merged")),
)


def run_seed(model: QueueModel, geometry: Geometry, seed: int, frames: int) -> Comparison:
    """Random traffic under random settings in a new ``model``, episode by episode.

    Raises Unexplained, naming the seed, when the queue and its golden model differ.
    """
    pick = random.Random(seed)
    comparison = Comparison(model, geometry)
    try:
        comparison.set(active_window=pick.choice((50, 1000, 20_000)))
        while comparison.frames < frames:
            _episode(comparison, geometry, pick, min(frames - comparison.frames, 150))
        comparison.set(hold=0, rate=0)
        comparison.settle()
        comparison.check_counters()
    except Unexplained as error:
        raise Unexplained(f"{geometry}, seed {seed}: {error}") from error
    return comparison


def _episode(comparison: Comparison, geometry: Geometry, pick: random.Random, frames: int) -> None:
    longest = (geometry.beats - 1) * 16
    if longest > 400 and pick.random() < 0.7:
        longest = 400
    clusters = min(geometry.clusters, pick.choice((1, 2, 4, 9, 16, 1024)))
    traffic = Traffic(pick.getrandbits(32), geometry, clusters, longest)
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
        comparison.offer(*traffic.beats(), cycle=start + index * spread)
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
    libraries = [(geometry, build_queue(geometry)) for geometry in GEOMETRIES]
    coverage = Coverage()
    while coverage.frames < frames:
        geometry, library = libraries[coverage.seeds % len(libraries)]
        with QueueModel(library) as model:
            coverage.add(run_seed(model, geometry, coverage.seeds, per_seed))
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
