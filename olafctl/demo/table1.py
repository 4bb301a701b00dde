"""OLAF's table 1 beside ours."""

from dataclasses import dataclass
from typing import Any

from olafctl.demo.experiment import Experiment, G
from olafctl.replay.measure import Measurement, reduction
from olafctl.replay.report import as_json, mode_text
from olafctl.testbed.model import Mode


@dataclass(frozen=True)
class Published:
    """A row of OLAF table 1, and §8.1's reduction of the average age; None where it gives none."""

    received: int
    aggregated: int | None
    lost: float
    """Percent."""
    reduction: float | None
    """Percent, against FIFO at the same rate."""


PAPER = {
    (Mode.FIFO, 40): Published(6109, None, 55.8, None),
    (Mode.OLAF, 40): Published(4823, 7204, 11.0, 69),
    (Mode.FIFO, 20): Published(3476, None, 74.3, None),
    (Mode.OLAF, 20): Published(2604, 9343, 11.5, 78),
}

_HEADER = """\
                received at PS    aggregated    replaced      lost, %      average AoM     AoM less by, %
                paper     ours   paper    ours      ours   paper  ours            ours      paper  ours"""


def rows(experiment: Experiment) -> dict[tuple[Mode, int], Measurement]:
    """Our figures by the paper's rows (mode, output in Gb/s)."""
    return {(mode, rate): experiment.of(mode, rate * G).measurement for mode, rate in PAPER}


def less(figures: dict[tuple[Mode, int], Measurement], rate: int) -> float | None:
    """Percent by which Olaf's average age is less than FIFO's."""
    share = reduction(figures[Mode.FIFO, rate].average_age, figures[Mode.OLAF, rate].average_age)
    return None if share is None else 100 * share


def table(experiment: Experiment) -> str:
    """The table for people."""
    figures = rows(experiment)
    lines = [_HEADER]
    for (mode, rate), paper in PAPER.items():
        ours = figures[mode, rate]
        olaf = mode is Mode.OLAF
        lines.append(
            f"{mode_text(mode)} {rate} Gb/s   {paper.received:6} {ours.received:8}  "
            f"{_count(paper.aggregated):>6} {_count(ours.merged if olaf else None):>7}  "
            f"{_count(ours.replaced if olaf else None):>8}  "
            f"{paper.lost:6.1f} {100 * ours.loss:5.1f}  {_age(ours.average_age):>14}  "
            f"{_percent(paper.reduction):>9} {_percent(less(figures, rate) if olaf else None):>5}"
        )
    return "\n".join(lines)


def data(experiment: Experiment) -> dict[str, Any]:
    """Every figure as JSON; ages in ns, reductions in percent."""
    figures = rows(experiment)
    return {
        "paper": [
            {"mode": mode.value, "rate": rate * G, **vars(published)}
            for (mode, rate), published in PAPER.items()
        ],
        "ours": [as_json(outcome.setting, outcome.measurement) for outcome in experiment.outcomes],
        "aom_reduction": {f"{rate}G": less(figures, rate) for rate in (40, 20)},
    }


def _count(value: int | None) -> str:
    return "–" if value is None else str(value)


def _age(nanoseconds: float | None) -> str:
    return "–" if nanoseconds is None else f"{nanoseconds / 1000:.3f} µs"


def _percent(value: float | None) -> str:
    return "" if value is None else f"{value:.0f}"
