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
from olafctl.replay.schedule import Schedule
from olafctl.testbed.model import Mode, Testbed

matplotlib.use("Agg")
from matplotlib import pyplot

Floats = npt.NDArray[np.float64]
Indices = npt.NDArray[np.int64]

_COLOURS = {Mode.OLAF: "#0b6e4f", Mode.FIFO: "#c1440e"}
_CDF_COLOURS = ("#0b6e4f", "#2f6690", "#c1440e", "#6d597a")
_BINS = 160
_CLOSE_UP = 16
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


def ages(
    outcomes: Sequence[Outcome], testbed: Testbed, schedule: Schedule, frame_bytes: int, path: Path
) -> None:
    """Three panels over time: what is offered, the mean Age-of-Model, and one cluster's sawtooth close up.

    Raises OlafError when ``path`` cannot be written.
    """
    cluster_of = np.array([worker.cluster for worker in testbed.workers], dtype=np.int64)
    sent_cluster = cluster_of[schedule.worker]
    figure, (load, whole, close) = pyplot.subplots(
        3, 1, figsize=(8.0, 8.0), layout="constrained", height_ratios=(1, 2, 2)
    )
    edges = np.linspace(0, schedule.duration, _BINS + 1)
    offered = np.histogram(schedule.time, edges)[0] * frame_bytes * 8 / (edges[1] - edges[0])
    load.fill_between(edges[:-1] / 1e3, offered, step="post", color="#888888", alpha=0.45, lw=0)
    first = int(cluster_of.min())
    span = _close_up(outcomes[0].receptions, first)
    for outcome in outcomes:
        rate = outcome.setting.rate
        style: dict[str, Any] = {
            "color": _COLOURS[outcome.setting.mode],
            "label": f"{mode_text(outcome.setting.mode)}, {rate_text(rate)}",
            "lw": 1.4,
        }
        if rate is not None:
            load.axhline(rate / 1e9, color="black", lw=0.8, ls="--")
        whole.plot(
            edges[:-1] / 1e3, _mean_age(outcome.receptions, schedule.time, sent_cluster, edges), **style
        )
        close.plot(*_sawtooth(outcome.receptions, first, span), **style)
    for axes in (load, whole):
        axes.axvspan(span[0] / 1e3, span[1] / 1e3, color="#2f6690", alpha=0.15, lw=0)
        axes.set_xlim(0, schedule.duration / 1e3)
    load.set(title="Updates offered, and the output (dashed)", ylabel="Gb/s")
    whole.set(title="Age-of-Model at the parameter server, mean over the clusters that send", ylabel="µs")
    close.set(
        title=f"Cluster {first}, close up",
        xlabel="virtual time, µs",
        ylabel="µs",
        xlim=(span[0] / 1e3, span[1] / 1e3),
    )
    for axes in (whole, close):
        axes.set_ylim(0, axes.get_ylim()[1] * 1.15)
        axes.legend(loc="upper right", frameon=False, ncols=len(outcomes))
    _save(figure, path)


def _mean_age(receptions: Receptions, sent: Indices, sent_cluster: Indices, edges: Floats) -> Floats:
    """µs: Δ averaged within each bin, then over the clusters that send in it; NaN where none does."""
    within = 16
    grid = np.linspace(edges[0], edges[-1], within * (len(edges) - 1), endpoint=False)
    rows = []
    for cluster in np.unique(sent_cluster):
        mine = receptions.cluster == cluster
        times = sent[sent_cluster == cluster]
        freshest = np.maximum.accumulate(np.concatenate(([times.min()], receptions.generated[mine])))
        age = grid - freshest[np.searchsorted(receptions.time[mine], grid, side="right")]
        age[(grid < times.min()) | (grid > times.max())] = np.nan
        rows.append(age)
    return np.asarray(_known_mean(_known_mean(np.array(rows), axis=0).reshape(-1, within), axis=1) / 1e3)


def _known_mean(values: Floats, axis: int) -> Floats:
    """The mean of what is a number; NaN where nothing is."""
    known = np.isfinite(values)
    total, count = np.where(known, values, 0).sum(axis=axis), known.sum(axis=axis)
    return np.asarray(np.divide(total, count, out=np.full(total.shape, np.nan), where=count > 0))


def _close_up(receptions: Receptions, cluster: int) -> tuple[int, int]:
    """Begin and end, in ns, of some of a cluster's receptions: not its very first."""
    times = receptions.time[receptions.cluster == cluster]
    if len(times) == 0:
        return 0, 1
    first, last = int(times[0]), int(times[-1])
    begin = first + (last - first) // 20
    width = (last - first) * _CLOSE_UP // max(len(times), _CLOSE_UP)
    return begin, min(begin + max(width, 1), last + 1)


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
