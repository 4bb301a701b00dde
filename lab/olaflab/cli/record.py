"""``olaflab record``: train for real, and keep what the workers sent."""

from pathlib import Path
from statistics import fmean

import click

from olafswitch.console.output import json_option, log_progress, show
from olafswitch.errors import importing


@click.command()
@click.option(
    "-o",
    "--output",
    type=click.Path(dir_okay=False, path_type=Path),
    required=True,
    help="The trace to write.",
)
@click.option(
    "--clusters",
    type=click.IntRange(1, 1000),
    default=9,
    show_default=True,
    help="Each trains its own policy.",
)
@click.option(
    "--cluster-size",
    type=click.IntRange(1, 1000),
    default=3,
    show_default=True,
    help="Workers of a cluster, on machines of one speed.",
)
@click.option(
    "--updates", type=click.IntRange(1, 60_000), default=500, show_default=True, help="Of each worker."
)
@click.option(
    "--hidden",
    type=click.IntRange(1, 4096),
    default=40,
    show_default=True,
    help="Units of each of the network's two layers; 40 fit one jumbo frame, more travel in segments.",
)
@click.option("--seed", type=click.IntRange(0), default=1, show_default=True, help="Of all that is random.")
@click.option("--force", is_flag=True, help="Overwrite a trace that exists.")
@json_option("Print the trace's size and header as JSON.")
def command(
    output: Path,
    clusters: int,
    cluster_size: int,
    updates: int,
    hidden: int,
    seed: int,
    force: bool,
    as_json: bool,
) -> None:
    """Record asynchronous PPO on LunarLander-v3 as a trace.

    Each cluster is a training of its own. 27 workers with 500 updates each take about ten minutes on one
    core. Needs the extra [train].
    """
    if output.exists() and not force:
        raise click.UsageError(f"{output} exists (--force overwrites it)")
    if not output.parent.is_dir():
        raise click.UsageError(f"folder {output.parent} does not exist")
    with importing("recording", "pip install ./sdk './lab[train]'"):
        from olaflab.training.record import record
    from olaflab.training.replay import trace as traces

    rewards: list[float] = []

    def progress(cluster: int, done: int, total: int, reward: float) -> None:
        rewards.append(reward)
        if done * 20 // total != (done - 1) * 20 // total:
            log_progress(f"{done}/{total} updates; cluster {cluster + 1}, mean reward {fmean(rewards):.0f}")
            rewards.clear()

    trace = record(clusters, cluster_size, updates, seed, progress, hidden)
    traces.save(trace, output)
    size = output.stat().st_size
    shape = {"workers": trace.workers, "updates": trace.updates, "values": trace.values}
    sizes = f"{trace.workers} workers × {updates} updates of {trace.values} values, {size / 1e6:.2f} MB"
    written = {"trace": str(output), "bytes": size, **shape, "header": trace.header}
    show(written, f"wrote {output}: {sizes}", as_json)
