"""OLAF table 2: ten clusters over three engines, all workers alike."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from olaflab.model.scenario import Scenario
from olaflab.papers import statistics
from olaflab.papers.figure import Points, Progress, Section, Table, modelled
from olaflab.papers.olaf import multi_hop, sweep
from olaflab.papers.olaf.multi_hop import SAME, Queue, Setup
from olaflab.papers.statistics import Figures

_PAPER = {
    "FIFO": ("88", "1714", "1710", "0.88"),
    sweep.DEEP_FIFO: ("88", "1714", "1710", "0.88"),
    "Olaf": ("4.5", "245", "244", "0.98"),
    "Olaf_TC": ("as Olaf", "as Olaf", "as Olaf", "as Olaf"),
}
CODE = tuple(Path(module.__file__ or "") for module in (multi_hop, statistics, sweep))


def measure(runs: int, progress: Progress) -> Points:
    """The base and the sweeps."""
    return sweep.measured(SAME, runs, False, progress)


def section(data: Points) -> Section:
    """Table 2's tables."""
    return Section({"comparison": compared(data, _PAPER, "100 ms and 100 ms"), **sweeps(data)})


def compared(data: Points, paper: Mapping[str, tuple[str, str, str, str]], periods: str) -> Table:
    """The paper's rows next to ours."""
    rows = []
    for queue, (loss, first, second, fairness) in paper.items():
        found = Figures.of_json(data["base"][queue])
        rows.append(
            [
                queue,
                loss,
                found.text("loss", 1),
                first,
                found.text("age_s1"),
                second,
                found.text("age_s2"),
                fairness,
                found.text("fairness", 3),
                f"{found.text('worker_s1')}; {found.text('worker_s2')}",
                found.text("worker_fairness", 3),
            ]
        )
    heads = (
        "queue",
        "loss, % (paper)",
        "ours",
        "AoM S1, ms (paper)",
        "ours",
        "AoM S2, ms (paper)",
        "ours",
        "fairness (paper)",
        "ours",
        "workers' AoM S1; S2, ms",
        "workers' fairness",
    )
    title = f"Workers of S1 and S2 send every {periods}: means and standard deviations of {data['runs']} runs"
    return Table(title, heads, rows)


def sweeps(data: Points) -> dict[str, Table]:
    """Setups in which the paper's statements hold, and all of them."""
    runs = min(data["runs"], sweep.SWEEP_RUNS)
    parts = [sweep.statements(data, name) for name in ("edge", "behind", "together")]
    held = [
        [
            text,
            *(f"{count} of {total}" for _, count, total, _ in (edge, behind, together)),
            _shortened(edge[3]),
        ]
        for edge, behind, together in zip(*parts, strict=True)
        for text in (edge[0],)
    ]
    heads = (
        "statement",
        "setups of rates and jitter",
        "more frames behind FIFO's slots",
        "all workers at once",
        "of the rates and jitter, not at",
    )
    titles = {
        "edge": "Rate of SW1 and SW2, and jitter",
        "core": "Rate of SW3, with SW1 and SW2 at 0.7 of it if nothing else is said",
        "delay": "Delay of every link",
        "together": "All workers send at the same instants, all switches at one rate",
    }
    behind = f"Frames that wait behind FIFO's slots in each switch; {runs} runs of each"
    return {
        "behind": sweep.table(behind, data, "behind", [Queue.FIFO]),
        "statements": Table(f"In how many setups the statements hold; {runs} runs of each", heads, held),
        **{name: sweep.table(f"{title}; {runs} runs of each", data, name) for name, title in titles.items()},
    }


def _shortened(labels: Sequence[str]) -> str:
    """The setups by rate: ``0.6 Mb/s: jitter 0, 1 %``."""
    if not labels:
        return "–"
    by_rate: dict[str, list[str]] = {}
    for label in labels:
        rate, jitter = label.split(", jitter ")
        by_rate.setdefault(rate.removesuffix(" Mb/s"), []).append(jitter.removesuffix("%"))
    return "; ".join(f"{rate} Mb/s: {', '.join(jitters)} %" for rate, jitters in by_rate.items())


def scenarios(seed: int) -> Sequence[tuple[str, Scenario]]:
    """Table 2's base with Olaf and with FIFO, as another simulator can run it."""
    return [(queue.value, multi_hop.scenario(Setup(queue, SAME), seed)) for queue in (Queue.OLAF, Queue.FIFO)]


FIGURE = modelled("table2", "Table 2: multi-hop, equal workers", measure, section, code=CODE)
