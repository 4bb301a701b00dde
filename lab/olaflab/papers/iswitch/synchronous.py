"""iSwitch tables 3 and 4, figures 4 and 12: an iteration of synchronous training, and its aggregation."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict
from functools import cache as once
from statistics import median
from typing import TYPE_CHECKING, Any

from olaflab import pictures
from olaflab.model.iterations import Approach, IterationNetwork
from olaflab.papers.figure import Effort, FigureTable, Points, Section, decide_statements, tabulate_pairs
from olaflab.papers.iswitch import costs, hosts, predicted, wire
from olaflab.papers.iswitch.costs import NETWORK, HostCosts
from olaflab.papers.iswitch.predicted import SYNCHRONOUS, Period
from olaflab.papers.iswitch.published import (
    REDUCTION,
    REDUCTION_RING,
    SHARES,
    WORKERS,
    WORKLOADS,
    Workload,
)

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Drawing

_JUMBO = IterationNetwork(beats=142)
MODELS = {"fitted": "(a)", "hosts": "(b)"}


@once
def fit() -> tuple[HostCosts, tuple[HostCosts, ...]]:
    """Fit the costs to the paper's baselines; return the best and those of every variant (some tens of
    seconds)."""
    best, every = costs.fit_variants(WORKLOADS)
    return best, tuple(every)


def time_models(ours: Points | None) -> dict[str, HostCosts]:
    """Return time model (a), and (b) where hosts were measured."""
    fitted, _ = fit()
    return {"fitted": fitted} | ({"hosts": hosts.host_costs(ours, fitted)} if ours else {})


def measure_synchronous(effort: Effort) -> Points:
    """Measure one iteration of each approach under both time models; it repeats exactly."""
    effort.progress("costs of software, fitted to the paper's baselines")
    _, every = fit()
    found: Points = {"costs": {}, "periods": {}, "hosts": effort.kept.get("hosts")}
    for name, each in time_models(effort.kept.get("hosts")).items():
        effort.progress(f"time model {MODELS[name]}")
        found["costs"][name] = each.as_json()
        found["periods"][name] = {
            workload.name: {
                SYNCHRONOUS[approach]: asdict(predicted.predict_period(approach, workload, each))
                for approach in SYNCHRONOUS
            }
            for workload in WORKLOADS
        }
    effort.progress("variants, and the network alone")
    found["variants"] = [_predict_variant(each) for each in every]
    found["bases"] = {
        name: _predict_variant(
            costs.fitted(WORKLOADS, HostCosts.of_json(found["costs"]["fitted"]).variant, base)
        )
        for name, base in costs.BASES.items()
    }
    found["wire"] = effort.kept.get("wire")
    found["limits"] = {
        workload.name: {
            "limit": predicted.link_limit(workload, NETWORK),
            "short": predicted.network_alone(workload, NETWORK),
            "jumbo": predicted.network_alone(workload, _JUMBO),
            "racks": predicted.network_alone(workload, IterationNetwork(each_rack=3), 12),
            "racks limit": predicted.link_limit(workload, IterationNetwork(each_rack=3)),
        }
        for workload in WORKLOADS
    }
    return found


def _predict_variant(each: HostCosts) -> dict[str, Any]:
    """Return the speedups of iSwitch that a variant predicts, by workload."""
    speedups = {}
    for workload in WORKLOADS:
        server, switch = (
            predicted.predict_period(approach, workload, each).whole
            for approach in (Approach.SERVER, Approach.ENGINE)
        )
        speedups[workload.name] = server / switch
    return {"name": str(each.variant), "costs": each.as_json(), "speedups": speedups}


def show_synchronous(data: Points) -> Section:
    """Show tables 3 and 4, the parts of an iteration, the variants and the physical limit."""
    found = {name: read_periods(by_name) for name, by_name in data["periods"].items()}
    tables = {
        "table4": compare_iterations(
            "Synchronous: iSwitch table 4; hours are of the paper's iterations", _list_lines(), found
        ),
        "table3": _make_table3(found),
        "parts": _make_parts_table(found),
        "variants": _make_variants_table(data["variants"]),
        "bases": _make_bases_table(data["bases"]),
        "limits": _make_limits_table(data["limits"], found),
    }
    if data["wire"] is not None:
        tables["wire"] = make_wire_table(data["wire"])
    return Section(tables, decide_statements(dict(_check_statements(found))))


def read_periods(by_name: Mapping[str, Any]) -> dict[str, dict[str, Period]]:
    """Read the iterations of one time model, by workload and approach."""
    return {
        name: {approach: Period(**kept) for approach, kept in each.items()} for name, each in by_name.items()
    }


def _paper_periods(workload: Workload) -> dict[str, float]:
    """Return the paper's ms an iteration, by approach."""
    hours = (workload.baselines.server, workload.baselines.ring, workload.switch.hours)
    return {
        name: workload.iteration_period(each) for name, each in zip(SYNCHRONOUS.values(), hours, strict=True)
    }


Line = tuple[Workload, str, float, float, float]
"""A workload, an approach, and the paper's reward, number of iterations, and ms an iteration."""


def _list_lines() -> Iterator[Line]:
    for workload in WORKLOADS:
        rewards = (*workload.baselines.rewards[:2], workload.switch.rewards[0])
        for (approach, paper), reward in zip(_paper_periods(workload).items(), rewards, strict=True):
            yield workload, approach, reward, workload.iterations, paper


def compare_iterations(
    title: str, lines: Iterable[Line], found: Mapping[str, Any], *, asynchronous: bool = False
) -> FigureTable:
    """Set our times of iterations beside the paper's, under each time model of ``found``."""
    rows = []
    for workload, approach, reward, iterations, paper in lines:
        row = [("workload", workload.name), ("approach", approach), ("reward (paper)", f"{reward:.2f}")]
        if asynchronous:
            row.append(("million iterations (paper)", f"{iterations / 1e6:.2f}"))
        row.append(("ms an iteration (paper)", f"{paper:.2f}"))
        row.append(("hours (paper)", f"{paper * iterations / 3.6e6:.2f}"))
        for name, by_name in found.items():
            ours = by_name[workload.name][approach]
            row.append((f"ms {MODELS[name]}", f"{ours.whole:.2f}"))
            row.append(("hours", f"{ours.whole * iterations / 3.6e6:.2f}"))
            row.append(("from the paper's", _format_percent(ours.whole / paper - 1)))
            if asynchronous:
                row.append(("mean staleness", f"{ours.staleness:.2f}"))
        rows.append(row)
    return tabulate_pairs(title, rows)


def _make_table3(found: Mapping[str, Any]) -> FigureTable:
    rows = []
    for workload in WORKLOADS:
        for approach, paper in zip(("AR", "iSW"), workload.speedups, strict=False):
            row = [
                ("workload", workload.name), ("approach", approach),
                ("times as fast as PS (paper)", f"{paper:.2f}"),
            ]  # fmt: skip
            for name, by_name in found.items():
                each = by_name[workload.name]
                ours = each["PS"].whole / each[approach].whole
                row.append((f"ours {MODELS[name]}", f"{ours:.2f}"))
                row.append(("from the paper's", _format_percent(ours / paper - 1)))
            rows.append(row)
    return tabulate_pairs("Synchronous: iSwitch table 3", rows)


def _make_parts_table(found: Mapping[str, Any]) -> FigureTable:
    def list_cells(workload: Workload, name: str) -> Iterator[tuple[str, str]]:
        each = found[name][workload.name]
        yield from (("workload", workload.name), ("time model", MODELS[name]))
        yield "computing, ms", f"{each['PS'].whole - each['PS'].aggregation:.2f}"
        yield from ((f"aggregation {way}, ms", f"{each[way].aggregation:.2f}") for way in each)
        for way in each:
            yield f"of {way}'s iteration, %", f"{100 * each[way].aggregation / each[way].whole:.1f}"
        for way, head, paper in (("PS", "iSW less than PS", REDUCTION), ("AR", "than AR", REDUCTION_RING)):
            less = 1 - each["iSW"].aggregation / each[way].aggregation
            yield f"{head}, % (paper {_format_percents(paper)})", f"{100 * less:.1f}"

    title = f"Figures 4 (paper: {_format_percents(SHARES)} % of PS's and AR's) and 12"
    return tabulate_pairs(title, (list_cells(workload, name) for workload in WORKLOADS for name in found))


def _make_variants_table(variants: list[dict[str, Any]]) -> FigureTable:
    def list_cells(each: dict[str, Any]) -> Iterator[tuple[str, str]]:
        costs, speedups = each["costs"], each["speedups"]
        yield from (
            ("hosts' software", each["name"]),
            ("error of PS and AR, %", f"{100 * costs['error']:.1f}"),
        )
        yield "µs a message", f"{costs['software']['message'] / 1e3:.0f}"
        yield "ns a byte", f"{costs['software']['byte']:.2f}"
        yield from ((_name_speedup(workload), f"{speedups[workload.name]:.2f}") for workload in WORKLOADS)

    title = "What the paper leaves open, and iSW's speedup over PS that follows (paper)"
    return tabulate_pairs(title, map(list_cells, sorted(variants, key=lambda each: each["costs"]["error"])))


def _name_speedup(workload: Workload) -> str:
    return f"{workload.name} ({workload.speedups[1]:.2f})"


def _make_bases_table(bases: Mapping[str, Any]) -> FigureTable:
    def list_cells(name: str, each: dict[str, Any]) -> Iterator[tuple[str, str]]:
        costs = each["costs"]
        yield from (("computing from", name), ("error of PS and AR, %", f"{100 * costs['error']:.1f}"))
        yield "A2C's computing, ms", f"{costs['computing']['A2C']:.2f}"
        for workload in WORKLOADS:
            speedup = each["speedups"][workload.name]
            away = _format_percent(speedup / workload.speedups[1] - 1)
            yield _name_speedup(workload), f"{speedup:.2f} ({away})"

    title = "How computing is taken from PS and AR, and iSW's speedup over PS that follows"
    return tabulate_pairs(title, (list_cells(*pair) for pair in bases.items()))


def make_wire_table(kept: Mapping[str, Any]) -> FigureTable:
    """Tabulate medians beside the time that the busiest host's bytes take on its link."""
    rows = []
    for target, by_name in kept["ms"].items():
        for name, ways in by_name.items():
            link = 8000 * kept["bytes"][name] / (1e6 * kept["rate"])
            times = [median(ways[way]) for way in wire.WAYS]
            limits = (
                f"{link * (WORKERS + 1):.0f}",
                f"{link * 2 * (WORKERS - 1) / WORKERS:.0f}",
                f"{link:.0f}",
            )
            each = [f"{time:.0f} ({limit})" for time, limit in zip(times, limits, strict=True)]
            rows.append([name, target, *each, *(f"{times[0] / time:.2f}" for time in times[1:])])
    heads = (
        "gradient of",
        "engine",
        *(f"{way}, ms (link alone)" for way in wire.WAYS),
        "AR, times as fast as PS",
        "iSW",
    )
    return FigureTable(f"Measured between hosts that send {kept['rate']} Mb/s each", heads, rows)


def _make_limits_table(limits: Mapping[str, Any], found: Mapping[str, Any]) -> FigureTable:
    def list_cells(workload: Workload) -> Iterator[tuple[str, str]]:
        each = limits[workload.name]
        yield from (
            ("workload", workload.name),
            ("serialisation and propagation, ms", f"{each['limit']:.4f}"),
        )
        yield "links and engine, frames to 1,504 bytes", _format_over(each["short"], each["limit"])
        yield "to 9,028 bytes", _format_over(each["jumbo"], each["limit"])
        for name, by_name in found.items():
            ours = by_name[workload.name]["iSW"].aggregation
            yield f"with hosts {MODELS[name]}", _format_over(ours, each["limit"])
        racks = "12 workers in 4 racks, links and engine, to 1,504 bytes"
        yield racks, _format_over(each["racks"], each["racks limit"])

    title = "iSwitch's aggregation against what links allow: ms (times the limit)"
    return tabulate_pairs(title, map(list_cells, WORKLOADS))


def _format_over(time: float, limit: float) -> str:
    return f"{time:.4f} ({time / limit:.2f})"


def _check_statements(found: Mapping[str, Any]) -> Iterator[tuple[str, bool]]:
    """Check the paper's statements under (a)."""
    ours = found["fitted"]
    for workload in WORKLOADS:
        paper, each = _paper_periods(workload), ours[workload.name]
        order = sorted(paper, key=paper.__getitem__)
        yield (
            f"{workload.name}: from the fastest, {', '.join(order)}",
            sorted(each, key=lambda name: float(each[name].whole)) == order,
        )
    for workload in WORKLOADS:
        each, paper_speedup = ours[workload.name], workload.speedups[1]
        speedup = each["PS"].whole / each["iSW"].whole
        yield (
            f"{workload.name}: iSW's speedup over PS within 15 % of {paper_speedup:.2f}, {speedup:.2f}",
            abs(speedup / paper_speedup - 1) <= 0.15,
        )
    low, high = REDUCTION
    for workload in WORKLOADS:
        each = ours[workload.name]
        less = 1 - each["iSW"].aggregation / each["PS"].aggregation
        yield (
            f"{workload.name}: iSW aggregates in {100 * less:.1f} % less than PS,"
            f" {_format_percents(REDUCTION)} ± 5",
            low - 0.05 <= less <= high + 0.05,
        )


def _format_percents(pair: tuple[float, float]) -> str:
    return f"{100 * pair[0]:.1f}–{100 * pair[1]:.1f}"


def _format_percent(share: float) -> str:
    return f"{100 * share:+.0f} %"


def draw_iterations(data: Points, figure: "Drawing") -> None:
    """Draw figures 4 and 12: computing and aggregation, over the parameter server's iteration."""
    found = read_periods(data["periods"]["fitted"])
    axes = figure.subplots()
    for number, workload in enumerate(WORKLOADS):
        paper, each = _paper_periods(workload), found[workload.name]
        for place, name in enumerate(SYNCHRONOUS.values()):
            at, base = 4 * number + place, paper["PS"]
            computing = each[name].whole - each[name].aggregation
            first = number + place == 0
            axes.bar(at, computing / base, color=pictures.GREYS[2], label="computing" if first else None)
            axes.bar(
                at,
                each[name].aggregation / base,
                bottom=computing / base,
                color=pictures.SUBJECT if name == "iSW" else pictures.GREYS[1],
                label="aggregation" if first else None,
            )
            axes.plot(
                at, paper[name] / base, "k_", markersize=22, label="the paper's iteration" if first else None
            )
    places = [4 * number + place for number in range(len(WORKLOADS)) for place in range(3)]
    axes.set_xticks(
        places,
        [f"{name}\n{w.name if name == 'AR' else ''}" for w in WORKLOADS for name in SYNCHRONOUS.values()],
    )
    axes.set(ylabel="an iteration over the paper's with PS")
    axes.grid(alpha=0.3, axis="y")
    pictures.add_legend(figure, axes)
