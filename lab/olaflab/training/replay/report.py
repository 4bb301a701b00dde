"""Results of a replay as text, JSON and pictures."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from olafctl import plotting
from olafctl.testbed.model import Testbed
from olafctl.verify import aom
from olafctl.wire.modes import Mode
from olaflab import pictures
from olaflab.segments import oldest_segment
from olaflab.training.replay.frames import Receptions
from olaflab.training.replay.run import Measurement, ReplayOutcome, Setting, clusters_of, cumulative_counts
from olaflab.training.replay.trace import ReplayLoad, ReplaySchedule, Trace

_SCREENFUL = 20


def rate_text(rate: float | None) -> str:
    """Write a rate as people do."""
    if rate is None:
        return "unlimited"
    for unit, size in (("Gb/s", 1e9), ("Mb/s", 1e6), ("kb/s", 1e3)):
        if rate >= size:
            return f"{rate / size:.4g} {unit}"
    return f"{rate:g} b/s"


def mode_text(mode: Mode) -> str:
    """Write a mode as the paper does."""
    return {Mode.OLAF: "Olaf", Mode.FIFO: "FIFO"}[mode]


def scenario_text(testbed: Testbed, schedule: ReplaySchedule, load: ReplayLoad) -> str:
    """Describe what a picture shows, in two lines: who sends, and what into."""
    at_once = f", {load.at_once} at a time" if load.at_once else ""
    return (
        f"{testbed.name}: {len(testbed.workers)} workers in {len(testbed.clusters)} clusters{at_once},"
        f" {schedule.updates} updates of {_size_text(load)}\n"
        f"{_mean_offered(schedule, load):.1f} Gb/s offered on average over a link of {rate_text(load.link)},"
        f" a queue of {testbed.root.slots} slots"
    )


def source_text(trace: Trace, schedule: ReplaySchedule, workers: int, load: ReplayLoad) -> str:
    """Describe what was sent, in a line or two."""
    lines = [
        f"{schedule.updates} updates of {workers} workers in {schedule.duration / 1000:.1f} µs: "
        f"{_mean_offered(schedule, load):.1f} Gb/s offered on average, each of {_size_text(load)}"
    ]
    if workers > trace.workers:
        lines.append(
            f"(worker k sends what worker k mod {trace.workers} recorded, in another order; docs/traces.md)"
        )
    return "\n".join(lines)


def format_replay(setting: Setting, figures: Measurement) -> str:
    """Format one replay: what became of the updates, then the clusters' ages."""
    share = 100 / figures.sent
    lines = [
        f"{mode_text(setting.mode)}, output {rate_text(setting.rate)}",
        f"  sent            {figures.sent:7}",
        f"  received at PS  {figures.received:7}  {share * figures.received:5.1f} %",
        f"  merged          {figures.merged:7}  {share * figures.merged:5.1f} %",
        f"  replaced        {figures.replaced:7}  {share * figures.replaced:5.1f} %",
        f"  lost            {figures.lost:7}  {share * figures.lost:5.1f} %"
        f"  {_format_causes(figures)}".rstrip(),
        f"  merged updates per frame: {_format_counts(figures)}",
        f"  Age-of-Model    average {_format_us(figures.average_age)},"
        f" peak {_format_us(figures.average_peak)} "
        f"(means over clusters), Jain {_format_plain(figures.fairness)}",
        "",
        *_cluster_lines(figures),
    ]
    lines += [f"  NOT CONSERVED: {violation}" for violation in figures.violations]
    return "\n".join(lines)


def as_json(setting: Setting, figures: Measurement) -> dict[str, Any]:
    """Return one replay's figures; ages in ns, loss as a share of 1, rates in bit/s."""
    return {
        "mode": setting.mode.value,
        "rate": setting.rate,
        "sent": figures.sent,
        "received": figures.received,
        "merged": figures.merged,
        "replaced": figures.replaced,
        "lost": figures.lost,
        "loss": figures.loss,
        "causes": figures.causes,
        "counts": {str(size): frames for size, frames in figures.counts.items()},
        "aom_average": figures.average_age,
        "aom_peak": figures.average_peak,
        "fairness": figures.fairness,
        "clusters": [
            {
                "cluster": age.cluster,
                "received": age.received,
                "aom_average": age.average,
                "aom_mean_peak": age.mean_peak,
                "aom_highest_peak": age.highest_peak,
            }
            for age in figures.ages
        ],
        "violations": list(figures.violations),
    }


def _mean_offered(schedule: ReplaySchedule, load: ReplayLoad) -> float:
    """Return the offered Gb/s, on average from the first frame to the last."""
    return schedule.updates * load.blocks.update_bytes * 8 / max(schedule.duration, 1)


def _size_text(load: ReplayLoad) -> str:
    blocks = load.blocks
    if blocks.count_segments == 1:
        return f"{blocks.update_bytes} bytes"
    return f"{blocks.count_segments} segments, {blocks.update_bytes} bytes"


def _cluster_lines(figures: Measurement) -> list[str]:
    """List all clusters, or of more than a screenful the stalest."""
    shown = figures.ages
    if len(shown) > _SCREENFUL:
        shown = tuple(sorted(shown, key=lambda age: -(age.average or float("inf"))))[: _SCREENFUL // 2]
    lines = ["  cluster  received  AoM average   mean peak  highest peak"]
    lines += [
        f"  {age.cluster:7}  {age.received:8}  {_format_us(age.average):>11}  {_format_us(age.mean_peak):>10}"
        f"  {_format_us(age.highest_peak):>12}"
        for age in shown
    ]
    if len(shown) < len(figures.ages):
        lines.append(f"  the {len(shown)} stalest of {len(figures.ages)} clusters; --json has all")
    return lines


def _format_causes(figures: Measurement) -> str:
    named = [f"{name.removeprefix('dropped_')} {count}" for name, count in figures.causes.items()]
    return f"({', '.join(named)})" if named else ""


def _format_counts(figures: Measurement) -> str:
    return ", ".join(f"{size}: {frames}" for size, frames in figures.counts.items()) or "none"


def _format_us(nanoseconds: float | None) -> str:
    return "–" if nanoseconds is None else f"{nanoseconds / 1000:.3f} µs"


def _format_plain(value: float | None) -> str:
    return "–" if value is None else f"{value:.3f}"


Floats = npt.NDArray[np.float64]
Indices = npt.NDArray[np.int64]

_STYLES: dict[Mode, dict[str, Any]] = {
    Mode.OLAF: {"color": pictures.SUBJECT, "ls": "-"},
    Mode.FIFO: {"color": pictures.GREYS[0], "ls": (0, (5, 1))},
}
_BINS = 160
_CLOSE_UP = 16
"""Receptions of one cluster that the close-up shows, about."""


def updates_per_frame(
    outcomes: Sequence[ReplayOutcome],
    testbed: Testbed,
    schedule: ReplaySchedule,
    load: ReplayLoad,
    *paths: Path,
) -> None:
    """Draw the CDF of worker updates per outgoing frame, one curve an outcome (OLAF figure 6).

    Raises OlafError when one of ``paths`` cannot be written, BadInput unless each is a PNG, SVG or PDF.
    """
    figure = plotting.new_figure(6.8, 4.6)
    axes = figure.subplots()
    curves = [(outcome, *cumulative_counts(outcome.measurement.counts)) for outcome in outcomes]
    largest = max([1, *(size for _, sizes, _ in curves for size in sizes)])
    for place, (outcome, sizes, shares) in enumerate(curves):
        axes.step(
            [0, *sizes, largest + 1],
            [0, *shares, 1],
            where="post",
            label=f"{mode_text(outcome.setting.mode)}, {rate_text(outcome.setting.rate)} output",
            color=plotting.COLOURS[place % len(plotting.COLOURS)],
            ls=plotting.LINES[place % len(plotting.LINES)],
            lw=2.0,
        )
    axes.set(
        xlabel="worker updates in one outgoing update",
        ylabel="share of outgoing updates with at most as many (CDF)",
        xlim=(0, largest + 1),
        ylim=(0, 1.02),
    )
    axes.set_title("Worker updates per outgoing update (OLAF figure 6)", fontsize=11)
    axes.legend(loc="lower right", frameon=False)
    axes.grid(alpha=0.25)
    figure.suptitle(scenario_text(testbed, schedule, load), fontsize=9)
    plotting.save(figure, *paths)


def draw_ages(
    outcomes: Sequence[ReplayOutcome],
    testbed: Testbed,
    schedule: ReplaySchedule,
    load: ReplayLoad,
    *paths: Path,
) -> None:
    """Draw three panels over time: what is offered, the mean Age-of-Model, and one cluster's sawtooth close
    up.

    Raises OlafError when one of ``paths`` cannot be written, BadInput unless each is a PNG, SVG or PDF.
    """
    cluster_of = clusters_of(testbed)
    sent_cluster = cluster_of[schedule.worker]
    figure = plotting.new_figure(8.4, 9.0)
    offered_axes, whole, close = figure.subplots(3, 1, height_ratios=(1, 2, 2))
    edges = np.linspace(0, schedule.duration, _BINS + 1)
    bits = load.blocks.frame_bytes[schedule.segment] * 8
    offered = np.histogram(schedule.time, edges, weights=bits)[0] / (edges[1] - edges[0])
    offered_axes.fill_between(
        edges[:-1] / 1e3, offered, step="post", color="#888888", alpha=0.5, lw=0, label="offered"
    )
    first = int(cluster_of.min())
    span = _close_up(outcomes[0].receptions, first)
    for outcome in outcomes:
        style: dict[str, Any] = {
            **_STYLES[outcome.setting.mode],
            "label": f"{mode_text(outcome.setting.mode)}, {rate_text(outcome.setting.rate)} output",
            "lw": 1.4,
        }
        mean_age = _mean_age(
            outcome.receptions, schedule.time, sent_cluster, load.blocks.count_segments, edges
        )
        whole.plot(edges[:-1] / 1e3, mean_age, **style)
        close.plot(*_trace_sawtooth(outcome.receptions, first, load.blocks.count_segments, span), **style)
    rates = {outcome.setting.rate for outcome in outcomes if outcome.setting.rate is not None}
    for rate in sorted(rates):
        offered_axes.axhline(rate / 1e9, color="black", lw=1.0, ls="--", label=f"output, {rate_text(rate)}")
    for axes in (offered_axes, whole):
        axes.axvspan(span[0] / 1e3, span[1] / 1e3, color="black", alpha=0.12, lw=0)
        axes.set_xlim(0, schedule.duration / 1e3)
    offered_axes.set_title("Updates offered; the grey band is shown close up below", fontsize=11)
    offered_axes.set(ylabel="rate, Gb/s", ylim=(0, offered_axes.get_ylim()[1] * 1.3))
    whole.set_title("Age-of-Model at the parameter server, mean over the clusters that send", fontsize=11)
    close.set_title(f"Age-of-Model of cluster {first}, close up", fontsize=11)
    close.set(xlim=(span[0] / 1e3, span[1] / 1e3))
    for axes in (whole, close):
        axes.set(ylabel="Age-of-Model, µs", ylim=(0, axes.get_ylim()[1] * 1.15))
    for axes in (offered_axes, whole, close):
        axes.set(xlabel="virtual time, µs")
        axes.legend(loc="upper right", frameon=False, ncols=3)
        axes.grid(alpha=0.25)
    figure.suptitle(scenario_text(testbed, schedule, load), fontsize=9)
    plotting.save(figure, *paths)


def _mean_age(
    receptions: Receptions, sent: Indices, sent_cluster: Indices, segments: int, edges: Floats
) -> Floats:
    """Return Δ in µs, averaged within each bin, then over its sending clusters; NaN where none sends."""
    within = 16
    grid = np.linspace(edges[0], edges[-1], within * (len(edges) - 1), endpoint=False).astype(np.int64)
    rows = []
    for cluster in np.unique(sent_cluster):
        times = sent[sent_cluster == cluster]
        first, last = int(times.min()), int(times.max())
        held = _oldest_of(receptions, int(cluster), segments, first)
        age = aom.age_at(*held, grid, first).astype(np.float64)
        age[(grid < first) | (grid > last)] = np.nan
        rows.append(age)
    return np.asarray(_known_mean(_known_mean(np.array(rows), axis=0).reshape(-1, within), axis=1) / 1e3)


def _known_mean(values: Floats, axis: int) -> Floats:
    """Average what is a number; NaN where nothing is."""
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


def _trace_sawtooth(
    receptions: Receptions, cluster: int, segments: int, span: tuple[int, int]
) -> tuple[Floats, Floats]:
    """Trace one cluster's curve within ``span`` (ns): times and ages in µs."""
    times, values = aom.ages(*_oldest_of(receptions, cluster, segments), *span).corners
    return times / 1e3, values / 1e3


def _oldest_of(
    receptions: Receptions, cluster: int, segments: int, initial: int | None = None
) -> tuple[Indices, Indices]:
    """Return generation and delivery of a cluster's oldest segment."""
    mine = receptions.cluster == cluster
    columns = (receptions.segment[mine], receptions.generated[mine], receptions.time[mine])
    return oldest_segment(*columns, segments, initial)
