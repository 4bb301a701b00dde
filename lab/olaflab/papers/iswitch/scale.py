"""iSwitch figure 15: more workers, in racks of three below a root; and on to 96."""

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from olaflab import pictures
from olaflab.model.iterations import IterationNetwork
from olaflab.papers.figure import Effort, FigureTable, Points, Section, decide_statements
from olaflab.papers.iswitch import predicted
from olaflab.papers.iswitch.published import WORKLOADS
from olaflab.papers.iswitch.synchronous import MODELS, time_models

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Drawing

WORKERS = (4, 6, 9, 12, 24, 48, 96)
PAPER = 12
"""Workers at most."""
RACKS = IterationNetwork(each_rack=3)
_SHOWN = WORKLOADS[2:]
"""PPO and DDPG, as in the paper."""


def measure_scale(effort: Effort) -> Points:
    """Measure iterations by the number of workers."""
    found: Points = {}
    for name, each in time_models(effort.kept.get("hosts")).items():
        found[name] = {}
        for workload in _SHOWN:
            effort.progress(f"time model {MODELS[name]}, {workload.name}")
            found[name][workload.name] = {
                shown: [
                    predicted.predict_period(approach, workload, each, workers, RACKS).whole
                    for workers in WORKERS
                ]
                for approach, shown in (predicted.SYNCHRONOUS | predicted.ASYNCHRONOUS).items()
            }
    return found


def compute_speedups(approach: str, periods: list[float]) -> list[float]:
    """Return speedups over the first, in gradients a second: one of each worker an iteration; Async PS has
    one."""
    each = [1] * len(WORKERS) if approach == "Async PS" else WORKERS
    rates = [gradients / period for gradients, period in zip(each, periods, strict=True)]
    return [rate / rates[0] for rate in rates]


def show_scale(data: Points) -> Section:
    """Show iterations and speedups, and whether they fall off."""
    every = [
        (workload, MODELS[name], approach, periods)
        for name, by_name in data.items()
        for workload, by_approach in by_name.items()
        for approach, periods in by_approach.items()
    ]
    ratios = [[*names, compute_speedups(names[-1], periods)] for *names, periods in every]
    linear = ["linear", "", "", [workers / WORKERS[0] for workers in WORKERS]]
    return Section(
        {
            "speedups": _tabulate("Speedup over 4 workers: gradients used a second", [linear, *ratios]),
            "periods": _tabulate("ms an iteration", every),
        },
        decide_statements(dict(_check_statements(data["fitted"]))),
    )


def _tabulate(title: str, lines: Iterable[Sequence[Any]]) -> FigureTable:
    heads = ("workload", "time model", "approach", *(f"{workers} workers" for workers in WORKERS))
    return FigureTable(title, heads, [[*names, *(f"{each:.2f}" for each in row)] for *names, row in lines])


def _check_statements(by_name: Mapping[str, Mapping[str, list[float]]]) -> list[tuple[str, bool]]:
    place, linear = WORKERS.index(PAPER), PAPER / WORKERS[0]
    found = []
    for workload, by_approach in by_name.items():
        at = {
            approach: compute_speedups(approach, periods)[place] for approach, periods in by_approach.items()
        }
        found += [
            (
                f"{workload}: iSW is near to linear with {PAPER} workers, {at['iSW']:.2f} of {linear:.0f}",
                at["iSW"] > 0.95 * linear,
            ),
            (
                f"{workload}: AR gains least, PS more, iSW most",
                at["AR"] < at["PS"] < at["iSW"],
            ),
            (f"{workload}: Async PS gains less than Async iSW", at["Async PS"] < at["Async iSW"]),
        ]
    return found


def draw_scale(data: Points, figure: "Drawing") -> None:
    """Draw speedups over the number of workers, under (a)."""
    both: Any = figure.subplots(2, 1, sharex=True, sharey=True)
    for axes, (workload, by_approach) in zip(both, data["fitted"].items(), strict=True):
        axes.plot(WORKERS, [each / WORKERS[0] for each in WORKERS], color="black", lw=0.6, label="linear")
        looks = pictures.assign_styles(by_approach)
        for approach, periods in by_approach.items():
            along = compute_speedups(approach, periods)
            axes.plot(WORKERS, along, marker="o", markersize=3, label=approach, **looks[approach])
        axes.axvline(PAPER, color="grey", linestyle=":", lw=0.8)
        axes.set(xscale="log", yscale="log", title=workload, ylabel="speedup over 4 workers")
        axes.set_xticks(WORKERS, [str(each) for each in WORKERS], minor=False)
        axes.minorticks_off()
        axes.grid(alpha=0.3)
    both[1].set_xlabel("workers")
    pictures.add_legend(figure, both[0])
