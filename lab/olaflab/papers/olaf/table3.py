"""OLAF table 3: as table 2, but the workers of S2 send every 300 ms; with transmission control."""

from olaflab.papers.figure import Points, Progress, Section, modelled, verdicts
from olaflab.papers.olaf import sweep, table2
from olaflab.papers.olaf.multi_hop import APART

_PAPER = {
    "FIFO": ("86", "1381", "5382", "0.86"),
    sweep.DEEP_FIFO: ("86", "1381", "5382", "0.86"),
    "Olaf": ("5.6", "243", "291", "0.91"),
    "Olaf_TC": ("4.7", "263", "270", "0.99"),
}


def measure(runs: int, progress: Progress) -> Points:
    """The base and the sweeps, also of transmission control."""
    return sweep.measured(APART, runs, True, progress)


def section(data: Points) -> Section:
    """Table 3's tables, and in how many pairs of runs transmission control made Olaf fairer."""
    runs = min(data["runs"], sweep.SWEEP_RUNS)
    tables = {
        "comparison": table2.compared(data, _PAPER, "100 ms and 300 ms"),
        **table2.sweeps(data),
        "control": sweep.table(
            f"What transmission control leaves open; {runs} runs of each", data, "control"
        ),
    }
    fairer = f"Olaf_TC is fairer than Olaf in {data['fairer']} of {data['runs']} pairs of runs"
    return Section(tables, verdicts({fairer: 2 * data["fairer"] > data["runs"]}))


FIGURE = modelled("table3", "Table 3: multi-hop, unequal workers", measure, section, code=table2.CODE)
