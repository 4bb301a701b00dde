"""Versions to many players, through an engine in virtual time: what they cost the publisher, how long."""

from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import olaf
from olaf.transport.virtual import VirtualNetwork

from olafctl.targets.interface import VirtualTime
from olafctl.targets.testbeds import load_testbed
from olafctl.testbed.model import Testbed
from olaflab.training.cosim.medium import EngineMedium, address_of
from olaflab.training.replicas.lossy import LossyPort
from olaflab.weights.plan import Bits, Plan, Task
from olafswitch.errors import OlafError, Problem
from olaftest.deployment import using_hosts

NAME = "bench-fan"
_BEGINNING = 1_790_000_000_000_000_000
_PORTS, _MTU = 8, 1500
_LONGEST = 120.0
"""Virtual seconds in which a version reaches all."""


@dataclass(frozen=True)
class Fanned:
    """What several versions cost with so many players, and so much loss on each one's link."""

    players: int
    loss: float
    issue: float
    """Bytes of a version's frames."""
    sent: float
    """Bytes that the publisher sent for it, repairs and repeated manifests included."""
    transmissions: float
    """Frames sent for each of a version."""
    wants: float
    """Requests of a player for a version."""
    seconds: float
    """Until the slowest player has committed it, in the median."""
    join: int
    """Bytes for a player that joins late."""


def measure_fan_out(
    plan: Plan, counts: tuple[int, ...], losses: tuple[float, ...], progress: Callable[[str], None]
) -> list[Fanned]:
    """Measure each number of players with each loss, over ``plan.versions`` versions. Raises OlafError."""
    found = []
    for players in counts:
        with using_hosts(testbed(players, plan.target), progress, with_hosts=False) as (bed, running, _):
            for loss in losses:
                progress(f"{players} players, {loss:.1%} loss")
                with closing(running.virtual_time()) as engine:
                    found.append(_fan(engine, bed, plan, players, loss))
    return found


def testbed(players: int, target: str) -> Testbed:
    """Make a testbed of one engine, and one player more than there are at first."""
    text = f"""
name: {NAME}
target: {target}
engine: {{indices: 16, slots: 16, beats: 24}}
ports:
  - {{numbers: 1-{_PORTS}, name: player, transport: unix}}
  - {{number: {_PORTS + 1}, name: ps, transport: unix}}
parameter_servers: [{{name: ps, port: ps, ip: 10.0.0.254}}]
clusters:
  - {{count: 1, workers: {players + 1}, name: player, role: player, ports: 1-{_PORTS}, ip: 10.0.1.1}}
"""
    return load_testbed(f"{NAME}.yaml", text)


def _fan(engine: VirtualTime, bed: Testbed, plan: Plan, players: int, loss: float) -> Fanned:
    network = VirtualNetwork(EngineMedium(engine, bed), epoch=_BEGINNING)
    (server,), (cluster,) = bed.parameter_servers, bed.clusters
    own, task = (str(server.ip), bed.udp_port), Task(plan)
    first = address_of(cluster.workers[0])
    publisher = olaf.Publisher(
        f"{first[0]}:{first[1]}", task.model, mtu=_MTU, port=network.port(own), rate=plan.rate
    )

    models: list[dict[str, Bits]] = []

    def join(number: int) -> olaf.Subscriber:
        port = LossyPort(network.port(address_of(cluster.workers[number])), loss, plan.seed + number)
        models.append({"w": np.zeros(plan.values, np.uint16)})
        return olaf.Subscriber(f"{own[0]}:{own[1]}", models[-1], port=port)

    crew = [join(number) for number in range(players)]
    network.run(network.time + 2.0)
    publisher.publish()
    _reach(network, crew, 1)
    before, seconds = _spent(publisher), []
    for _ in range(plan.versions):
        task.step()
        began = network.time
        _reach(network, crew, publisher.publish())
        seconds.append(network.time - began)
        _compare(task, crew, models)
    frames, size, sent, spent, wants = _spent(publisher) - before
    crew.append(join(players))
    _reach(network, crew[-1:], publisher.version)
    joined = _spent(publisher) - before
    _compare(task, crew, models)
    versions = plan.versions
    return Fanned(
        players, loss, size / versions, spent / versions, sent / frames, wants / versions / players,
        sorted(seconds)[versions // 2], int(joined[3] - spent),
    )  # fmt: skip


def _compare(task: Task, crew: list[olaf.Subscriber], models: list[dict[str, Bits]]) -> None:
    """Compare every player's newest version with the published one, after adopting it."""
    for player, model in zip(crew, models, strict=True):
        player.adopt()
        if not np.array_equal(model["w"], task.model["w"]):
            raise OlafError(Problem("a player has other bits than were published", NAME))


def _spent(publisher: olaf.Publisher) -> npt.NDArray[np.int64]:
    """Return the frames and bytes of versions, frames and bytes sent, and requests."""
    count, sent = publisher.counters, publisher.sent
    return np.array([count.frames, count.bytes, sent.frames, sent.bytes, count.wants])


def _reach(network: VirtualNetwork, crew: list[olaf.Subscriber], version: int) -> None:
    there = network.run(network.time + _LONGEST, lambda: all(one.have >= version for one in crew))
    if not there:
        raise OlafError(Problem(f"version {version} did not reach every player", NAME))
