"""A worker that moves from one engine to another (OLAF §7): its new place is prepared first."""

import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial

import pytest

from olafctl.control.deploy import deploy, find
from olafctl.membership.model import Member
from olafctl.targets import testbeds
from olafctl.testbed.topology import Topology
from tests.packets.accounts import Account
from tests.packets.conftest import NAMED
from tests.packets.frames import ack, at, gradient, update
from tests.packets.live import DEADLINE, Live
from tests.packets.test_several_engines import Group, group, received, root

Move = Callable[..., Member]
"""Calls what it is given when the new place is ready and the old one still open."""


@pytest.fixture
def found(tree: Live) -> Group:
    return group(tree)


@pytest.fixture
def move(tree: Live, found: Group, monkeypatch: pytest.MonkeyPatch) -> Iterator[Move]:
    """Deploys the testbed with the first of the pair at another engine, next to another member; afterwards
    it is back."""
    if NAMED:
        pytest.skip("changes the testbed, which is not the tests' own")
    monkeypatch.setenv("OLAF_STATE", str(tree.store.folder.parent))
    names = {port.number: port.name for port in tree.testbed.ports}
    worker, other = found.pair[0], found.others[0]
    if not Topology(tree.testbed).is_spread(found.cluster):
        pytest.skip("needs a cluster with workers at several engines")
    before = tree.testbed
    here, there = (f"name: {worker.name}, port: {names[port]}," for port in (worker.port, other.port))
    assert before.text.count(here) == 1

    def to(text: str, ready: Callable[[], None] = lambda: None) -> Member:
        def progress(step: str) -> None:
            if step.startswith("closing"):
                ready()

        outcome = deploy(testbeds.load(before.source, text), progress)
        assert not outcome.started
        tree.testbed, _ = find(tree.store)
        return next(member for member in tree.testbed.workers if member.name == worker.name)

    yield partial(to, before.text.replace(here, there))
    to(before.text)


def test_what_waits_at_the_old_engine_still_reaches_the_server(tree: Live, found: Group, move: Move) -> None:
    """A deploy, which ends every hold, moves the worker while its update waits."""
    worker, companion = found.pair
    one, other = gradient(1), gradient(2)
    with tree.held(found.leaf):
        tree.exchange((worker, update(tree, worker, one)))
        tree.exchange((companion, update(tree, companion, other)))
        move()
    [merged] = received(tree)
    assert merged.olaf.count == 2
    assert merged.values.tobytes() == (one + other).tobytes()


def test_updates_from_the_new_place_merge_with_its_cluster(tree: Live, found: Group, move: Move) -> None:
    companion = found.pair[1]
    moved = move()
    assert moved.port == found.others[0].port
    one, other = gradient(1), gradient(2)
    with tree.held(root(tree)):
        tree.exchange((moved, update(tree, moved, one)), (companion, update(tree, companion, other)))
    [merged] = received(tree)
    assert merged.olaf.count == 2
    assert merged.values.tobytes() == (one + other).tobytes()


def test_acks_find_the_worker_at_its_new_place_and_nowhere_else(tree: Live, found: Group, move: Move) -> None:
    moved = move()
    for answered in (moved, found.pair[1], found.others[0]):
        arrived = tree.exchange((tree.server, ack(tree, answered, gradient(1))))
        members = tree.testbed.cluster_of(moved).workers
        assert {worker.name for worker in members} == {worker.name for worker in found.cluster.workers}
        assert [len(at(arrived, worker)) for worker in members] == [1] * len(members)
        assert sum(map(len, arrived.values())) == len(members)


def test_no_update_is_lost_while_a_worker_moves(tree: Live, found: Group, move: Move) -> None:
    """Updates keep coming, from the old place until the new one is ready and from there then."""
    worker, companion = found.pair
    account = Account(tree)
    sent = 0
    ready, gone, moving = threading.Event(), threading.Event(), threading.Event()
    failures: list[BaseException] = []
    place = worker
    there = replace(worker, port=found.others[0].port)

    def change_over() -> None:
        ready.set()
        assert gone.wait(DEADLINE)

    def carry_out() -> None:
        try:
            move(change_over)
        except BaseException as failure:
            failures.append(failure)
        finally:
            moving.set()

    thread = threading.Thread(target=carry_out)
    thread.start()
    while not moving.is_set() or sent < 40:
        if ready.is_set():
            place = there
        for member in (place, companion):
            sent += 1
            tree.send(member, update(tree, member, gradient(sent), seq=sent))
        tree.barrier()
        if place is there:
            gone.set()
    thread.join()
    assert not failures
    assert place is there
    for _ in range(10):
        sent += 1
        tree.send(place, update(tree, place, gradient(sent), seq=sent))
    account.settle(sent, received(tree))
