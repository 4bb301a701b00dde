"""What hosts' software takes, fitted to what the paper measured with a parameter server and all-reduce.

For each workload an iteration is its computing, which is the same in all approaches, and its aggregation in
the event-level model. Unknown are four times of computing and two costs of software, of a message and of a
byte; known are eight times of iterations and the range of aggregation's part in them. What iSwitch measured
of itself is not an input.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from olaflab.model.iterations import Approach, IterationJob, IterationNetwork, Software, simulate_job
from olaflab.papers.iswitch.published import SHARES, WORKERS, Workload

_ROUNDS, _ENOUGH = 40, 1e-3
_STEP = 0.01
"""Step of a cost for derivatives."""
MS = 1e6
"""ns."""
NETWORK = IterationNetwork()
"""One rack, 10 Gb/s, frames of 1,504 bytes at most: the paper's have 1,522."""


@dataclass(frozen=True)
class Variant:
    """What the paper leaves open of the software that it compares with."""

    tensors: bool = False
    """A message for each tensor, not for each gradient vector."""
    whole: bool = True
    """A message is handled at once, not frame by frame (iSwitch figure 8a)."""
    duplex: bool = True
    """A host sends and receives at the same time."""

    def message_sizes(self, workload: Workload) -> Sequence[int]:
        """Return the bytes of each message of a gradient."""
        return [4 * values for values in workload.tensors] if self.tensors else workload.vectors

    def __str__(self) -> str:
        return ", ".join(
            (
                "a message a tensor" if self.tensors else "a message a vector",
                "handled whole" if self.whole else "handled frame by frame",
                "sends while it receives" if self.duplex else "sends or receives",
            )
        )


VARIANTS = tuple(
    Variant(tensors, whole, duplex)
    for tensors in (False, True)
    for whole in (True, False)
    for duplex in (True, False)
)


@dataclass(frozen=True)
class HostCosts:
    """Costs of hosts and of the computing beside."""

    variant: Variant
    software: Software
    computing: Mapping[str, float]
    """ms, by workload."""
    error: float
    """Root mean square of the relative errors over the ten known figures; 0 where nothing was fitted."""

    def as_json(self) -> dict[str, Any]:
        return asdict(self)

    @staticmethod
    def of_json(kept: Mapping[str, Any]) -> "HostCosts":
        variant, software = Variant(**kept["variant"]), Software(**kept["software"])
        return HostCosts(variant, software, kept["computing"], kept["error"])


def aggregation_time(approach: Approach, workload: Workload, variant: Variant, software: Software) -> float:
    """Return the ms of a synchronous iteration without computing, of the paper's four workers."""
    job = IterationJob(approach, WORKERS, variant.message_sizes(workload), software=software, network=NETWORK)
    return float(simulate_job(job).updates[0]) / MS


BASES = {
    "least squares of both": (1.0, 1.0),
    "PS exact": (1.0, 0.0),
    "AR exact": (0.0, 1.0),
}
"""How computing may be taken from what a parameter server and all-reduce leave over: the weight of each."""


def fitted(
    workloads: Sequence[Workload], variant: Variant, base: tuple[float, float] = (1.0, 1.0)
) -> HostCosts:
    """Fit the costs by least squares of relative errors (Levenberg-Marquardt); ``base`` is of BASES."""

    def predicted(logarithms: NDArray[np.float64]) -> HostCosts:
        message, byte = np.exp(logarithms)
        software = Software(message, byte=byte, whole=variant.whole, duplex=variant.duplex)
        return _fit_computing(workloads, variant, software, base)

    def errors(logarithms: NDArray[np.float64]) -> NDArray[np.float64]:
        costs = predicted(logarithms)
        return _relative_errors(workloads, costs)

    each = sum(len(variant.message_sizes(workload)) for workload in workloads) / len(workloads)
    found = _minimise_errors(errors, np.log(np.array([1e6 / each, 0.4])))
    return replace(predicted(found), error=float(np.sqrt((errors(found) ** 2).mean())))


def fit_variants(workloads: Sequence[Workload]) -> tuple[HostCosts, Sequence[HostCosts]]:
    """Fit all variants; return the one with the least error, and all of them."""
    found = [fitted(workloads, variant) for variant in VARIANTS]
    return min(found, key=lambda costs: costs.error), found


def _fit_computing(
    workloads: Sequence[Workload], variant: Variant, software: Software, base: tuple[float, float]
) -> HostCosts:
    """Fit the computing by the least relative errors of the two approaches, weighted by ``base``."""
    computing = {}
    for workload in workloads:
        known, ours = _baseline_times(workload, variant, software)
        weights = np.array(base) / known**2
        computing[workload.name] = max(float(((known - ours) * weights).sum() / weights.sum()), 0.1)
    return HostCosts(variant, software, computing, 0.0)


def _baseline_times(
    workload: Workload, variant: Variant, software: Software
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the ms of the paper's iterations, and of our aggregations: parameter server, all-reduce."""
    hours = (workload.baselines.server, workload.baselines.ring)
    ours = [
        aggregation_time(approach, workload, variant, software)
        for approach in (Approach.SERVER, Approach.RING)
    ]
    return np.array([workload.iteration_period(each) for each in hours]), np.array(ours)


def _relative_errors(workloads: Sequence[Workload], costs: HostCosts) -> NDArray[np.float64]:
    found, shares = [], []
    for workload in workloads:
        known, ours = _baseline_times(workload, costs.variant, costs.software)
        whole = ours + costs.computing[workload.name]
        found += list(whole / known - 1)
        shares += list(ours / whole)
    return np.array([*found, min(shares) / SHARES[0] - 1, max(shares) / SHARES[1] - 1])


def _minimise_errors(
    errors: Callable[[NDArray[np.float64]], NDArray[np.float64]], begin: NDArray[np.float64]
) -> NDArray[np.float64]:
    at, now, damping = begin, errors(begin), 1e-3
    for _ in range(_ROUNDS):
        slope = np.array([(errors(at + step) - now) / _STEP for step in _STEP * np.eye(len(at))]).T
        move = np.linalg.solve(slope.T @ slope + damping * np.eye(len(at)), -slope.T @ now).clip(-0.5, 0.5)
        there = errors(at + move)
        if there @ there < now @ now:
            at, now, damping = at + move, there, damping / 3
        else:
            damping *= 5
        if np.abs(move).max() < _ENOUGH:
            break
    return at
