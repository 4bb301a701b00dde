"""Two machines play predator and prey through a twin with a slow output: a cluster an agent."""

from collections import defaultdict
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("olaf", reason="needs the SDK: pip install ./sdk")
pytest.importorskip("torch", reason="the extra [train] is not installed")

from olaf.policies import Plain
from olaf.server import ServerCounters
from olaf.transport.virtual import VirtualNetwork

from olafctl.control.serving import parameter_server
from olafctl.targets.interface import TimedFrame, of_root
from olafctl.targets.testbeds import load_testbed
from olafctl.testbed.model import Testbed
from olafctl.wire.layouts import FrameType
from olaflab.papers.marl.examples import load_example
from olaflab.training.cosim.medium import EngineMedium, address_of
from olaftest.frames import OlafFrame
from tests.lab.training.cosim.conftest import Recorded, TwinLab, deployed

# A testbed's usual geometry, which many tests have built: it has a slot for each of the eight indices in use,
# so that no agent's updates are dropped for another's. Networks of 4 hidden units fit two segments.
TESTBED = """
name: hunt
engine: {output_rate: 1 Mb/s, active_window: 1 s}
ports:
  - {number: 1, name: ps, transport: unix}
  - {numbers: 2-3, name: machine, transport: unix}
parameter_servers: [{name: ps, port: ps, ip: 10.0.0.254}]
clusters:
  - {count: 3, workers: 2, name: predator, ports: 2-3, ip: 10.0.1.1, values: 470}
  - {count: 1, workers: 2, name: prey, ports: 2-3, ip: 10.0.2.1, values: 462}
"""
SETTINGS: dict[str, Any] = {"batch": 32, "rows": 4000, "hidden": 4, "warm_up": 64}
ROUNDS = 25


WORLDS, BUSY = 4, 0.05
"""Worlds of each machine, and seconds that a round takes it."""


@dataclass
class Hunt:
    """What crossed the engine, what it counted, and what each agent's cluster has at the server."""

    entered: list[TimedFrame]
    left: list[TimedFrame]
    counted: dict[str, int]
    served: dict[str, ServerCounters]


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TwinLab]:
    with deployed(load_testbed(Path("hunt.yaml"), TESTBED), tmp_path_factory.mktemp("hunt") / "bed") as found:
        yield found


def run_hunt(lab: TwinLab, seed: int) -> Hunt:
    """Run machines that play a round, improve and offer all of their agents, and are busy for a while."""
    maddpg, particles = load_example("maddpg"), load_example("particles")
    maddpg.torch.set_num_threads(1)
    session = Recorded(lab.running.virtual_time())
    network = VirtualNetwork(EngineMedium(session, lab.testbed))
    host, number = address_of(lab.testbed.parameter_servers[0])
    server = parameter_server(lab.testbed, f"{host}:{number}", Plain, port=network.port((host, number)))
    left = [ROUNDS, ROUNDS]

    def turn(machine: int, training: Iterator[Any]) -> None:
        next(training)
        left[machine] -= 1
        if left[machine]:
            network.at(network.time + BUSY * (1 + 0.1 * machine), lambda: turn(machine, training))

    with closing(session):
        for machine in range(len(left)):
            game = particles.Tag(3, WORLDS, np.random.default_rng(10 * seed + machine))
            team = maddpg.Team(game, maddpg.Settings(**SETTINGS), 10 * seed + machine)
            ports = [network.port(address_of(cluster.workers[machine])) for cluster in lab.testbed.clusters]
            links = maddpg.attach(team, f"{host}:{number}", ports, actors_only=False, seed=machine)
            turn(machine, maddpg.train(team, ROUNDS * WORLDS, links))
        network.run(stop=lambda: not any(left))
        network.run(network.time + 2.0)
    served = {cluster.name: server.counters(cluster.name) for cluster in lab.testbed.clusters}
    return Hunt(session.entered, session.left, of_root(lab.running.queues).read_all(), served)


@pytest.fixture(scope="module")
def hunt(lab: TwinLab) -> Hunt:
    return run_hunt(lab, 1)


def collect_updates(testbed: Testbed, frames: list[TimedFrame]) -> dict[tuple[str, int], list[OlafFrame]]:
    """Collect updates by cluster and segment."""
    clusters = {worker.ip: cluster.name for cluster in testbed.clusters for worker in cluster.workers}
    found: dict[tuple[str, int], list[OlafFrame]] = defaultdict(list)
    for item in frames:
        frame = OlafFrame.decode(item.frame)
        if frame.frame_type == FrameType.UPDATE:
            found[clusters[frame.source.ip], frame.segment].append(frame)
    return found


def test_only_updates_of_the_same_agent_merge(lab: TwinLab, hunt: Hunt) -> None:
    """Each frame that left is, bit for bit, the sum of updates of its own agent in the order they came."""
    sent, out = (collect_updates(lab.testbed, frames) for frames in (hunt.entered, hunt.left))
    assert set(out) == {(cluster.name, n) for cluster in lab.testbed.clusters for n in (0, 1)}
    merged = 0
    for place, frames in out.items():
        arrived = [frame.gradient for frame in sent[place]]
        for frame in frames:
            stretches = (arrived[first : first + frame.count] for first in range(len(arrived)))
            assert frame.gradient.tobytes() in {sum(each[1:], each[0]).tobytes() for each in stretches}
            merged += frame.count > 1
    assert merged > 20 and hunt.counted["merged"] > 20


def test_every_agents_updates_arrive_behind_the_slow_output(hunt: Hunt) -> None:
    assert hunt.counted["in_updates"] > hunt.counted["out_updates"] > 0
    for served in hunt.served.values():
        assert served.updates > 1.5 * served.received > 0
        assert served.applied == served.received
    lost = sum(hunt.counted[name] for name in hunt.counted if name.startswith(("dropped_", "replaced_")))
    assert hunt.counted["in_updates"] == sum(each.updates for each in hunt.served.values()) + lost


def test_one_seed_repeats_to_the_byte_and_another_does_not(lab: TwinLab, hunt: Hunt) -> None:
    again, other = run_hunt(lab, 1), run_hunt(lab, 2)
    assert (again.entered, again.left) == (hunt.entered, hunt.left)
    assert other.left != hunt.left
