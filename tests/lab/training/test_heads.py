"""Heads: workers whose actors play through a ring, in virtual time and as processes that sleep."""

import os
import signal
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import psutil
import pytest

pytest.importorskip("olaf", reason="needs the SDK: pip install ./sdk")
pytest.importorskip("torch", reason="the extra [train] is not installed")
pytest.importorskip("gymnasium", reason="the extra [train] is not installed")
pytest.importorskip("Box2D", reason="the extra [train] is not installed")

from click import UsageError
from olaf.elastic import CPU, GPU, Held, Pool, stopped
from olaf.experience import Ring
from olaf.experience.triggers import Cursor
from olaf.transport.virtual import VirtualNetwork, Wire
from olaf.transport.wire import OlafStatus

from olafctl.control import serving
from olafctl.targets.testbeds import load_testbed
from olaflab.cli.train import command
from olaflab.training import network
from olaflab.training.cosim.medium import EngineMedium
from olaflab.training.head import Crew, Head, Turnout
from olaflab.training.plan import ClusterFigures, Pace, TrainingPlan
from olaflab.training.ppo import PpoLearner
from olaflab.training.virtual import Shifts, train_virtual
from olaftest.daemon.daemon_process import wait_until
from tests.lab.training.cosim.conftest import TwinLab, deployed

# The geometry of tests/lab/training/cosim: one build for both. Of one segment, nothing is held at first.
TESTBED = """
name: heads
engine: {indices: 8, slots: 2, beats: 22, output_rate: 10 Mb/s, active_window: 1 s}
ports:
  - {number: 1, name: ps, transport: unix}
  - {number: 2, name: tor, transport: unix}
parameter_servers: [{name: ps, port: ps, ip: 10.0.0.254}]
clusters: [{count: 1, workers: 2, name: lander, port: 2, ip: 10.0.1.1, values: 184, epoch: 5}]
"""
VALUES = network.count_parameters(9)
WEIGHTS = network.initial_parameters(np.random.default_rng(1), 9)
IDLE = OlafStatus(0, 1, 8, 0)


@contextmanager
def open_head(crew: Crew, name: str | None = None, **more: Any) -> Iterator[Head]:
    made = Head(crew, (3, 0), VALUES, name, **more)
    try:
        yield made
    finally:
        made.close()


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TwinLab]:
    testbed = load_testbed(Path("heads.yaml"), TESTBED.replace("184", str(VALUES)))
    with deployed(testbed, tmp_path_factory.mktemp("heads") / "bed") as found:
        yield found


def train_head(lab: TwinLab, crew: Crew, wire: bool) -> ClusterFigures:
    pace = Pace(0.001, learn=0.0001, start=0.05, jitter=0.2)
    plan = TrainingPlan(6, 1, pace, 1, serving.make_policy("plain", 0.001, {}), None, 0.4, crew=crew)
    with closing(lab.running.virtual_time()) as session:
        (cluster,) = train_virtual(
            Wire() if wire else EngineMedium(session, lab.testbed),
            lab.testbed,
            lab.testbed.parameter_servers[0],
            plan,
            lambda step, done, total: None,
        )
    return cluster


@pytest.mark.parametrize("wire", [False, True], ids=["twin", "wire"])
def test_a_training_of_heads_repeats_to_the_byte(lab: TwinLab, wire: bool) -> None:
    crew = Crew(2, 4, block=16, every=2, learners=1)
    first, again = train_head(lab, crew, wire), train_head(lab, crew, wire)
    assert first.steps == again.steps
    assert first.weights is not None and again.weights is not None
    assert first.weights.tobytes() == again.weights.tobytes()
    assert first.applied > 0
    for worker in [each.name for each in first.cluster.workers]:
        turnouts = [step.turnout for step in first.steps if step.worker == worker]
        found = [each for each in turnouts if each is not None]
        assert [each.blocks for each in found] == [2, 2, 3, 3, 4, 4]
        assert [each.lag for each in found] == [0] * 6
        # What was learnt took the learner 16 rows x 0.1 ms a block, give or take a fifth.
        assert found[-1].gpu == pytest.approx(18 * 16 * 0.0001, rel=0.2)
        assert found[-1].cpu >= 18 * 16 * 0.001 * 0.8
        assert all(each.waited >= 16 * 0.001 * 0.8 for each in found)


def test_two_heads_that_share_a_learner_never_learn_at_once() -> None:
    simulated, random = VirtualNetwork(), np.random.default_rng(1)
    crew = Crew(2, 2, block=100)
    shared = Held()
    pool = Pool(1, shared, lambda: simulated.time)
    ends: list[tuple[float, Turnout]] = []
    turnout = Turnout(actors=2, blocks=2, turns=1, fill=1.0, lag=0)
    with open_head(crew) as one, open_head(crew) as other:
        for each in (one, other):
            shifts = Shifts(each, Pace(0.01, learn=0.005), simulated, pool, random)
            shifts.run_turnout(turnout, 1.0, lambda made: ends.append((simulated.time, made)))
        simulated.run()
    assert [time for time, _ in ends] == pytest.approx([2.0, 3.0])  # 1 s of playing, 1 s each of learning
    assert [(made.waited, made.cpu, made.gpu) for _, made in ends] == [pytest.approx((1.0, 2.0, 1.0))] * 2
    assert shared.seconds(GPU, simulated.time) == pytest.approx(2.0)


def test_actors_of_stable_updates_are_awake_when_they_are_wanted() -> None:
    simulated, random = VirtualNetwork(), np.random.default_rng(1)
    ends: list[Turnout] = []
    with open_head(Crew(4, 4, block=100)) as one:
        shifts = Shifts(one, Pace(0.01, learn=0.01, start=0.4, jitter=0.01), simulated, None, random)
        turnout = Turnout(actors=4, blocks=4, turns=1, fill=1.0, lag=0)

        def again(made: Turnout) -> None:
            ends.append(made)
            if len(ends) < 20:
                shifts.run_turnout(turnout, 1.0, again)

        shifts.run_turnout(turnout, 1.0, again)
        simulated.run()
        assert one.held.holding(CPU) == 4  # for an update that does not come
        shifts.close()
        assert one.held.holding(CPU) == one.held.holding(GPU) == 0
    waits = [made.waited for made in ends]
    assert min(waits[:5]) > 1.35  # 0.4 s to start, 1 s to play
    assert max(waits[8:]) < 1.02  # the first that found its actors awake was done sooner than those before it
    assert ends[-1].cpu > 20 * 4 * 1.4 * 0.99  # who is awake early holds its core, too


def test_a_congested_network_lets_fewer_actors_play_more() -> None:
    waits: list[float] = []

    def admit(seconds: float) -> bool:
        waits.append(seconds)
        return seconds >= 3.0

    with open_head(Crew(4, 4, block=8), admit=admit) as one:
        _, first = one.play(WEIGHTS, IDLE, 1.0)
        _, held = one.play(WEIGHTS, OlafStatus(2, 16, 8, 0), 0.5)
        one.note_turn(held.turns, 4.0, 1.0)
        _, more = one.play(WEIGHTS, IDLE, 1.0)
        one.note_turn(more.turns, 4.0, 0.5)
        _, refused = one.play(WEIGHTS, IDLE, 1.0)
    assert [(each.actors, each.turns) for each in (first, held, more)] == [(4, 1), (2, 2), (3, 2)]
    assert waits == [5.0, 2.5]  # two turns of 2 s and 1 s; one of 2 s and 0.5 s
    assert (refused.actors, refused.blocks) == (3, 4)
    assert one.limit.refused == 1


def test_the_parts_gradients_have_the_whole_ones_mean() -> None:
    with open_head(Crew(4, 4, block=32)) as one:
        played, _ = one.play(WEIGHTS, None, 1.0)
    learner = PpoLearner(1, VALUES)
    parts, (whole,) = learner.gradient_parts(WEIGHTS, played, 4), learner.gradient_parts(WEIGHTS, played, 1)
    mean = np.mean(parts, axis=0)
    assert np.abs(mean - whole).max() <= 1e-5 * np.abs(whole).max()


def test_processes_play_as_in_virtual_time_and_sleep_meanwhile() -> None:
    crew = Crew(2, 2, block=8)
    with open_head(crew) as virtual, open_head(crew, f"heads-{os.getpid()}") as wall:
        for _ in range(2):
            (here, _), (there, turnout) = (each.play(WEIGHTS, None, 1.0) for each in (virtual, wall))
            assert here.observations.tobytes() == there.observations.tobytes()
            assert here.advantages.tobytes() == there.advantages.tobytes()
        pids = wall.pids()
        assert (turnout.blocks, turnout.lag, turnout.turns) == (2, 0, 1)
        with wall.hold_learner():
            assert wall.held.holding(CPU) == 0
            assert wall.held.holding(GPU) == 1
            wait_until(lambda: all(stopped(pid) for pid in pids.values()))
            assert is_learning(f"heads-{os.getpid()}")
        assert not is_learning(f"heads-{os.getpid()}")
        os.kill(pids[0], signal.SIGKILL)
        wait_until(lambda: are_gone(pids[0]))
        _, turnout = wall.play(WEIGHTS, None, 1.0)
        assert turnout.blocks in (1, 2)  # half are enough, if its death is noticed only now
        _, turnout = wall.play(WEIGHTS, None, 1.0)
        assert turnout.blocks == 2  # it was replaced
        assert wall.pids()[0] != pids[0]
    assert not list(Path("/dev/shm").glob(f"olaf-heads-{os.getpid()}*"))


def is_learning(name: str) -> bool:
    """Return whether the ring tells the doctor that a learner learns."""
    cursor = Cursor(Ring.open(name), "learn")
    return cursor.count("taken") > cursor.count("done")


def are_gone(pid: int) -> bool:
    try:
        return psutil.Process(pid).status() == psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return True


def test_actors_of_this_machine_need_no_ray() -> None:
    with pytest.raises(UsageError, match="leave --ray out"):
        command.main(["--actors", "2", "--ray", "local"], standalone_mode=False)


@pytest.mark.parametrize("actors", ["0", "x", "5..4", "1..2000", ".."])
def test_impossible_numbers_of_actors_are_refused(actors: str) -> None:
    with pytest.raises(UsageError, match="--actors"):
        command.main(["--actors", actors], standalone_mode=False)
