"""OLAF §8.1 on a running engine: one trace, through FIFO and Olaf, at each output rate."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from olafctl import paths
from olafctl.replay import trace as traces
from olafctl.replay.frames import values_in
from olafctl.replay.run import Outcome, Setting, replay
from olafctl.replay.schedule import Load, Schedule, schedule
from olafctl.targets.interface import Progress, Running
from olafctl.testbed.model import Mode, Testbed

TRACE = Path("testbeds") / "traces" / "nine-clusters.npz"
LOAD = Load(offered=60e9, link=100e9, frame_bytes=256)
"""Packets of 2048 bits at 60 Gb/s in all, over a 100 Gb/s port."""

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
class Experiment:
    """What was sent, and what came of it under each setting."""

    testbed: Testbed
    plan: Schedule
    outcomes: Sequence[Outcome]

    def of(self, mode: Mode, rate: int) -> Outcome:
        """The outcome under one setting. Raises StopIteration when there is none."""
        return next(outcome for outcome in self.outcomes if outcome.setting == Setting(mode, rate))


def run(running: Running, testbed: Testbed, progress: Progress) -> Experiment:
    """Replay the shipped trace under every setting. Raises OlafError."""
    trace = traces.load(paths.sources() / TRACE)
    plan = schedule(trace, len(testbed.workers), LOAD)
    values = values_in(LOAD.frame_bytes, trace)
    offered, outcomes = LOAD.offered / G, []
    for setting in SETTINGS:
        rate = (setting.rate or 0) // G
        progress(f"replaying {len(plan.time)} updates: {setting.mode.value}, {offered:g} → {rate} Gb/s")
        outcomes.append(replay(running, testbed, trace, plan, values, setting))
    return Experiment(testbed, plan, outcomes)


def plots(experiment: Experiment, folder: Path) -> tuple[Path, Path]:
    """Save figure 6 and Age-of-Model over time as PNG. Raises OlafError when they cannot be written."""
    from olafctl.replay import plot

    figure6, ages = folder / "figure6.png", folder / "age-of-model.png"
    plot.aggregations(
        [outcome for outcome in experiment.outcomes if outcome.setting.mode is Mode.OLAF], figure6
    )
    pair = [experiment.of(mode, 20 * G) for mode in (Mode.FIFO, Mode.OLAF)]
    plot.ages(pair, experiment.testbed, experiment.plan, LOAD.frame_bytes, ages)
    return figure6, ages
