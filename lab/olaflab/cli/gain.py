"""``olaflab gain``: would this training job gain by Olaf?"""

from collections.abc import Mapping
from dataclasses import asdict
from math import isinf
from typing import TYPE_CHECKING, Any

from olafctl import quantities
from olafctl.cli import numbers
from olafctl.testbed import limits
from olafctl.wire.geometry import SLOTS
from olaflab.verb import TextTable, VerbReport, option, verb
from olafswitch.errors import BadInput, Problem

if TYPE_CHECKING:
    from olaflab.model.gain import Gain, GainJob, Spread


_LITTLE = 0.05
"""Below this share a difference of ages does not count as a gain."""


@verb("Print JSON; ages in ns, null where there is none.")
def command(
    values: int = option(..., "Length of the model.", least=1),
    interval: str = option(..., "Time between two updates of a worker: 20ms.", metavar="TIME"),
    workers: int = option(..., "Workers of each cluster.", least=1),
    rate: str = option(..., "Rate of the link to the parameter server: 10Mb/s.", metavar="RATE"),
    clusters: int = option(1, "Clusters in all.", least=1, most=1024),
    slots: int = option(
        SLOTS.default, "Slots of the engine's queue.", least=SLOTS.least, most=SLOTS.greatest
    ),
    jitter: float = option(0.1, "Share of the interval by which an update may be late.", least=0, most=1),
    mtu: int = option(1500, "Bytes of a packet.", least=68, most=65535),
    seed: int = option(0, "First random seed of phases and jitter.", least=0),
    seeds: int = option(20, "Runs of each queue.", least=1, most=1000),
) -> VerbReport:
    """Predict what a training job would gain from Olaf.

    Loss, Age-of-Model and delivery of FIFO, Olaf, and Olaf with transmission control (OLAF §5), in the
    event-level model and with the same arrivals: every worker updates once an interval, from a random phase
    on, and begins each update with another segment, as the SDK does. Figures are medians of several runs with
    other phases, and (lowest … highest): with which phases a job will run is chance.

    \b
      olaflab gain --values 9797 --interval 20ms --workers 3 --clusters 8 --rate 50Mb/s
    """
    from olaflab.model.gain import GainJob, compare_ways

    speed = numbers.read_quantity("--rate", rate, quantities.rate(1, limits.MAX_RATE))
    if speed is None:
        raise BadInput(Problem("a link without a limit is never congested", "--rate", "give its rate"))
    time = numbers.read_quantity("--interval", interval, quantities.duration(1, numbers.LONGEST))
    job = GainJob(values, time, workers, clusters, speed, slots, jitter, mtu)
    found = compare_ways(job, range(seed, seed + seeds))
    document = {
        "offered_rate": job.offered_rate,
        "segments": job.segments,
        "seeds": seeds,
        "congested": found.is_congested,
        "younger": _finite_values(asdict(found.younger)),
        "outcomes": [_finite_values(asdict(outcome)) for outcome in found.outcomes.values()],
    }
    text = (
        f"an update is {job.segments} frames of {job.frame_bytes} bytes; the workers offer "
        f"{job.offered_rate / 1e6:.6g} Mb/s, {job.offered_rate / job.rate:.3g} times the link"
    )
    rows = [
        (
            each.way,
            _format_spread(each.lost, "{:.1%}"),
            f"{each.held.median:.1%}",
            _format_spread(each.age, "{:.4g}", 1e6),
            f"{each.updates.median:.4g}",
            f"{each.frames.median:.4g}",
        )
        for each in found.outcomes.values()
    ]
    heads = ["queue", "lost", "held back", "AoM ms", "updates/s delivered", "frames/s"]
    title = f"predicted; the median of {seeds} seed{'s' * (seeds != 1)} (lowest … highest)"
    return VerbReport(document, [text, TextTable(title, heads, rows), f"\n{_format_verdict(found, job)}"])


def _format_spread(spread: "Spread", form: str, unit: float = 1.0) -> str:
    median, lowest, highest = (
        "none" if isinf(value) else form.format(value / unit)
        for value in (spread.median, spread.lowest, spread.highest)
    )
    return median if lowest == highest else f"{median} ({lowest} … {highest})"


def _finite_values(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values as JSON can hold them: null for infinite."""
    return {
        name: _finite_values(value)
        if isinstance(value, dict)
        else None
        if isinstance(value, float) and isinf(value)
        else value
        for name, value in values.items()
    }


def _format_verdict(found: "Gain", job: "GainJob") -> str:
    from olaflab.model.gain import QueueWay

    if not found.is_congested:
        return "Little to gain: the link carries what the workers send."
    fifo, olaf = (found.outcomes[way].lost.median for way in (QueueWay.FIFO, QueueWay.OLAF))
    text = f"FIFO loses {fifo:.0%}, Olaf {olaf:.0%}; "
    younger = found.younger
    if isinf(younger.median):
        text = f"{text}with most phases some segment never comes through FIFO or Olaf, so ages mean nothing."
    elif abs(1 - younger.median) < _LITTLE:
        text += "models are of about the same age."
    elif younger.highest < 1:
        text = f"Yes: {text}models are {_format_younger(found)} younger."
    elif younger.lowest >= 1:
        text += "models are not younger."
    else:
        text += f"whether models are younger depends on the phases: by {_format_younger(found)}."
    most = job.clusters * job.segments
    if job.slots < most and olaf > fifo / 10:
        text += f" More than {job.slots} slots help: {most} segments may wait at once."
    return text


def _format_younger(found: "Gain") -> str:
    """Format the median and the extremes of the share."""
    share = found.younger
    low = "none" if isinf(share.highest) else f"{1 - share.highest:.0%}"
    return f"{1 - share.median:.0%} ({low} … {1 - share.lowest:.0%})"
