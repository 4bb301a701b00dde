"""Iterations of the four workloads in all approaches, with some hosts' costs."""

from dataclasses import dataclass, replace

from olafctl.wire.geometry import BEATS
from olaflab.model.iterations import Approach, Course, IterationJob, IterationNetwork, Software, simulate_job
from olaflab.papers.iswitch.costs import MS, NETWORK, HostCosts
from olaflab.papers.iswitch.published import WORKERS, Workload

JITTER = 0.1
"""A worker's gradients take from 5 % less to 5 % more than on average; the paper does not cover this."""
BOUND = 3
"""S (iSwitch §6.2)."""
SYNCHRONOUS = {Approach.SERVER: "PS", Approach.RING: "AR", Approach.ENGINE: "iSW"}
ASYNCHRONOUS = {Approach.SERVER_ASYNC: "Async PS", Approach.ENGINE_ASYNC: "Async iSW"}
"""The paper's names."""
_UPDATES = 50
"""Updates of an asynchronous run, for each worker that makes one of them."""


@dataclass(frozen=True)
class Period:
    """An iteration of one approach; ms."""

    whole: float
    """Between two iterations."""
    aggregation: float
    """Aggregation's part; 0 in asynchronous training, where both overlap."""
    staleness: float = 0.0
    """Mean, in iterations."""


def make_job(
    approach: Approach, workload: Workload, costs: HostCosts, workers: int, network: IterationNetwork
) -> IterationJob:
    """Describe one workload's job; a synchronous one is one iteration without jitter."""
    asynchronous = approach in ASYNCHRONOUS
    made = IterationJob(
        approach,
        workers,
        costs.variant.message_sizes(workload),
        compute=costs.computing[workload.name] * MS,
        software=costs.software,
        network=network,
        # Of N workers that each make an update a gradient is N - 1 old; a bound of 3 is for the paper's four.
        bound=max(BOUND, workers) if approach is Approach.SERVER_ASYNC and workers > WORKERS else BOUND,
        in_turn=True,
    )
    if not asynchronous:
        return made
    each = workers if approach is Approach.SERVER_ASYNC else 1
    made = replace(made, jitter=JITTER, iterations=_UPDATES * each)
    if made.segments > network.quota:  # asynchronous sums need a slot for each
        made = replace(made, network=replace(network, beats=BEATS.greatest))
    return made


def predict_period(
    approach: Approach,
    workload: Workload,
    costs: HostCosts,
    workers: int = WORKERS,
    network: IterationNetwork = NETWORK,
) -> Period:
    """Predict an iteration's time in the event-level model."""
    course = simulate_job(make_job(approach, workload, costs, workers, network))
    if approach in ASYNCHRONOUS:
        return Period(course.period / MS, 0.0, course.mean_staleness)
    whole = float(course.updates[0]) / MS
    return Period(whole, whole - costs.computing[workload.name])


def staleness(approach: Approach, workload: Workload, costs: HostCosts, jitter: float) -> Course:
    """Simulate an asynchronous run whose gradients take up to ``jitter``/2 less or more than the mean."""
    made = make_job(approach, workload, costs, WORKERS, NETWORK)
    return simulate_job(replace(made, jitter=jitter, iterations=8 * made.iterations))


def network_alone(workload: Workload, network: IterationNetwork, workers: int = WORKERS) -> float:
    """Return the ms of iSwitch's aggregation where hosts' software takes no time."""
    made = IterationJob(Approach.ENGINE, workers, workload.vectors, software=Software(), network=network)
    return float(simulate_job(made).updates[0]) / MS


def link_limit(workload: Workload, network: IterationNetwork) -> float:
    """Return the ms that a gradient's bytes take on a worker's link, and a bit on the way up and down.

    No switch that sums can be faster: the last byte must go up before the last sum comes down.
    """
    links = 2 if not network.each_rack else 4
    return (sum(workload.vectors) * 8e9 / network.rate + links * network.delay) / MS
