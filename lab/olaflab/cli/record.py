"""``olaflab record``: train for real, and write what the workers sent."""

from pathlib import Path
from statistics import fmean

import click

from olaflab.verb import FILE, VerbReport, option, verb
from olafswitch.console.output import log_progress
from olafswitch.errors import importing


@verb("Print the trace's size and header as JSON.")
def command(
    output: Path = option(..., "Trace to write.", "-o", "--output", type=FILE),
    clusters: int = option(9, "Clusters; each trains its own policy.", least=1, most=1000),
    cluster_size: int = option(3, "Workers of a cluster, on machines of one speed.", least=1, most=1000),
    updates: int = option(500, "Updates of each worker.", least=1, most=60_000),
    hidden: int = option(
        40,
        "Units of each of the network's two layers; 40 fit one jumbo frame, more travel in segments.",
        least=1,
        most=4096,
    ),
    seed: int = option(1, "Random seed.", least=0),
    force: bool = option(False, "Overwrite a trace that exists."),
) -> VerbReport:
    """Record asynchronous PPO on LunarLander-v3 as a trace.

    Each cluster is a training of its own. 27 workers with 500 updates each take about ten minutes on one
    core. Needs the extra [train].
    """
    if output.exists() and not force:
        raise click.UsageError(f"{output} exists (--force overwrites it)")
    if not output.parent.is_dir():
        raise click.UsageError(f"folder {output.parent} does not exist")
    with importing("recording", "pip install ./sdk './lab[train]'"):
        from olaflab.training.record import record_training
    from olaflab.training.replay import trace as traces

    rewards: list[float] = []

    def progress(cluster: int, done: int, total: int, reward: float) -> None:
        rewards.append(reward)
        if done * 20 // total != (done - 1) * 20 // total:
            log_progress(f"{done}/{total} updates; cluster {cluster + 1}, mean reward {fmean(rewards):.0f}")
            rewards.clear()

    trace = record_training(clusters, cluster_size, updates, seed, progress, hidden)
    traces.save_trace(trace, output)
    size = output.stat().st_size
    shape = {"workers": trace.workers, "updates": trace.updates, "values": trace.values}
    sizes = f"{trace.workers} workers × {updates} updates of {trace.values} values, {size / 1e6:.2f} MB"
    document = {"trace": str(output), "bytes": size, **shape, "header": trace.header}
    return VerbReport(document, [f"wrote {output}: {sizes}"])
