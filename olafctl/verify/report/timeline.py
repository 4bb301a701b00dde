"""A schedule as a timeline: the sawtooth of each cluster with what its updates met."""

from pathlib import Path

from olafctl.aom import sawtooth
from olafctl.verify.simulation.engine import Disposition, Run
from olafctl.verify.simulation.schedule import Schedule

_MARKS = {
    Disposition.WAITS: ("^", "sent"),
    Disposition.JOINS: ("P", "joins"),
    Disposition.LOST: ("x", "lost"),
    Disposition.WITHHELD: ("o", "withheld"),
}
_MS = 1e6


def draw(schedule: Schedule, run: Run, title: str, path: Path) -> None:
    """Write a PNG: a row a cluster, Δ(t) over t in ms, updates as marks on the axis. Raises OSError."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    clusters = schedule.system.clusters
    figure = Figure(figsize=(11, 1.2 + 1.7 * len(clusters)), layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.subplots(len(clusters), 1, sharex=True, squeeze=False)[:, 0]
    end = max([update.time for update in schedule.updates] + [departure.time for departure in run.departures])
    for index, (axis, cluster) in enumerate(zip(axes, clusters, strict=True)):
        receptions = [(gone.arrival, gone.time) for gone in run.departures if gone.cluster == index]
        corners = sawtooth(receptions, -1, end + 1).points
        axis.plot([time / _MS for time, _ in corners], [age / _MS for _, age in corners], linewidth=1.2)
        peaks = [
            (gone.time, gone.peak)
            for gone in run.departures
            if gone.cluster == index and gone.peak is not None
        ]
        axis.plot([time / _MS for time, _ in peaks], [peak / _MS for _, peak in peaks], "k.", label="Δ_p")
        for disposition, (mark, label) in _MARKS.items():
            times = [
                update.time / _MS
                for update, met in zip(schedule.updates, run.dispositions, strict=True)
                if update.cluster == index and met is disposition
            ]
            if times:
                axis.plot(times, [0] * len(times), mark, markersize=5, label=label, clip_on=False)
        axis.set_ylabel(f"{cluster.name}\nage [ms]")
        axis.set_ylim(0, 1.35 * max(age for _, age in [*corners, (0, 1)]) / _MS)
        axis.legend(loc="upper right", fontsize=7, ncols=5)
    axes[-1].set_xlabel("time [ms]")
    figure.suptitle(title, fontsize=10)
    figure.savefig(path, format="png", dpi=120)
