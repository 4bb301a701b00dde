"""iSwitch table 5, and the asynchronous half of its table 3: iterations of asynchronous training."""

from collections.abc import Iterator, Mapping
from dataclasses import asdict
from typing import Any

from olaflab.model.iterations import Approach
from olaflab.papers.figure import Effort, FigureTable, Points, Section, decide_statements
from olaflab.papers.iswitch import predicted
from olaflab.papers.iswitch.predicted import ASYNCHRONOUS, BOUND, JITTER
from olaflab.papers.iswitch.published import WORKERS, WORKLOADS, Workload
from olaflab.papers.iswitch.synchronous import MODELS, time_models

_JITTERS = (0.0, JITTER, 0.5, 1.0)


def measure_asynchronous(effort: Effort) -> Points:
    """Fifty iterations of each approach under both time models, and their staleness."""
    known = time_models(effort.kept.get("hosts"))
    found: Points = {"periods": {}, "staleness": {}}
    for name, each in known.items():
        effort.progress(f"time model {MODELS[name]}")
        found["periods"][name] = {
            workload.name: {
                ASYNCHRONOUS[approach]: asdict(predicted.predict_period(approach, workload, each))
                for approach in ASYNCHRONOUS
            }
            for workload in WORKLOADS
        }
    for workload in WORKLOADS:
        effort.progress(f"staleness, {workload.name}")
        found["staleness"][workload.name] = {
            ASYNCHRONOUS[approach]: [
                _measure_staleness(approach, workload, known, jitter) for jitter in _JITTERS
            ]
            for approach in ASYNCHRONOUS
        }
    return found


def _measure_staleness(
    approach: Approach, workload: Workload, known: Mapping[str, Any], jitter: float
) -> Points:
    course = predicted.staleness(approach, workload, known["fitted"], jitter)
    return {
        "jitter": jitter,
        "counts": course.staleness[: BOUND + 1].tolist(),
        "mean": course.mean_staleness,
        "discarded": course.discarded,
        "ms": course.period / 1e6,
    }


def show_asynchronous(data: Points) -> Section:
    """Table 5, the speedups of table 3, and the staleness by how unlike the workers' gradients are."""
    tables = {
        "table5": _make_table5(data["periods"]),
        "table3": _make_table3(data["periods"]),
        "staleness": _table_of_staleness(data["staleness"]),
    }
    return Section(tables, decide_statements(dict(_check_statements(data["periods"]))))


def _paper_iterations(workload: Workload) -> dict[str, tuple[float, float]]:
    """ms an iteration, and iterations."""
    base, switch = workload.baselines, workload.switch
    return {
        "Async PS": (base.server_async, base.iterations_async),
        "Async iSW": (switch.period_async, switch.iterations_async),
    }


def _make_table5(periods: Mapping[str, Any]) -> FigureTable:
    rows = []
    for workload in WORKLOADS:
        rewards = (workload.baselines.rewards[2], workload.switch.rewards[1])
        for (approach, (paper, iterations)), reward in zip(
            _paper_iterations(workload).items(), rewards, strict=True
        ):
            row = [workload.name, approach, f"{reward:.2f}", f"{iterations / 1e6:.2f}", f"{paper:.2f}"]
            row.append(f"{paper * iterations / 3.6e6:.2f}")
            for by_name in periods.values():
                ours = by_name[workload.name][approach]
                row += [
                    f"{ours['whole']:.2f}",
                    f"{ours['whole'] * iterations / 3.6e6:.2f}",
                    f"{100 * (ours['whole'] / paper - 1):+.0f} %",
                    f"{ours['staleness']:.2f}",
                ]
            rows.append(row)
    heads = [
        "workload",
        "approach",
        "reward (paper)",
        "million iterations (paper)",
        "ms an iteration (paper)",
        "hours (paper)",
    ]
    for name in periods:
        heads += [f"ms {MODELS[name]}", "hours", "from the paper's", "mean staleness"]
    return FigureTable(
        f"Asynchronous: iSwitch table 5, S = {BOUND}; an iteration of PS has one gradient, of iSW {WORKERS}",
        heads,
        rows,
    )


def _make_table3(periods: Mapping[str, Any]) -> FigureTable:
    rows = []
    for workload in WORKLOADS:
        paper = _paper_iterations(workload)
        row = [workload.name, f"{workload.speedups[2]:.2f}"]
        for by_name in periods.values():
            server, switch = (by_name[workload.name][name]["whole"] for name in paper)
            ratio = paper["Async PS"][1] / paper["Async iSW"][1]
            row += [f"{server / switch * ratio:.2f}", f"{server / switch * WORKERS:.2f}"]
        rows.append(row)
    heads = ["workload", "times as fast as Async PS (paper)"]
    for name in periods:
        heads += [f"{MODELS[name]} with the paper's numbers of iterations", "gradients used a second"]
    return FigureTable("Asynchronous: iSwitch table 3, Async iSW over Async PS", heads, rows)


def _table_of_staleness(staleness: Mapping[str, Any]) -> FigureTable:
    rows = []
    for workload, by_name in staleness.items():
        for approach, several in by_name.items():
            for each in several:
                total = sum(each["counts"])
                rows.append(
                    [
                        workload,
                        approach,
                        f"{50 * each['jitter']:.0f}",
                        *(f"{100 * count / total:.1f}" for count in each["counts"]),
                        f"{each['mean']:.2f}",
                        f"{100 * each['discarded'] / (total + each['discarded']):.1f}",
                        f"{each['ms']:.2f}",
                    ]
                )
    heads = (
        "workload",
        "approach",
        "gradients take ± %",
        *(f"{versions} old, %" for versions in range(BOUND + 1)),
        "mean",
        "too old, %",
        "ms an iteration",
    )
    return FigureTable("Staleness as it arises, under (a), in versions of the weights", heads, rows)


def _check_statements(periods: Mapping[str, Any]) -> Iterator[tuple[str, bool]]:
    """Statements of tables 3 and 5, under (a)."""
    for workload in WORKLOADS:
        paper = _paper_iterations(workload)
        server, switch = (periods["fitted"][workload.name][name]["whole"] for name in paper)
        shorter = paper["Async iSW"][0] < paper["Async PS"][0]
        word = "shorter" if shorter else "longer"
        yield (
            f"{workload.name}: an iteration of Async iSW is {word} than of Async PS",
            (switch < server) == shorter,
        )
        whole = server * paper["Async PS"][1] > switch * paper["Async iSW"][1]
        yield (f"{workload.name}: with the paper's numbers of iterations Async iSW ends sooner", whole)
