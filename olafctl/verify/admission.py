"""Check whether a membership keeps the Age-of-Model objectives of its clusters (OLAF §6)."""

from collections.abc import Iterable
from dataclasses import replace
from fractions import Fraction

from olafctl.membership.ground import Ground
from olafctl.membership.model import Cluster, Kind
from olafctl.membership.objective import parse_objective
from olafctl.membership.rules import find_undescribed, of_cluster, require_none
from olafctl.testbed.ground import make_ground
from olafctl.testbed.model import Testbed
from olafswitch.errors import BadInput, Problem

_UPDATES = 20
TIMEOUT = 5.0
_SLOWER = tuple(Fraction(1, 2**step) for step in range(1, 6))

Situation = tuple[tuple[Cluster, int], ...]
"""The facts on which an objective depends: clusters without other fields, with their switches, and the number
of members that send in each."""


class ObjectiveBroken(BadInput):
    """A change that an Age-of-Model objective forbids."""


def find_situation(clusters: Iterable[Cluster], ground: Ground) -> Situation:
    """Return the situation on which objectives depend; empty without an objective."""
    found = tuple(
        (
            Cluster(
                name=cluster.name,
                segments=cluster.segments,
                mode=ground.mode_of(cluster),
                reward_threshold=ground.reward_of(cluster),
                staleness_bound=cluster.staleness_bound,
                objective=cluster.objective,
                period=cluster.period,
                workers=tuple(each for each in cluster.workers if each.kind is Kind.SWITCH),
            ),
            len(cluster.workers),
        )
        for cluster in sorted(clusters, key=lambda each: each.name)
        if cluster.workers
    )
    return found if any(cluster.objective for cluster, _ in found) else ()


def check_objectives(
    known: Situation, testbed: Testbed, timeout: float = TIMEOUT, *, advise: bool = True
) -> None:
    """Raise ObjectiveBroken when an objective does not hold, may not, or cannot be checked; ``timeout`` in s
    is for each objective, and as long again for the largest rate, which ``advise`` asks for."""
    from olafctl.verify.question import service_of
    from olafctl.verify.system import ClusterFlow as Flow
    from olafctl.verify.system import System, Transmission
    from olafctl.verify.verdict import VerdictAnswer, at_rate, verify_objective

    there = make_ground(testbed)
    promised = [cluster for cluster, _ in known if cluster.objective]
    for cluster in promised:
        require_none(of_cluster(cluster, there))  # the cluster may come from a backup of another testbed
    for cluster, _ in known:
        for problem in find_undescribed(cluster, there):
            what = f"{promised[0].objective} of {promised[0].name!r} cannot be proven: {problem.what}"
            raise ObjectiveBroken(replace(problem, what=what))
    fastest = min(cluster.period for cluster, _ in known)
    everything = System(
        clusters=tuple(
            Flow(cluster.name, cluster.period, (0, cluster.period - 1), workers) for cluster, workers in known
        ),
        service=service_of(testbed, None),
        slots=testbed.root.slots,
        updates=_UPDATES,
        transmission=Transmission.ANY,
    )
    for cluster in promised:
        # Its own updates must come to a peak within the horizon, however much faster others send.
        system = replace(everything, updates=max(_UPDATES, -(-2 * cluster.period // fastest)))
        text = cluster.objective
        wanted = parse_objective(text)
        if not wanted.clusters and text != "loss-free":
            wanted = parse_objective(f"{text}@{cluster.name}")
        verdict = verify_objective(system, wanted, timeout)
        if verdict.answer is VerdictAnswer.ACCEPT:
            continue
        found = verdict.counterexample
        reason = found.violation.what if found else f"is not decided in {timeout:g} s"
        if not advise:
            raise ObjectiveBroken(Problem(f"would break {text} of {cluster.name!r}: {reason}", "objective"))
        share = timeout / len(_SLOWER)
        slower = ((factor, at_rate(system, factor)) for factor in _SLOWER)
        accepted = (
            factor
            for factor, one in slower
            if verify_objective(one, wanted, share).answer is VerdictAnswer.ACCEPT
        )
        largest = next(accepted, None)
        remedy = "no rate tried is accepted"
        if largest is not None:
            remedy = f"accepted when every worker sends {largest} times as often"
        what = f"would break {text} of {cluster.name!r}: {reason}"
        raise ObjectiveBroken(Problem(what, "objective", remedy))
