"""A replay's figures as a table for people and as JSON."""

from typing import Any

from olafctl.testbed.model import Testbed
from olafctl.wire.modes import Mode
from olaflab.training.replay.measure import Measurement
from olaflab.training.replay.run import Setting
from olaflab.training.replay.schedule import Load, Schedule
from olaflab.training.replay.trace import Trace

_SCREENFUL = 20


def rate_text(rate: float | None) -> str:
    """A rate as people write it."""
    if rate is None:
        return "unlimited"
    for unit, size in (("Gb/s", 1e9), ("Mb/s", 1e6), ("kb/s", 1e3)):
        if rate >= size:
            return f"{rate / size:.4g} {unit}"
    return f"{rate:g} b/s"


def mode_text(mode: Mode) -> str:
    """A mode as the paper writes it."""
    return {Mode.OLAF: "Olaf", Mode.FIFO: "FIFO"}[mode]


def scenario_text(testbed: Testbed, schedule: Schedule, load: Load) -> str:
    """What a picture shows, in two lines: who sends, and what into."""
    at_once = f", {load.at_once} at a time" if load.at_once else ""
    return (
        f"{testbed.name}: {len(testbed.workers)} workers in {len(testbed.clusters)} clusters{at_once},"
        f" {schedule.updates} updates of {_size_text(load)}\n"
        f"{_offered(schedule, load):.1f} Gb/s offered on average over a link of {rate_text(load.link)},"
        f" a queue of {testbed.root.slots} slots"
    )


def source_text(trace: Trace, schedule: Schedule, workers: int, load: Load) -> str:
    """What was sent, in a line or two."""
    lines = [
        f"{schedule.updates} updates of {workers} workers in {schedule.duration / 1000:.1f} µs: "
        f"{_offered(schedule, load):.1f} Gb/s offered on average, each of {_size_text(load)}"
    ]
    if workers > trace.workers:
        lines.append(
            f"(worker k sends what worker k mod {trace.workers} recorded, in another order; docs/traces.md)"
        )
    return "\n".join(lines)


def table(setting: Setting, figures: Measurement) -> str:
    """One replay: what became of the updates, then the clusters' ages."""
    share = 100 / figures.sent
    lines = [
        f"{mode_text(setting.mode)}, output {rate_text(setting.rate)}",
        f"  sent            {figures.sent:7}",
        f"  received at PS  {figures.received:7}  {share * figures.received:5.1f} %",
        f"  merged          {figures.merged:7}  {share * figures.merged:5.1f} %",
        f"  replaced        {figures.replaced:7}  {share * figures.replaced:5.1f} %",
        f"  lost            {figures.lost:7}  {share * figures.lost:5.1f} %  {_causes(figures)}".rstrip(),
        f"  merged updates per frame: {_counts(figures)}",
        f"  Age-of-Model    average {_us(figures.average_age)}, peak {_us(figures.average_peak)} "
        f"(means over clusters), Jain {_plain(figures.fairness)}",
        "",
        *_cluster_lines(figures),
    ]
    lines += [f"  NOT CONSERVED: {violation}" for violation in figures.violations]
    return "\n".join(lines)


def as_json(setting: Setting, figures: Measurement) -> dict[str, Any]:
    """One replay's figures; ages in ns, loss as a share of 1, rates in bit/s."""
    return {
        "mode": setting.mode.value,
        "rate": setting.rate,
        "sent": figures.sent,
        "received": figures.received,
        "merged": figures.merged,
        "replaced": figures.replaced,
        "lost": figures.lost,
        "loss": figures.loss,
        "causes": figures.causes,
        "counts": {str(size): frames for size, frames in figures.counts.items()},
        "aom_average": figures.average_age,
        "aom_peak": figures.average_peak,
        "fairness": figures.fairness,
        "clusters": [
            {
                "cluster": age.cluster,
                "received": age.received,
                "aom_average": age.average,
                "aom_mean_peak": age.mean_peak,
                "aom_highest_peak": age.highest_peak,
            }
            for age in figures.ages
        ],
        "violations": list(figures.violations),
    }


def _offered(schedule: Schedule, load: Load) -> float:
    """Gb/s, on average from the first frame to the last."""
    return schedule.updates * load.blocks.update_bytes * 8 / max(schedule.duration, 1)


def _size_text(load: Load) -> str:
    blocks = load.blocks
    if blocks.segments == 1:
        return f"{blocks.update_bytes} bytes"
    return f"{blocks.segments} segments, {blocks.update_bytes} bytes"


def _cluster_lines(figures: Measurement) -> list[str]:
    """All clusters, or of more than a screenful the stalest."""
    shown = figures.ages
    if len(shown) > _SCREENFUL:
        shown = tuple(sorted(shown, key=lambda age: -(age.average or float("inf"))))[: _SCREENFUL // 2]
    lines = ["  cluster  received  AoM average   mean peak  highest peak"]
    lines += [
        f"  {age.cluster:7}  {age.received:8}  {_us(age.average):>11}  {_us(age.mean_peak):>10}"
        f"  {_us(age.highest_peak):>12}"
        for age in shown
    ]
    if len(shown) < len(figures.ages):
        lines.append(f"  the {len(shown)} stalest of {len(figures.ages)} clusters; --json has all")
    return lines


def _causes(figures: Measurement) -> str:
    named = [f"{name.removeprefix('dropped_')} {count}" for name, count in figures.causes.items()]
    return f"({', '.join(named)})" if named else ""


def _counts(figures: Measurement) -> str:
    return ", ".join(f"{size}: {frames}" for size, frames in figures.counts.items()) or "none"


def _us(nanoseconds: float | None) -> str:
    return "–" if nanoseconds is None else f"{nanoseconds / 1000:.3f} µs"


def _plain(value: float | None) -> str:
    return "–" if value is None else f"{value:.3f}"
