"""Plots of replays as PNG: figure 6's CDF, and Age-of-Model over time."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import matplotlib
import numpy as np
import numpy.typing as npt

from olafctl import aom
from olafctl.errors import OlafError, Problem
from olafctl.replay.frames import Receptions
from olafctl.replay.measure import cdf
from olafctl.replay.report import mode_text, rate_text
from olafctl.replay.run import Outcome
from olafctl.testbed.model import Mode

matplotlib.use("Agg")
from matplotlib import pyplot

Floats = npt.NDArray[np.float64]

_COLOURS = {Mode.OLAF: "#0b6e4f", Mode.FIFO: "#c1440e"}
_CDF_COLOURS = ("#0b6e4f", "#2f6690", "#c1440e", "#6d597a")
_BINS = 160
_CLOSE_UP = 40
"""Receptions of one cluster that the close-up shows, about."""


def aggregations(outcomes: Sequence[Outcome], path: Path) -> None:
    """The CDF of worker updates per outgoing frame, one curve an outcome (OLAF figure 6).

    Raises OlafError when ``path`` cannot be written.
    """
    figure, axes = pyplot.subplots(figsize=(6.4, 4.0), layout="constrained")
    largest = 1
    for outcome, colour in zip(outcomes, _cycle(_CDF_COLOURS, len(outcomes)), strict=True):
        sizes, shares = cdf(outcome.measurement.counts)
        largest = max(largest, *sizes)
        label = f"{rate_text(outcome.setting.rate)} output"
        axes.step([0, *sizes, largest + 1], [0, *shares, 1], where="post", label=label, color=colour, lw=1.8)
    axes.set(
        xlabel="worker updates in an outgoing update",
        ylabel="CDF",
        xlim=(0, largest + 1),
        ylim=(0, 1.02),
        title="Aggregations per outgoing update",
    )
    axes.legend(loc="lower right", frameon=False)
    _save(figure, path)


def ages(outcomes: Sequence[Outcome], cluster: int, duration: int, path: Path) -> None:
    """Age-of-Model over time: the mean over clusters, and one cluster's sawtooth in the middle, close up.

    ``duration`` is the replay's in ns. Raises OlafError when ``path`` cannot be written.
    """
    figure, (whole, close) = pyplot.subplots(2, 1, figsize=(8.0, 6.4), layout="constrained")
    span = _close_up(outcomes[0].receptions, cluster, duration)
    grid = np.linspace(0, duration, 16 * _BINS + 1)
    for outcome in outcomes:
        style: dict[str, Any] = {
            "color": _COLOURS[outcome.setting.mode],
            "label": f"{mode_text(outcome.setting.mode)} {rate_text(outcome.setting.rate)}",
            "lw": 1.4,
        }
        binned = _mean_age(outcome.receptions, grid)[1:].reshape(_BINS, -1).mean(axis=1)
        whole.plot(grid[8:-1:16] / 1e3, binned / 1e3, **style)
        close.plot(*_sawtooth(outcome.receptions, cluster, span), **style)
    whole.axvspan(span[0] / 1e3, span[1] / 1e3, color="#888888", alpha=0.3, lw=0)
    whole.set(title="Age-of-Model at the parameter server, mean over clusters", xlim=(0, duration / 1e3))
    close.set(title=f"cluster {cluster}, close up", xlim=(span[0] / 1e3, span[1] / 1e3))
    for axes in (whole, close):
        axes.set(xlabel="virtual time, µs", ylabel="AoM, µs", ylim=(0, None))
        axes.legend(loc="upper left", frameon=False, ncols=len(outcomes))
    _save(figure, path)


def _mean_age(receptions: Receptions, grid: Floats) -> Floats:
    """Δ averaged over the clusters at each time of ``grid``; before a first reception since time 0."""
    total = np.zeros(len(grid))
    clusters = np.unique(receptions.cluster)
    for cluster in clusters:
        mine = receptions.cluster == cluster
        freshest = np.maximum.accumulate(np.concatenate(([0], receptions.generated[mine])))
        total += grid - freshest[np.searchsorted(receptions.time[mine], grid, side="right")]
    return total / len(clusters)


def _close_up(receptions: Receptions, cluster: int, duration: int) -> tuple[int, int]:
    times = receptions.time[receptions.cluster == cluster]
    width = duration * _CLOSE_UP // max(len(times), _CLOSE_UP)
    return duration // 4, min(duration // 4 + width, duration)


def _sawtooth(receptions: Receptions, cluster: int, span: tuple[int, int]) -> tuple[Floats, Floats]:
    mine = receptions.cluster == cluster
    pairs = zip(receptions.generated[mine].tolist(), receptions.time[mine].tolist(), strict=True)
    corners = np.array(aom.sawtooth(pairs, *span).points, dtype=np.float64).reshape(-1, 2)
    return corners[:, 0] / 1e3, corners[:, 1] / 1e3


def _cycle(colours: Sequence[str], count: int) -> list[str]:
    return [colours[index % len(colours)] for index in range(count)]


def _save(figure: Any, path: Path) -> None:
    for axes in figure.axes:
        axes.spines[["top", "right"]].set_visible(False)
        axes.grid(alpha=0.25)
    try:
        figure.savefig(path, dpi=150, format="png")
    except OSError as error:
        raise OlafError(Problem(f"cannot write the plot: {error.strerror}", str(path))) from error
    finally:
        pyplot.close(figure)
