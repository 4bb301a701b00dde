"""OLAF §8.1 on a running engine: one trace, through FIFO and Olaf, at each output rate."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from olafctl import paths
from olafctl.targets.interface import Progress
from olafctl.testbed.model import Testbed
from olafctl.wire.modes import Mode
from olaflab.training.replay import trace as traces
from olaflab.training.replay.frames import values_in
from olaflab.training.replay.run import InVirtualTime, ReplayOutcome, Setting, clusters_of, replay_trace
from olaflab.training.replay.trace import ReplayLoad, ReplaySchedule, schedule_updates

TRACE = Path("testbeds") / "traces" / "nine-clusters.npz"
TOGETHER = ReplayLoad(offered=60e9, link=100e9, frame_bytes=256)
"""Packets of 2048 bits at 60 Gb/s in all, over a 100 Gb/s port; all clusters begin together."""
AT_ONCE = 4
"""Clusters that train at a time, as the paper's ages say of its traffic (docs/papers/olaf.md)."""
RUNS = 5
"""Each with another order in which the clusters begin."""

_KINDS = (".png", ".svg")

G = 10**9
SETTINGS = (
    Setting(Mode.FIFO, 40 * G),
    Setting(Mode.OLAF, 40 * G),
    Setting(Mode.FIFO, 20 * G),
    Setting(Mode.OLAF, 20 * G),
    Setting(Mode.OLAF, 5 * G),
)
"""Table 1's four, and figure 6's third."""


@dataclass(frozen=True)
class DemoRun:
    """A load that was sent, and its outcome under each of SETTINGS."""

    load: ReplayLoad
    plan: ReplaySchedule
    outcomes: Sequence[ReplayOutcome]


@dataclass(frozen=True)
class Experiment:
    """Runs of one kind of traffic through one testbed's engine."""

    testbed: Testbed
    runs: Sequence[DemoRun]

    def outcomes_of(self, mode: Mode, rate: int) -> Sequence[ReplayOutcome]:
        """Return every run's outcome under one of SETTINGS; ``rate`` in bit/s."""
        column = SETTINGS.index(Setting(mode, rate))
        return [run.outcomes[column] for run in self.runs]

    @property
    def at_once(self) -> int:
        """Clusters that train at a time."""
        return self.runs[0].load.at_once or len(self.testbed.clusters)


def in_turn() -> Sequence[ReplayLoad]:
    """Return a load for each run, in which the clusters train AT_ONCE at a time."""
    return [replace(TOGETHER, at_once=AT_ONCE, order=run) for run in range(RUNS)]


def run_experiment(
    running: InVirtualTime, testbed: Testbed, loads: Sequence[ReplayLoad], progress: Progress
) -> Experiment:
    """Replay the shipped trace, as each load says, under every setting. Raises OlafError."""
    trace = traces.load_trace(paths.sources() / TRACE)
    runs = []
    for number, load in enumerate(loads, 1):
        plan = schedule_updates(trace, clusters_of(testbed), load)
        values_in(load.frame_bytes, trace)
        which = f"{load.at_once} clusters at a time" if load.at_once else "all clusters together"
        progress(
            f"replaying {len(plan.time)} updates through FIFO and Olaf, {which}, run {number} of {len(loads)}"
        )
        outcomes = [replay_trace(running, testbed, trace, plan, load.blocks, setting) for setting in SETTINGS]
        runs.append(DemoRun(load, plan, outcomes))
    return Experiment(testbed, runs)


def save_plots(experiment: Experiment, folder: Path) -> tuple[Path, ...]:
    """Save figure 6 and Age-of-Model over time, of the first run, as PNG and SVG.

    Raises OlafError when they cannot be written.
    """
    from olaflab.training.replay import report as plot

    figure6, ages = ([folder / f"{name}{kind}" for kind in _KINDS] for name in ("figure6", "age-of-model"))
    testbed, first = experiment.testbed, experiment.runs[0]
    olaf = [outcome for outcome in first.outcomes if outcome.setting.mode is Mode.OLAF]
    plot.updates_per_frame(olaf, testbed, first.plan, first.load, *figure6)
    pair = [experiment.outcomes_of(mode, 20 * G)[0] for mode in (Mode.FIFO, Mode.OLAF)]
    plot.draw_ages(pair, testbed, first.plan, first.load, *ages)
    return *figure6, *ages
