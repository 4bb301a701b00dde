"""Two machines play predator and prey through a twin with a slow output: a cluster an agent."""

import hashlib
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

from olafctl.targets.interface import TimedFrame, of_root
from olafctl.targets.testbeds import load
from olafctl.testbed.model import Testbed
from olafctl.wire.layouts import FrameType
from olaflab.frames import OlafFrame
from olaflab.papers.marl.clusters import Outcome, run
from olaflab.papers.marl.examples import example
from olafswitch.errors import BadInput
from tests.lab.training.cosim.conftest import Lab, Recorded, deployed

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
  - {count: 3, workers: 2, name: predator, ports: 2-3, ip: 10.0.1.1, values: PREDATOR}
  - {count: 1, workers: 2, name: prey, ports: 2-3, ip: 10.0.2.1, values: 462}
"""
SETTINGS: dict[str, Any] = {"batch": 32, "rows": 4000, "hidden": 4, "warm_up": 64}
ROUNDS = 25


@dataclass
class Hunt:
    """A run, and what crossed the engine."""

    outcome: Outcome
    entered: list[TimedFrame]
    left: list[TimedFrame]
    counted: dict[str, int]

    @property
    def digest(self) -> str:
        lines = (f"{item.time} {item.port} {item.frame.hex()}\n" for item in (*self.entered, *self.left))
        return hashlib.sha256("".join(lines).encode()).hexdigest()


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    testbed = load(Path("hunt.yaml"), TESTBED.replace("PREDATOR", "470"))
    with deployed(testbed, tmp_path_factory.mktemp("hunt") / "bed") as found:
        yield found


def hunted(lab: Lab, seed: int) -> Hunt:
    session = Recorded(lab.running.virtual_time())
    with closing(session):
        outcome = run(session, lab.testbed, example("maddpg").Settings(**SETTINGS), ROUNDS, seed)
    return Hunt(outcome, session.entered, session.left, of_root(lab.running.queues).read_all())


@pytest.fixture(scope="module")
def hunt(lab: Lab) -> Hunt:
    return hunted(lab, 1)


def updates(testbed: Testbed, frames: list[TimedFrame]) -> dict[tuple[str, int], list[OlafFrame]]:
    """By cluster and segment."""
    clusters = {worker.ip: cluster.name for cluster in testbed.clusters for worker in cluster.workers}
    found: dict[tuple[str, int], list[OlafFrame]] = defaultdict(list)
    for item in frames:
        frame = OlafFrame.decode(item.frame)
        if frame.frame_type == FrameType.UPDATE:
            found[clusters[frame.source.ip], frame.segment].append(frame)
    return found


def test_only_updates_of_the_same_agent_merge(lab: Lab, hunt: Hunt) -> None:
    """Each frame that left is, bit for bit, the sum of updates of its own agent in the order they came."""
    sent, out = (updates(lab.testbed, frames) for frames in (hunt.entered, hunt.left))
    assert set(out) == {(cluster.name, n) for cluster in lab.testbed.clusters for n in (0, 1)}
    merged = 0
    for place, frames in out.items():
        arrived = [frame.gradient for frame in sent[place]]
        for frame in frames:
            stretches = (arrived[first : first + frame.count] for first in range(len(arrived)))
            assert frame.gradient.tobytes() in {sum(each[1:], each[0]).tobytes() for each in stretches}
            merged += frame.count > 1
    assert merged > 20 and hunt.counted["merged"] > 20


def test_every_agents_learning_goes_on_behind_the_slow_output(lab: Lab, hunt: Hunt) -> None:
    assert hunt.counted["in_updates"] > hunt.counted["out_updates"] > 0
    assert [agent.cluster for agent in hunt.outcome.agents] == [
        cluster.name for cluster in lab.testbed.clusters
    ]
    for agent in hunt.outcome.agents:
        assert agent.offered == 2 * ROUNDS
        assert 2 * agent.offered >= agent.served.updates > 1.5 * agent.served.received > 0
        assert min(agent.versions) > 5
        assert agent.served.applied == agent.served.received
        assert np.isfinite(np.frombuffer(agent.weights, np.float32)).all()
    lost = sum(hunt.counted[name] for name in hunt.counted if name.startswith(("dropped_", "replaced_")))
    served = sum(agent.served.updates for agent in hunt.outcome.agents)
    assert hunt.counted["in_updates"] == served + lost == 16 * ROUNDS
    assert len(hunt.outcome.returns) == 2 * ROUNDS


def test_one_seed_repeats_to_the_byte_and_another_does_not(lab: Lab, hunt: Hunt) -> None:
    again, other = hunted(lab, 1), hunted(lab, 2)
    assert again.digest == hunt.digest and again.outcome == hunt.outcome
    assert other.digest != hunt.digest


def test_clusters_that_are_not_the_games_agents_are_refused(lab: Lab) -> None:
    settings = example("maddpg").Settings(**SETTINGS)
    testbed = load(Path("hunt.yaml"), TESTBED.replace("PREDATOR", "471"))
    with closing(lab.running.virtual_time()) as engine, pytest.raises(BadInput, match=r"471 values.* 470"):
        run(engine, testbed, settings, 1, 1)
