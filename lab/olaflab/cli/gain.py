"""``olaflab gain``: would this training job gain by Olaf?"""

from collections.abc import Mapping
from dataclasses import asdict
from math import isinf
from typing import TYPE_CHECKING, Any

import click

from olafctl import quantities
from olafctl.cli import numbers
from olafctl.testbed import limits
from olafctl.wire.geometry import SLOTS
from olafswitch.console.output import json_option, print_json, table
from olafswitch.errors import BadInput, Problem

if TYPE_CHECKING:
    from olaflab.model.gain import Gain, Job, Spread


_LITTLE = 0.05
"""Below this share a difference of ages does not count as a gain."""


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
@click.option(
    "--seed",
    type=click.IntRange(0),
    default=0,
    show_default=True,
    help="The first one, of phases and jitter.",
)
@click.option(
    "--seeds", type=click.IntRange(1, 1000), default=20, show_default=True, help="Runs of each queue."
)
@json_option("Print JSON; ages in ns, null where there is none.")
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
    seeds: int,
    as_json: bool,
) -> None:
    """Predict what a training job would gain from Olaf.

    Loss, Age-of-Model and delivery of FIFO, Olaf, and Olaf with transmission control (OLAF §5), in the
    event-level model and with the same arrivals: every worker updates once an interval, from a random phase
    on, and begins each update with another segment, as the SDK does. Figures are medians of several runs with
    other phases, and (lowest … highest): with which phases a job will run is chance.

    \b
      olaflab gain --values 9797 --interval 20ms --workers 3 --clusters 8 --rate 50Mb/s
    """
    from olaflab.model.gain import Job, gain

    speed = numbers.read("--rate", rate, quantities.rate(1, limits.MAX_RATE))
    if speed is None:
        raise BadInput(Problem("a link without a limit is never congested", "--rate", "give its rate"))
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
    found = gain(job, range(seed, seed + seeds))
    if as_json:
        print_json(
            {
                "offered_rate": job.offered,
                "segments": job.segments,
                "seeds": seeds,
                "congested": found.congested,
                "younger": _finite(asdict(found.younger)),
                "outcomes": [_finite(asdict(outcome)) for outcome in found.outcomes.values()],
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
            _shown(outcome.lost, "{:.1%}"),
            f"{outcome.held.median:.1%}",
            _shown(outcome.age, "{:.4g}", 1e6),
            f"{outcome.updates.median:.4g}",
            f"{outcome.frames.median:.4g}",
        )
        for outcome in found.outcomes.values()
    ]
    heads = ["queue", "lost", "held back", "AoM ms", "updates/s delivered", "frames/s"]
    table(f"predicted; the median of {seeds} seed{'s' * (seeds != 1)} (lowest … highest)", heads, rows)
    click.echo(f"\n{_verdict(found, job)}")


def _shown(spread: "Spread", form: str, unit: float = 1.0) -> str:
    median, lowest, highest = (
        "none" if isinf(value) else form.format(value / unit)
        for value in (spread.median, spread.lowest, spread.highest)
    )
    return median if lowest == highest else f"{median} ({lowest} … {highest})"


def _finite(values: Mapping[str, Any]) -> dict[str, Any]:
    """As JSON can hold it: null for infinite."""
    return {
        name: _finite(value)
        if isinstance(value, dict)
        else None
        if isinstance(value, float) and isinf(value)
        else value
        for name, value in values.items()
    }


def _verdict(found: "Gain", job: "Job") -> str:
    from olaflab.model.gain import Way

    if not found.congested:
        return "Little to gain: the link carries what the workers send."
    fifo, olaf = (found.outcomes[way].lost.median for way in (Way.FIFO, Way.OLAF))
    text = f"FIFO loses {fifo:.0%}, Olaf {olaf:.0%}; "
    younger = found.younger
    if isinf(younger.median):
        text = f"{text}with most phases some segment never comes through FIFO or Olaf, so ages mean nothing."
    elif abs(1 - younger.median) < _LITTLE:
        text += "models are of about the same age."
    elif younger.highest < 1:
        text = f"Yes: {text}models are {_younger(found)} younger."
    elif younger.lowest >= 1:
        text += "models are not younger."
    else:
        text += f"whether models are younger depends on the phases: by {_younger(found)}."
    most = job.clusters * job.segments
    if job.slots < most and olaf > fifo / 10:
        text += f" More than {job.slots} slots help: {most} segments may wait at once."
    return text


def _younger(found: "Gain") -> str:
    """By how much: the median and the extremes."""
    share = found.younger
    low = "none" if isinf(share.highest) else f"{1 - share.highest:.0%}"
    return f"{1 - share.median:.0%} ({low} … {1 - share.lowest:.0%})"
