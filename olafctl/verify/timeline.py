"""A schedule as a timeline: the Age-of-Model of each cluster, and the fates of its updates."""

from pathlib import Path

import numpy as np

from olafctl import plotting
from olafctl.membership.objective import format_duration
from olafctl.verify.aom import ages
from olafctl.verify.simulation import Disposition, SimulationRun, UpdateSchedule
from olafctl.verify.system import System

_MARKS = {
    Disposition.WAITS: ("^", plotting.GREEN, "opens a slot"),
    Disposition.JOINS: ("P", plotting.BLUE, "joins a waiting update"),
    Disposition.LOST: ("x", plotting.VERMILLION, "lost"),
    Disposition.WITHHELD: ("o", plotting.PURPLE, "withheld"),
}
_UNITS = ((1e9, "s"), (1e6, "ms"), (1e3, "µs"), (1.0, "ns"))
_MOST_ROWS = 16
"""The number of clusters that are drawn: a picture of more is too tall to read."""


def draw_timeline(schedule: UpdateSchedule, run: SimulationRun, title: str, path: Path) -> None:
    """Write a PNG, SVG or PDF: a row for each cluster, its Δ(t) over t, and its updates as marks below.

    Of more than 16 clusters the first ones are drawn. Raises BadInput for another kind of file, OlafError if
    it cannot be written.
    """
    clusters = schedule.system.clusters[:_MOST_ROWS]
    figure = plotting.new_figure(11, 1.6 + 1.7 * len(clusters))
    axes = figure.subplots(len(clusters), 1, sharex=True, squeeze=False)[:, 0]
    end = max(
        [1, *(update.time for update in schedule.updates), *(departure.time for departure in run.departures)]
    )
    scale, unit = next((scale, unit) for scale, unit in _UNITS if end >= scale)
    for index, (axis, cluster) in enumerate(zip(axes, clusters, strict=True)):
        mine = [departure for departure in run.departures if departure.cluster == index]
        curve = ages([gone.arrival for gone in mine], [gone.time for gone in mine], 0, end, initial=0)
        times, values = (corners / scale for corners in curve.corners)
        axis.plot(times, values, color="black", linewidth=1.0, label="Δ(t)")
        highest = max(values)
        for lane, (disposition, (mark, colour, label)) in enumerate(_MARKS.items(), 1):
            met = [
                update.time / scale
                for update, became in zip(schedule.updates, run.dispositions, strict=True)
                if update.cluster == index and became is disposition
            ]
            if met:
                height = np.full(len(met), -0.11 * lane * highest)
                axis.plot(met, height, mark, color=colour, markersize=5, label=label)
        axis.axhline(0, color="black", linewidth=0.5)
        axis.set(xlabel=f"time, {unit}", ylabel=f"{cluster.name}\nage, {unit}")
        axis.set_yticks([tick for tick in axis.get_yticks() if tick >= 0])
        axis.set_ylim(-0.11 * (len(_MARKS) + 1) * highest, 1.4 * highest)
        axis.legend(loc="upper right", fontsize=7, ncols=5)
    figure.suptitle(f"{title}\n{_draw_scenario(schedule.system, len(clusters))}", fontsize=10)
    plotting.save(figure, path)


def _draw_scenario(system: System, drawn: int) -> str:
    total = len(system.clusters)
    shown = f", the first {drawn} drawn" if drawn < total else ""
    return (
        f"{total} clusters{shown}, Q_max = {system.slots}, p/C = {format_duration(system.service)},"
        f" transmission: {system.transmission}"
    )
