"""Predator and prey through a twin in virtual time: every agent a cluster, every machine a member of each.

A machine plays an episode in each of its worlds and improves all of its agents at once, and is busy for a
stated time; only then the next episodes begin. So a run depends on its seed and on nothing else.
"""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from olaf.policies import Plain
from olaf.server import ServerCounters
from olaf.transport.virtual import VirtualNetwork

from olafctl.control.serving import parameter_server
from olafctl.targets.interface import VirtualTime
from olafctl.testbed.model import Testbed
from olaflab.papers.marl.examples import example
from olaflab.training.cosim.medium import EngineMedium, address
from olafswitch.errors import BadInput, Problem

_DRAIN_SECONDS = 2.0
"""After the last round, for what is still on its way."""
_WORLDS = 4


@dataclass(frozen=True)
class Pace:
    """Seconds of virtual time that a machine takes for a round, and the share of it that varies."""

    round: float = 0.05
    jitter: float = 0.2


@dataclass(frozen=True)
class Agent:
    """What became of one agent's updates, on all machines."""

    cluster: str
    offered: int
    served: ServerCounters
    """At the parameter server."""
    versions: list[int]
    """Version of each segment."""
    weights: bytes


@dataclass
class Outcome:
    """A run, agent by agent in the order of the testbed's clusters."""

    returns: list[tuple[float, list[float]]] = field(default_factory=list)
    """When a machine ended its episodes, and the agents' mean returns."""
    agents: list[Agent] = field(default_factory=list)
    seconds: float = 0.0


def run(
    engine: VirtualTime, testbed: Testbed, settings: Any, rounds: int, seed: int, pace: Pace = Pace()
) -> Outcome:
    """``rounds`` of every machine; the n-th member of each cluster is on the n-th machine.

    Raises BadInput for a testbed whose clusters are not the game's agents, or not of these networks.
    """
    maddpg, particles = example("maddpg"), example("particles")
    maddpg.torch.set_num_threads(1)
    clusters = testbed.clusters
    network = VirtualNetwork(EngineMedium(engine, testbed))
    (host,) = testbed.parameter_servers
    listen = address(host)
    where = f"{listen[0]}:{listen[1]}"
    server = parameter_server(testbed, where, Plain, port=network.port(listen))
    outcome = Outcome()
    machines = []
    for number in range(len(clusters[0].workers)):
        team_seed = 1000 * seed + number
        game = particles.Tag(len(clusters) * 3 // 4, _WORLDS, np.random.default_rng(team_seed))
        team = maddpg.Team(game, settings, team_seed)
        _check(testbed, team)
        ports = [network.port(address(cluster.workers[number])) for cluster in clusters]
        links = maddpg.attach(team, where, ports, actors_only=False, seed=team_seed)
        training = maddpg.train(team, rounds * _WORLDS, links)
        machines.append(_Machine(network, training, links, rounds, team_seed, pace, outcome))
    for number, machine in enumerate(machines):
        network.at(network.time + number * pace.round / len(machines), machine.turn)
    network.run(stop=lambda: all(machine.left == 0 for machine in machines))
    network.run(network.time + _DRAIN_SECONDS)
    for place, cluster in enumerate(clusters):
        weights = server.weights(cluster.name)
        assert weights is not None
        offered = sum(machine.links[place].worker.counters.offered for machine in machines)
        served, versions = server.counters(cluster.name), server.versions(cluster.name)
        outcome.agents.append(Agent(cluster.name, offered, served, versions, weights.tobytes()))
    outcome.seconds = network.time
    for machine in machines:
        for link in machine.links:
            link.close()
    return outcome


class _Machine:
    """One machine's rounds, as events of the network."""

    def __init__(
        self, network: VirtualNetwork, training: Any, links: list[Any], rounds: int, seed: int, pace: Pace,
        outcome: Outcome,
    ) -> None:  # fmt: skip
        self.links, self.left = links, rounds
        self._network, self._training, self._pace, self._outcome = network, training, pace, outcome
        self._random = np.random.default_rng((seed, 1))

    def turn(self) -> None:
        """Play, learn, offer; the next turn is set."""
        returns = next(self._training)
        self._outcome.returns.append((self._network.time, [float(each) for each in returns]))
        self.left -= 1
        if self.left:
            busy = self._pace.round * (1 + self._pace.jitter * self._random.uniform(-1, 1))
            self._network.at(self._network.time + busy, self.turn)


def _check(testbed: Testbed, team: Any) -> None:
    """Raises BadInput where a cluster cannot train what its agent has."""
    if len(team.agents) != len(testbed.clusters):
        what = f"{len(testbed.clusters)} clusters, but {len(team.agents)} agents play"
        raise BadInput(Problem(what, testbed.name, "give each agent a cluster, predators first"))
    for agent, cluster in zip(team.agents, testbed.clusters, strict=True):
        values = sum(each.numel() for each in (*agent.actor_parameters, *agent.critic_parameters))
        if values != cluster.values:
            what = f"{cluster.name} has {cluster.values} values, its agent's networks {values}"
            raise BadInput(Problem(what, testbed.name, f"write values: {values}"))
