"""iSwitch table 5, and the asynchronous half of its table 3: iterations of asynchronous training."""

from collections.abc import Iterator, Mapping
from dataclasses import asdict
from typing import Any

from olaflab.model.iterations import Approach
from olaflab.papers.figure import Effort, FigureTable, Points, Section, decide_statements, tabulate_pairs
from olaflab.papers.iswitch import predicted
from olaflab.papers.iswitch.predicted import ASYNCHRONOUS, BOUND, JITTER
from olaflab.papers.iswitch.published import WORKERS, WORKLOADS, Workload
from olaflab.papers.iswitch.synchronous import MODELS, Line, compare_iterations, read_periods, time_models

_JITTERS = (0.0, JITTER, 0.5, 1.0)


def measure_asynchronous(effort: Effort) -> Points:
    """Measure fifty iterations of each approach under both time models, and their staleness."""
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
    """Show table 5, the speedups of table 3, and the staleness by how unlike the workers' gradients are."""
    periods = {name: read_periods(by_name) for name, by_name in data["periods"].items()}
    title = f"iSwitch table 5, S = {BOUND}; an iteration of PS has one gradient, of iSW {WORKERS}"
    tables = {
        "table5": compare_iterations(f"Asynchronous: {title}", _list_lines(), periods, asynchronous=True),
        "table3": _make_table3(periods),
        "staleness": _table_of_staleness(data["staleness"]),
    }
    return Section(tables, decide_statements(dict(_check_statements(periods))))


def _paper_iterations(workload: Workload) -> dict[str, tuple[float, float]]:
    """Return ms an iteration and the number of iterations of each approach."""
    base, switch = workload.baselines, workload.switch
    return {
        "Async PS": (base.server_async, base.iterations_async),
        "Async iSW": (switch.period_async, switch.iterations_async),
    }


def _list_lines() -> Iterator[Line]:
    for workload in WORKLOADS:
        rewards = (workload.baselines.rewards[2], workload.switch.rewards[1])
        for (approach, (paper, iterations)), reward in zip(
            _paper_iterations(workload).items(), rewards, strict=True
        ):
            yield workload, approach, reward, iterations, paper


def _make_table3(periods: Mapping[str, Any]) -> FigureTable:
    def list_cells(workload: Workload) -> Iterator[tuple[str, str]]:
        paper = _paper_iterations(workload)
        yield "workload", workload.name
        yield "times as fast as Async PS (paper)", f"{workload.speedups[2]:.2f}"
        for name, by_name in periods.items():
            server, switch = (by_name[workload.name][way].whole for way in paper)
            faster = server / switch * (paper["Async PS"][1] / paper["Async iSW"][1])
            yield f"{MODELS[name]} with the paper's numbers of iterations", f"{faster:.2f}"
            yield "gradients used a second", f"{server / switch * WORKERS:.2f}"

    return tabulate_pairs(
        "Asynchronous: iSwitch table 3, Async iSW over Async PS", map(list_cells, WORKLOADS)
    )


def _table_of_staleness(staleness: Mapping[str, Any]) -> FigureTable:
    def list_cells(workload: str, approach: str, each: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
        total = sum(each["counts"])
        yield from (("workload", workload), ("approach", approach))
        yield "gradients take ± %", f"{50 * each['jitter']:.0f}"
        for versions, count in enumerate(each["counts"]):
            yield f"{versions} old, %", f"{100 * count / total:.1f}"
        yield "mean", f"{each['mean']:.2f}"
        yield "too old, %", f"{100 * each['discarded'] / (total + each['discarded']):.1f}"
        yield "ms an iteration", f"{each['ms']:.2f}"

    return tabulate_pairs(
        "Staleness as it arises, under (a), in versions of the weights",
        (
            list_cells(workload, approach, each)
            for workload, by_name in staleness.items()
            for approach, several in by_name.items()
            for each in several
        ),
    )


def _check_statements(periods: Mapping[str, Any]) -> Iterator[tuple[str, bool]]:
    """Check the statements of tables 3 and 5, under (a)."""
    for workload in WORKLOADS:
        paper = _paper_iterations(workload)
        server, switch = (periods["fitted"][workload.name][name].whole for name in paper)
        shorter = paper["Async iSW"][0] < paper["Async PS"][0]
        word = "shorter" if shorter else "longer"
        yield (
            f"{workload.name}: an iteration of Async iSW is {word} than of Async PS",
            (switch < server) == shorter,
        )
        whole = server * paper["Async PS"][1] > switch * paper["Async iSW"][1]
        yield (f"{workload.name}: with the paper's numbers of iterations Async iSW ends sooner", whole)
