"""An operator's question: which clusters send, how often, and the objective for every schedule."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

from olafctl.membership.objective import Objective, ObjectiveKind, format_duration, whole_time
from olafctl.membership.objective import parse_objective as read_objective
from olafctl.queue.registers import CLOCK_HZ
from olafctl.testbed.model import Testbed
from olafctl.verify.system import ClusterFlow, Slope, SlotFreed, System, Transmission
from olafctl.wire.geometry import SLOTS
from olafctl.wire.layouts import BEAT_BYTES
from olafswitch.errors import BadInput, Problem


@dataclass(frozen=True)
class ScheduleOutcome:
    """The outcome of one schedule, by cluster index: peaks and final age in ns, and updates lost."""

    peaks: Sequence[Sequence[int]]
    final_age: Sequence[int]
    lost: Sequence[int]


@dataclass(frozen=True)
class Violation:
    """The excess of an outcome over an objective, and its place; ``excess`` None: starved."""

    excess: Fraction | None
    clusters: tuple[int, ...]
    what: str


def find_violation(
    objective: Objective, outcome: ScheduleOutcome, names: Mapping[int, str]
) -> Violation | None:
    """Return the worst violation of ``objective`` by ``outcome``, or None when it holds.

    ``names`` maps the indices of the clusters the objective covers to their names.
    """
    if objective.kind is ObjectiveKind.LOSS_FREE:
        worst = max(names, key=lambda index: outcome.lost[index])
        lost = outcome.lost[worst]
        return Violation(Fraction(lost), (worst,), f"{names[worst]} loses {lost}") if lost else None
    if objective.kind is ObjectiveKind.PEAK:
        ages = {index: max([*outcome.peaks[index], outcome.final_age[index]]) for index in names}
        worst = max(ages, key=lambda index: ages[index])
        what = f"the age of {names[worst]} reaches {format_duration(ages[worst])}"
        return _violation_beyond(Fraction(ages[worst]), objective.bound, (worst,), what)
    starved = [index for index in names if not outcome.peaks[index]]
    if starved:
        return Violation(None, (starved[0],), f"{names[starved[0]]} is starved: no peak within the horizon")
    means = {index: Fraction(sum(outcome.peaks[index]), len(outcome.peaks[index])) for index in names}
    high, low = max(means, key=lambda index: means[index]), min(means, key=lambda index: means[index])
    if objective.kind is ObjectiveKind.AVERAGE:
        what = f"the average peak age of {names[high]} is {format_duration(means[high])}"
        return _violation_beyond(means[high], objective.bound, (high,), what)
    what = (
        f"average peak ages are {format_duration(means[high])} for {names[high]}"
        f" and {format_duration(means[low])} for {names[low]}"
    )
    return _violation_beyond(means[high] - means[low], objective.bound, (high, low), what)


def find_scope(system: System, objective: Objective) -> dict[int, str]:
    """Return the clusters that an objective covers, by index. Raises BadInput when it names an unknown
    cluster, or one whose age has no peak within the horizon."""
    if not objective.clusters:
        chosen = {index: cluster.name for index, cluster in enumerate(system.clusters)}
    else:
        chosen = {system.index(name): name for name in objective.clusters}
    slow = next((index for index in chosen if system.generations[index] < 2), None)
    if slow is not None and objective.kind is not ObjectiveKind.LOSS_FREE:
        what = "generates fewer than two updates within the horizon, so it has no peak"
        least = system.clusters[slow].period // min(each.period for each in system.clusters) + 1
        remedy = f"--updates {least}, or an objective of other clusters: {objective.kind}<=…@NAME"
        raise BadInput(Problem(what, f"cluster {chosen[slow]}", remedy))
    return chosen


def _violation_beyond(
    value: Fraction, bound: Fraction, clusters: tuple[int, ...], what: str
) -> Violation | None:
    return Violation(value - bound, clusters, what) if value > bound else None


_CYCLE = 10**9 // CLOCK_HZ
"""The length of a clock cycle in ns."""


def parse_clusters(texts: Iterable[str], tick: int) -> tuple[ClusterFlow, ...]:
    """Parse ``name:period=100ms,workers=2,jitter=1ms,phase=0ms..50ms;…``. Raises BadInput."""
    return tuple(
        _parse_cluster(part.strip(), tick) for text in texts for part in text.split(";") if part.strip()
    )


def parse_transmission(text: str) -> tuple[Transmission, int]:
    """Parse ``always``, ``any``, ``bounded:3`` or ``expected`` (and its patience). Raises BadInput."""
    kind, _, patience = text.partition(":")
    known = ", ".join(
        [*(kind.value for kind in Transmission if kind is not Transmission.BOUNDED), "bounded:N"]
    )
    if kind not in set(Transmission) or (kind == Transmission.BOUNDED) != patience.isdecimal():
        raise BadInput(Problem(f"{text!r} is not a transmission", "--transmission", f"known: {known}"))
    return Transmission(kind), int(patience or 0)


def clusters_of_testbed(testbed: Testbed, periods: Iterable[str], tick: int) -> tuple[ClusterFlow, ...]:
    """Return the clusters of a testbed with their workers; update periods are ``100ms`` or ``name=300ms``.

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
        found.append(ClusterFlow(cluster.name, period, (0, max(period - tick, 0)), len(cluster.workers)))
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
    """Return p/C in ns, rounded up: a frame (by default, that fills a slot) at the engine's output rate."""
    size = frame_bytes or testbed.root.beats * BEAT_BYTES
    rate = testbed.root.output_rate
    if rate is None:
        return -(-size // BEAT_BYTES) * _CYCLE
    return -(-size * 8 * 10**9 // rate)


def _parse_cluster(text: str, tick: int) -> ClusterFlow:
    name, colon, rest = text.partition(":")
    where = f"--clusters {name}"
    fields = dict(part.partition("=")[::2] for part in rest.split(",") if part.strip())
    fields = {key.strip(): value.strip() for key, value in fields.items()}
    unknown = fields.keys() - {"period", "workers", "jitter", "phase"}
    if not name.strip() or not colon or unknown or "period" not in fields:
        what = f"unknown {', '.join(sorted(unknown))}" if unknown else "needs a name and a period"
        raise BadInput(Problem(what, where, "as in a:period=100ms,workers=2,jitter=1ms,phase=0ms..50ms"))
    period = whole_time(fields["period"], where)
    cluster = ClusterFlow(name.strip(), period, (0, max(period - tick, 0)))
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


def read_question(
    testbed: Testbed | None,
    *,
    clusters: tuple[str, ...],
    periods: tuple[str, ...],
    objective: str,
    service: str | None,
    frame_bytes: int | None,
    slots: int | None,
    updates: int,
    transmission: str,
    threshold: str,
    slope: str,
    ack_delay: str,
    slot_freed: str,
    tick: str,
) -> tuple[System, Objective]:
    """Return the system and the objective of the options, whose times are text with their units and None
    where left out; without a ``testbed``, ``clusters`` describe the senders. Raises BadInput, also where the
    objective names none."""
    if bool(testbed) == bool(clusters):
        raise BadInput(Problem("name a testbed or give --clusters", remedy="one of the two"))
    grain = whole_time(tick, "--tick")
    given = None if service is None else whole_time(service, "--service")
    if testbed:
        sending = clusters_of_testbed(testbed, periods, grain)
        slots = testbed.root.slots if slots is None else slots
        given = service_of(testbed, frame_bytes) if given is None else given
    else:
        sending = parse_clusters(clusters, grain)
        if given is None:
            raise BadInput(Problem("is missing", "--service", "p/C, as in --service 2ms"))
    treated, patience = parse_transmission(transmission)
    system = System(
        clusters=sending,
        service=given,
        slots=SLOTS.default if slots is None else slots,
        updates=updates,
        transmission=treated,
        threshold=whole_time(threshold, "--threshold"),
        slope=Slope.URGENT if slope == "urgent" else Slope.FAIR,
        ack_delay=whole_time(ack_delay, "--ack-delay"),
        patience=patience,
        slot_freed=SlotFreed(slot_freed),
        tick=grain,
    )
    wanted = read_objective(objective)
    find_scope(system, wanted)
    return system, wanted
