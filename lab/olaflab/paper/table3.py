"""OLAF table 3: as table 2, but the workers of S2 send every 300 ms; with transmission control."""

from olaflab.paper import sweep, table2
from olaflab.paper.experiment import Data, Experiment, Progress, Section
from olaflab.paper.multi_hop import APART

_PAPER = {
    "FIFO": ("86", "1381", "5382", "0.86"),
    sweep.DEEP_FIFO: ("86", "1381", "5382", "0.86"),
    "Olaf": ("5.6", "243", "291", "0.91"),
    "Olaf_TC": ("4.7", "263", "270", "0.99"),
}


def measure(runs: int, progress: Progress) -> Data:
    """The base and the sweeps, also of transmission control."""
    return sweep.measured(APART, runs, True, progress)


def section(data: Data) -> Section:
    """Table 3's tables, and in how many pairs of runs transmission control made Olaf fairer."""
    runs = min(data["runs"], sweep.SWEEP_RUNS)
    tables = {
        "comparison": table2.compared(data, _PAPER, "100 ms and 300 ms"),
        **table2.sweeps(data),
        "control": sweep.table(
            f"What transmission control leaves open; {runs} runs of each", data, "control"
        ),
    }
    ours = {row[0]: {"loss": row[2], "workers": row[-1]} for row in tables["comparison"].rows}
    return Section(tables, {"fairer": data["fairer"], "runs": data["runs"], "ours": ours})


EXPERIMENT = Experiment("table3", "Table 3: multi-hop, unequal workers", table2.CODE, measure, section)
