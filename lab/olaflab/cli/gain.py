"""``olafctl gain``: would this training job gain by Olaf?"""

from dataclasses import asdict
from typing import TYPE_CHECKING

import click

from olafctl import quantities
from olafctl.cli import numbers
from olafctl.cli.output import json_option, print_json, table
from olafctl.errors import BadInput, Problem
from olafctl.testbed import limits
from olafctl.wire.geometry import SLOTS

if TYPE_CHECKING:
    from olaflab.model.gain import Gain, Job


@click.command()
@click.option("--values", type=click.IntRange(1), required=True, help="Length of the model.")
@click.option("--interval", metavar="TIME", required=True, help="Between two updates of a worker: 20ms.")
@click.option("--workers", type=click.IntRange(1), required=True, help="Of each cluster.")
@click.option("--rate", metavar="RATE", required=True, help="Of the link to the parameter server: 10Mb/s.")
@click.option("--clusters", type=click.IntRange(1, 1024), default=1, show_default=True, help="In all.")
@click.option("--slots", type=click.IntRange(SLOTS.least, SLOTS.greatest), default=SLOTS.default,
              show_default=True, help="Of the engine's queue.")  # fmt: skip
@click.option("--jitter", type=click.FloatRange(0, 1), default=0.1, show_default=True,
              help="Share of the interval by which an update may be late.")  # fmt: skip
@click.option("--mtu", type=click.IntRange(68, 65535), default=1500, show_default=True, help="Bytes.")
@click.option("--seed", type=click.IntRange(0), default=0, show_default=True, help="Of phases and jitter.")
@json_option("Print JSON; ages in ns.")
def command(
    values: int,
    interval: str,
    workers: int,
    rate: str,
    clusters: int,
    slots: int,
    jitter: float,
    mtu: int,
    seed: int,
    as_json: bool,
) -> None:
    """Predict what a training job would gain from Olaf.

    Loss, Age-of-Model and delivery of FIFO, Olaf, and Olaf with transmission control (OLAF §5), in the
    event-level model and with the same arrivals: every worker updates once an interval, from a random phase
    on.

    \b
      olafctl gain --values 9797 --interval 20ms --workers 3 --clusters 8 --rate 50Mb/s
    """
    from olaflab.model.gain import Job, gain

    speed = numbers.read("--rate", rate, quantities.rate(1, limits.MAX_RATE))
    if speed is None:
        raise BadInput(Problem("a link without a limit is never congested", "--rate", "say how fast it is"))
    job = Job(
        values,
        numbers.read("--interval", interval, quantities.duration(1, numbers.LONGEST)),
        workers,
        clusters,
        speed,
        slots,
        jitter,
        mtu,
    )
    found = gain(job, seed)
    if as_json:
        print_json(
            {
                "offered_rate": job.offered,
                "segments": job.segments,
                "congested": found.congested,
                "outcomes": [asdict(outcome) for outcome in found.outcomes.values()],
            }
        )
        return
    load = job.offered / job.rate
    click.echo(
        f"an update is {job.segments} frames of {job.frame_bytes} bytes; the workers offer "
        f"{job.offered / 1e6:.6g} Mb/s, {load:.3g} times the link"
    )
    rows = [
        (
            outcome.way,
            f"{outcome.lost:.1%}",
            f"{outcome.held:.1%}",
            "–" if outcome.age is None else f"{outcome.age / 1e6:.4g}",
            f"{outcome.updates:.4g}",
            f"{outcome.frames:.4g}",
        )
        for outcome in found.outcomes.values()
    ]
    heads = ["queue", "lost", "held back", "AoM ms", "updates/s delivered", "frames/s"]
    table("predicted", heads, rows)
    click.echo(f"\n{_verdict(found, job)}")


def _verdict(found: "Gain", job: "Job") -> str:
    from olaflab.model.gain import Way

    if not found.congested:
        return "Little to gain: the link carries what the workers send."
    fifo, olaf = found.outcomes[Way.FIFO], found.outcomes[Way.OLAF]
    if found.younger is None:
        return "Nothing of some cluster comes through: give it more slots or a faster link."
    said = f"FIFO loses {fifo.lost:.0%}, Olaf {olaf.lost:.0%}; "
    if found.younger < 1:
        said = f"Yes: {said}models are {1 - found.younger:.0%} younger."
    else:
        said += "models are not younger."
    most = job.clusters * job.segments
    if job.slots < most and olaf.lost > fifo.lost / 10:
        said += f" More than {job.slots} slots help: {most} segments may wait at once."
    return said
