"""What an operator writes, as a system and an objective."""

from collections.abc import Iterable
from dataclasses import replace

from olafctl.membership.objective import whole_time
from olafctl.queue.registers import CLOCK_HZ
from olafctl.testbed.model import Testbed
from olafctl.verify.question.system import Cluster, Transmission
from olafctl.wire.layouts import BEAT_BYTES
from olafswitch.errors import BadInput, Problem

_CYCLE = 10**9 // CLOCK_HZ
"""ns."""


def clusters(texts: Iterable[str], tick: int) -> tuple[Cluster, ...]:
    """``name:period=100ms,workers=2,jitter=1ms,phase=0ms..50ms``, separated by ``;``. Raises BadInput."""
    return tuple(_cluster(part.strip(), tick) for text in texts for part in text.split(";") if part.strip())


def transmission(text: str) -> tuple[Transmission, int]:
    """``always``, ``any``, ``bounded:3``, ``expected``: the treatment and its patience. Raises BadInput."""
    kind, _, patience = text.partition(":")
    known = ", ".join(
        [*(kind.value for kind in Transmission if kind is not Transmission.BOUNDED), "bounded:N"]
    )
    if kind not in set(Transmission) or (kind == Transmission.BOUNDED) != patience.isdecimal():
        raise BadInput(Problem(f"{text!r} is not a transmission", "--transmission", f"known: {known}"))
    return Transmission(kind), int(patience or 0)


def from_testbed(testbed: Testbed, periods: Iterable[str], tick: int) -> tuple[Cluster, ...]:
    """The clusters of a testbed with their workers, each update period from ``100ms`` or ``name=300ms``.

    Raises BadInput for a cluster whose updates the laws do not describe: sent in rounds or in segments.
    """
    _check_described(testbed)
    every: int | None = None
    named: dict[str, int] = {}
    for text in periods:
        name, equals, value = text.rpartition("=")
        if equals:
            named[name] = whole_time(value, f"--period {name}")
        else:
            every = whole_time(value, "--period")
    known = {cluster.name for cluster in testbed.clusters}
    for name in named.keys() - known:
        raise BadInput(
            Problem(f"no cluster is called {name!r}", "--period", f"known: {', '.join(sorted(known))}")
        )
    silent = [cluster.name for cluster in testbed.clusters if named.get(cluster.name, every) is None]
    if silent:
        raise BadInput(
            Problem(
                f"the testbed does not say how often {', '.join(silent)} updates",
                str(testbed.source),
                "--period 100ms, or --period NAME=100ms",
            )
        )
    found = []
    for cluster in testbed.clusters:
        period = named.get(cluster.name, every)
        assert period is not None
        found.append(Cluster(cluster.name, period, (0, max(period - tick, 0)), len(cluster.workers)))
    return tuple(found)


def _check_described(testbed: Testbed) -> None:
    remedy = "leave it out, or describe the others with --clusters"
    problems = []
    if len(testbed.engines) > 1:
        what = f"has {len(testbed.engines)} engines, and a proof is about one queue"
        remedy_of_one = "describe one engine with --clusters, --service and --slots"
        problems.append(Problem(what, str(testbed.source), remedy_of_one))
    for cluster in testbed.clusters:
        mode = testbed.mode_of(cluster)
        if mode.sums:
            what = f"cluster {cluster.name} is summed ({mode}), and sums have no Age-of-Model to prove"
            problems.append(Problem(what, str(testbed.source), remedy))
        elif cluster.segments > 1:
            what = f"cluster {cluster.name} has {cluster.segments} segments; an update must be one frame"
            problems.append(Problem(what, str(testbed.source), remedy))
    if problems:
        raise BadInput(*problems)


def service_of(testbed: Testbed, frame_bytes: int | None) -> int:
    """p/C in ns, rounded up: a frame (by default one that fills a slot) at the engine's output rate."""
    size = frame_bytes or testbed.root.beats * BEAT_BYTES
    rate = testbed.root.output_rate
    if rate is None:
        return -(-size // BEAT_BYTES) * _CYCLE
    return -(-size * 8 * 10**9 // rate)


def _cluster(text: str, tick: int) -> Cluster:
    name, colon, rest = text.partition(":")
    where = f"--clusters {name}"
    fields = dict(part.partition("=")[::2] for part in rest.split(",") if part.strip())
    fields = {key.strip(): value.strip() for key, value in fields.items()}
    unknown = fields.keys() - {"period", "workers", "jitter", "phase"}
    if not name.strip() or not colon or unknown or "period" not in fields:
        what = f"unknown {', '.join(sorted(unknown))}" if unknown else "needs a name and a period"
        raise BadInput(Problem(what, where, "as in a:period=100ms,workers=2,jitter=1ms,phase=0ms..50ms"))
    period = whole_time(fields["period"], where)
    cluster = Cluster(name.strip(), period, (0, max(period - tick, 0)))
    if "workers" in fields:
        if not fields["workers"].isdecimal():
            raise BadInput(Problem(f"{fields['workers']!r} workers", where, "a whole number"))
        cluster = replace(cluster, workers=int(fields["workers"]))
    if "jitter" in fields:
        cluster = replace(cluster, jitter=whole_time(fields["jitter"], where))
    if "phase" in fields:
        low, _, high = fields["phase"].partition("..")
        phase = whole_time(low, where), whole_time(high or low, where)
        cluster = replace(cluster, phase=phase)
    return cluster
