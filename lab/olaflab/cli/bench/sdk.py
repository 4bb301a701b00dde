"""``olaflab bench sdk``: the cost of an update for a worker and a parameter server, next to gRPC and gloo."""

from dataclasses import asdict

from olaflab.verb import TextTable, VerbReport, option, verb
from olafswitch.console.output import log_progress
from olafswitch.errors import importing

_HEADS = ("values", "with", "worker: CPU µs", "times Olaf's", "server: updates/s of CPU", "times Olaf's CPU")


@verb("Print JSON; CPU seconds for an update.")
def command(
    updates: int = option(2000, "Updates of the small model in a round; a tenth of the large one.", least=4),
    rounds: int = option(5, "Rounds of each, in turn; the median is shown.", least=1),
) -> VerbReport:
    """Measure the CPU time of an update: the SDK, gRPC and gloo.

    Updates of 2,205 and of 137,477 values: with Olaf's SDK, with a parameter server over gRPC that is sent
    the same arrays, and with a round of gloo's all-reduce where torch is installed. Over loopback, the
    kernel's part included; other load on the machine disturbs CPU time little, and the ratios less. Needs the
    SDK (pip install ./sdk).
    """
    with importing("the bench"):
        from olaflab.training.update_cost import measure_costs
    measured = list(measure_costs(updates, rounds, log_progress))
    base = {cost.values: cost for cost in measured if cost.name == "olaf"}
    rows = []
    for cost in measured:
        ours = base[cost.values]
        served = ratio = "–"
        if cost.server is not None and ours.server is not None:
            served, ratio = f"{1 / cost.server:.0f}", f"{cost.server / ours.server:.2f}"
        row = (cost.values, cost.name, f"{cost.worker * 1e6:.0f}", f"{cost.worker / ours.worker:.2f}")
        rows.append((*row, served, ratio))
    return VerbReport(
        [asdict(cost) for cost in measured], [TextTable("one update over loopback", _HEADS, rows)]
    )
