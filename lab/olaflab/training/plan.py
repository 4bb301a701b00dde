"""Plan and results of a training, in virtual and in wall time alike."""

from collections.abc import Callable
from dataclasses import dataclass

from olaf import ParameterServer
from olaf.policies import PolicyMaker
from olaf.transport.segments import Segments
from olaf.worker import WorkerCounters
from olaf.worker.transmission import TOLERANCE

from olafctl.membership.model import Cluster
from olafctl.testbed.model import Testbed
from olafctl.wire.geometry import segment_values
from olaflab.training import network, ppo
from olaflab.training.head import Crew, Turnout
from olafswitch.errors import BadInput, Problem


@dataclass(frozen=True)
class Pace:
    """How long a worker is busy with an update, in seconds of virtual time; in wall time at least."""

    step: float = 0.0
    """For each environment step, with its share of computing the gradient."""
    update: float = 0.0
    """For each update, however many steps are behind it."""
    jitter: float = 0.0
    """Each time is scaled by a factor drawn from [1 - jitter, 1 + jitter]."""
    learn: float = 0.0
    """Seconds that a head takes for each row that is learnt: its actors' steps are played without."""
    start: float = 0.0
    """Seconds until an actor of a head that was asleep plays."""
    slowdowns: tuple[float, ...] = (1.0,)
    """Heterogeneous hardware (OLAF §8.2): factors dealt to the workers in turn."""


@dataclass(frozen=True)
class Plan:
    """A training and its costs."""

    updates: int
    """Updates of each worker."""
    episodes: int
    """Behind each update."""
    pace: Pace
    seed: int
    policy: PolicyMaker
    v: float | None = None
    """1/s, of transmission control (OLAF §5); None is the SDK's default."""
    delta_t: float = TOLERANCE
    """Seconds."""
    control: bool = True
    """Whether transmission control is on at all."""
    local_rate: float = ppo.LOCAL_RATE
    """Rate of a worker's own optimiser."""
    waits: bool = False
    """Whether a worker waits for newer weights before it goes on: synchronous training."""
    crew: Crew | None = None
    """Crew of each worker, which is a head then."""
    seconds: float | None = None
    """After which no update begins, however many are left; of virtual or wall time."""


@dataclass(frozen=True)
class Step:
    """One update that a worker had ready."""

    time: float
    """Seconds since the training began."""
    cluster: int
    worker: str
    reward: float
    """Mean over its episodes."""
    probability: float
    """P_s when it was ready."""
    sent: bool
    """Whether it was sent whole; else it is held for the next."""
    turnout: Turnout | None = None
    """Turnout of a head."""


Tell = Callable[[Step, int, int], None]
"""Told after each update: what it was, updates so far, of how many."""


@dataclass(frozen=True)
class Trained:
    """One cluster's training; ``sent`` and ``received`` count frames."""

    cluster: Cluster
    steps: tuple[Step, ...]
    sent: int
    held: int
    """Updates that were held back."""
    received: int
    contained: int
    """Frames of workers within those received."""
    applied: int
    refused: int
    """Frames that the policy refused."""
    age_of_model: float | None
    """Average, in seconds."""
    weights: network.Vector | None
    """None when no worker ever brought any."""


def values_of(cluster: Cluster, testbed: Testbed) -> int:
    """The parameters of the network that a cluster trains. Raises BadInput when there is none for it."""
    values = cluster.values or network.parameters(network.HIDDEN)
    width = network.width(values)
    is_network = width > 0 and values == network.parameters(width)
    fits = Segments(values, cluster.segments).length(0) <= segment_values(testbed.root.beats)
    if not is_network or not fits:
        usual = network.parameters(network.HIDDEN)
        raise BadInput(
            Problem(
                f"cluster {cluster.name} has {values} values, and no network for LunarLander fits them",
                testbed.name,
                f"give it `values: {usual}`, the usual network's, and deploy",
            )
        )
    return values


def trained(
    cluster: Cluster, steps: list[Step], counters: list[WorkerCounters], server: ParameterServer
) -> Trained:
    """One cluster's figures, from its workers' and the server's counters."""
    counted = server.counters(cluster.name)
    return Trained(
        cluster=cluster,
        steps=tuple(step for step in steps if step.cluster == cluster.number),
        sent=sum(one.sent for one in counters),
        held=sum(one.held for one in counters),
        received=counted.received,
        contained=counted.updates,
        applied=counted.applied,
        refused=counted.refused,
        age_of_model=server.age_of_model(cluster.name),
        weights=server.weights(cluster.name),
    )
