"""OLAF's table 1 and ours, side by side."""

from dataclasses import asdict, dataclass
from statistics import mean
from typing import Any

from olafctl.wire.modes import Mode
from olaflab.papers.olaf.demo.experiment import Experiment, G
from olaflab.training.replay.report import as_json, mode_text
from olaflab.training.replay.run import relative_reduction


@dataclass(frozen=True)
class Published:
    """A row of OLAF table 1, and OLAF §8.1's reduction of the average age; None where it gives none."""

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


@dataclass(frozen=True)
class Row:
    """Our figures for a row of the paper: means over the runs."""

    received: float
    merged: float
    replaced: float
    lost: float
    """Percent."""
    age: float | None
    """ns: the average Age-of-Model; None when some cluster has none."""


@dataclass(frozen=True)
class Reduction:
    """Percent by which Olaf's average age is less than FIFO's: over all runs, and the runs' extremes."""

    mean: float
    least: float
    most: float


_HEADER = """\
                received at PS    aggregated    replaced      lost, %      average AoM     AoM less by, %
                paper     ours   paper    ours      ours   paper  ours            ours      paper  ours"""


def make_rows(experiment: Experiment) -> dict[tuple[Mode, int], Row]:
    """Return our figures by the paper's rows (mode, output in Gb/s)."""
    return {(mode, rate): _make_row(experiment, mode, rate) for mode, rate in PAPER}


def age_reduction(experiment: Experiment, rate: int) -> Reduction | None:
    """Return how much fresher Olaf is at ``rate`` Gb/s; None when some cluster has no age."""
    fifo, olaf = (_average_ages(experiment, mode, rate) for mode in (Mode.FIFO, Mode.OLAF))
    shares = [relative_reduction(before, after) for before, after in zip(fifo, olaf, strict=True)]
    known = [100 * share for share in shares if share is not None]
    overall = relative_reduction(_mean_or_none(fifo), _mean_or_none(olaf))
    if overall is None or len(known) < len(shares):
        return None
    return Reduction(100 * overall, min(known), max(known))


def format_table(experiment: Experiment) -> str:
    """Format the table for people."""
    lines = [_HEADER]
    for (mode, rate), ours in make_rows(experiment).items():
        paper, olaf = PAPER[mode, rate], mode is Mode.OLAF
        lines.append(
            f"{mode_text(mode)} {rate} Gb/s   {paper.received:6} {ours.received:8.0f}  "
            f"{_format_count(paper.aggregated):>6} {_format_count(ours.merged if olaf else None):>7}  "
            f"{_format_count(ours.replaced if olaf else None):>8}  "
            f"{paper.lost:6.1f} {ours.lost:5.1f}  {_format_age(ours.age):>14}  "
            f"{_format_count(paper.reduction) if olaf else '':>9} "
            f"{_format_reduction(age_reduction(experiment, rate)) if olaf else ''}".rstrip()
        )
    return "\n".join(lines)


def published_rows() -> list[dict[str, Any]]:
    """Return the paper's rows for JSON."""
    return [{"mode": mode.value, "rate": rate * G, **asdict(row)} for (mode, rate), row in PAPER.items()]


def make_data(experiment: Experiment) -> dict[str, Any]:
    """Return our figures for JSON; ages in ns, rates in bit/s, lost and reductions in percent."""
    reductions = {f"{rate}G": age_reduction(experiment, rate) for rate in (40, 20)}
    return {
        "at_once": experiment.at_once,
        "rows": [
            {"mode": mode.value, "rate": rate * G, **asdict(row)}
            for (mode, rate), row in make_rows(experiment).items()
        ],
        "aom_reduction": {rate: value and asdict(value) for rate, value in reductions.items()},
        "runs": [
            [as_json(outcome.setting, outcome.measurement) for outcome in run.outcomes]
            for run in experiment.runs
        ],
    }


def _make_row(experiment: Experiment, mode: Mode, rate: int) -> Row:
    figures = [outcome.measurement for outcome in experiment.outcomes_of(mode, rate * G)]
    return Row(
        received=mean(figure.received for figure in figures),
        merged=mean(figure.merged for figure in figures),
        replaced=mean(figure.replaced for figure in figures),
        lost=100 * mean(figure.loss for figure in figures),
        age=_mean_or_none(_average_ages(experiment, mode, rate)),
    )


def _average_ages(experiment: Experiment, mode: Mode, rate: int) -> list[float | None]:
    return [outcome.measurement.average_age for outcome in experiment.outcomes_of(mode, rate * G)]


def _mean_or_none(ages: list[float | None]) -> float | None:
    known = [age for age in ages if age is not None]
    return mean(known) if len(known) == len(ages) else None


def _format_count(value: float | None) -> str:
    return "–" if value is None else f"{value:.0f}"


def _format_age(nanoseconds: float | None) -> str:
    return "–" if nanoseconds is None else f"{nanoseconds / 1000:.3f} µs"


def _format_reduction(value: Reduction | None) -> str:
    if value is None:
        return "    –"
    spread = f" ({value.least:.0f}–{value.most:.0f})" if value.least < value.most else ""
    return f"{value.mean:5.0f}{spread}"
