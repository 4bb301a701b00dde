"""Actors on two nodes of a Ray cluster: where, what they play, what is held, and a node that is lost."""

import os
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

pytest.importorskip("ray", reason="the extra [ray] is not installed")
pytest.importorskip("olaf", reason="needs the SDK: pip install ./sdk")
pytest.importorskip("torch", reason="the extra [train] is not installed")
pytest.importorskip("gymnasium", reason="the extra [train] is not installed")
pytest.importorskip("Box2D", reason="the extra [train] is not installed")

import ray
from olaf.elastic import CPU, Held
from olaf.elastic.placed import Placed
from olaf.errors import ActorFailed
from olaf.errors import OlafError as SdkError
from ray.cluster_utils import Cluster

from olaflab.cli.train import command
from olaflab.training import network
from olaflab.training.head import Crew, Head
from olafswitch.errors import BadInput

VALUES = network.count_parameters(9)
WEIGHTS = network.initial_parameters(np.random.default_rng(1), 9)
_TRIES = 4
"""Ray gives its processes 30 s to start, which is not enough on a loaded machine."""


def make_counting(number: int, step: int) -> Callable[[int], tuple[int, int, str]]:
    """Make an actor that adds what it is given to what it has, and says where it is."""
    total = 0

    def turn(taken: int) -> tuple[int, int, str]:
        nonlocal total
        if taken < 0:
            raise ValueError("below zero")
        total += taken * step
        return number, total, ray.get_runtime_context().get_node_id()

    return turn


@pytest.fixture(scope="module")
def cluster() -> Iterator[Any]:
    """Provide a node with one core, and one with two."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", os.pathsep.join(sys.path))  # of the nodes' processes
        made = _start_cluster(_TRIES)
        yield made
        made.shutdown()


def _start_cluster(tries: int) -> Any:
    made = Cluster()
    try:
        made.add_node(num_cpus=1, include_dashboard=False)
        made.add_node(num_cpus=2)
    except Exception:
        made.shutdown()
        if tries == 1:
            raise
        return _start_cluster(tries - 1)
    return made


def has_finished(actors: Placed) -> list[int]:
    done: list[int] = []
    while actors.playing:
        done += actors.serve(60.0)
    return sorted(done)


def test_actors_of_a_ray_cluster_play_what_is_played_here(cluster: Any) -> None:
    crew, name = Crew(2, 2, block=8), f"away-{os.getpid()}"
    with (
        closing(Head(crew, (3, 0), VALUES)) as virtual,
        closing(Head(replace(crew, ray=cluster.address), (3, 0), VALUES, name)) as away,
    ):
        for _ in range(2):
            (here, _), (there, turnout) = (each.play(WEIGHTS, None, 1.0) for each in (virtual, away))
            assert here.observations.tobytes() == there.observations.tobytes()
            assert here.advantages.tobytes() == there.advantages.tobytes()
            assert (turnout.blocks, turnout.lag, turnout.turns) == (2, 0, 1)
        assert away.held.holding(CPU) == 0
        assert away.held.seconds(CPU, time.monotonic()) > 0


def test_actors_play_on_a_free_node_and_survive_its_loss(cluster: Any) -> None:
    (second,) = cluster.worker_nodes
    held, given = Held(), [1]
    brought: list[tuple[int, int, str]] = []
    actors = Placed(
        cluster.address, make_counting, (10,), held=held, now=lambda: 0.0,
        take=lambda number: given[0], deliver=lambda number, what: brought.append(what),
    )  # fmt: skip
    with closing(actors):
        actors.prepare(range(3))
        assert held.holding(CPU) == 3  # while they start
        while actors.awake:
            actors.serve(60.0)
        assert held.holding(CPU) == 0
        cores = {each["NodeID"]: each["Resources"]["CPU"] for each in ray.nodes()}
        assert Counter(actors.nodes.values()) == Counter(cores)
        actors.invoke(range(3))
        assert (actors.playing, actors.awake, held.holding(CPU)) == (3, 3, 3)
        assert has_finished(actors) == [0, 1, 2]
        assert held.holding(CPU) == 0
        assert sorted((number, total) for number, total, _ in brought) == [(0, 10), (1, 10), (2, 10)]
        assert {number: node for number, _, node in brought} == actors.nodes
        lost = [number for number, node in actors.nodes.items() if node == second.node_id]
        cluster.remove_node(second)
        brought.clear()
        actors.invoke(range(3))
        assert has_finished(actors) == sorted({0, 1, 2} - set(lost))
        assert actors.deaths == len(lost) == 2
        actors.invoke(range(3))
        assert has_finished(actors) == [0, 1, 2]
        assert held.holding(CPU) == 0
        totals = {number: total for number, total, _ in brought}  # those that were lost began again
        assert totals == {number: 10 if number in lost else 30 for number in range(3)}
        given[0] = -1
        actors.invoke([0])
        with pytest.raises(ActorFailed, match=r"actor 0 failed: .*below zero"):
            has_finished(actors)
    assert (held.holding(CPU), actors.awake, actors.playing) == (0, 0, 0)


@pytest.mark.parametrize("address", ["127.0.0.1:1", "nowhere", "127.0.0.1:70000"])
def test_without_a_cluster_it_says_so(address: str) -> None:
    with pytest.raises(SdkError, match=rf"no Ray cluster answers at {address}: .*ray start"):
        Placed(
            address, make_counting, (1,), held=Held(), now=lambda: 0.0,
            take=lambda number: 0, deliver=lambda number, what: None,
        )  # fmt: skip


def test_the_command_says_so_before_anything_starts() -> None:
    with pytest.raises(BadInput, match=r"--ray 127\.0\.0\.1:1: no Ray cluster answers"):
        command.main(["--actors", "2", "--ray", "127.0.0.1:1"], standalone_mode=False)
