"""A worker is put into a cluster whose members are at another engine (OLAF §7), while traffic flows."""

import threading
from collections.abc import Iterator
from dataclasses import dataclass

import pytest

from olafctl.control.deploy import find
from olafctl.membership.model import Cluster, Member
from olafctl.testbed.topology import Topology
from tests.packets.accounts import Account
from tests.packets.frames import ack, at, gradient, update
from tests.packets.live import Live
from tests.packets.test_several_engines import received, root


@dataclass(frozen=True)
class Move:
    """A worker, its cluster, and another one with a member at another engine; how it is put there."""

    tree: Live
    worker: Member
    home: Cluster
    other: Cluster
    far: Member
    """The member of ``other``."""

    def carry_out(self) -> None:
        self.tree.ask("MoveWorker", worker=self.worker.name, cluster=self.other.name)

    def undo(self) -> None:
        self.tree.ask("MoveWorker", worker=self.worker.name, cluster=self.home.name)


@pytest.fixture
def move(tree: Live) -> Iterator[Move]:
    """Afterwards the worker is back home."""
    chosen = _move(tree)
    yield chosen
    chosen.undo()
    tree.testbed, _ = find(tree.store)


def _move(tree: Live) -> Move:
    engine_of = Topology(tree.testbed).home
    for home in tree.merging:
        for worker in home.workers:
            for other in tree.merging:
                apart = [member for member in other.workers if engine_of(member) != engine_of(worker)]
                if other is not home and len(home.workers) > 1 and apart:
                    return Move(tree, worker, home, other, apart[0])
    pytest.skip("needs two clusters with workers at different engines")


def test_its_updates_merge_with_those_of_its_new_cluster(tree: Live, move: Move) -> None:
    move.carry_out()
    one, other = gradient(1), gradient(2)
    with tree.held(root(tree)):
        tree.exchange(
            (move.worker, update(tree, move.worker, one)), (move.far, update(tree, move.far, other))
        )
    [merged] = received(tree)
    assert merged.olaf.count == 2
    assert merged.values.tobytes() == (one + other).tobytes()


def test_acks_of_its_new_cluster_reach_it_and_old_ones_do_not(tree: Live, move: Move) -> None:
    move.carry_out()
    stayed = [member for member in move.home.workers if member != move.worker]
    joined = [*move.other.workers, move.worker]
    for members in (stayed, joined):
        for answered in (members[0], members[-1]):
            arrived = tree.exchange((tree.server, ack(tree, answered, gradient(1))))
            assert [len(at(arrived, member)) for member in members] == [1] * len(members)
            assert sum(map(len, arrived.values())) == len(members)


def test_no_update_is_lost_while_it_goes_back_and_forth(tree: Live, move: Move) -> None:
    """Each one that the worker or a member of either cluster sends meanwhile arrives, alone, in a sum or
    replaced by a newer one of its worker."""
    account = Account(tree)
    senders = (move.worker, move.far, next(each for each in move.home.workers if each != move.worker))
    moved = threading.Event()
    failures: list[BaseException] = []

    def go() -> None:
        try:
            for _ in range(2):
                move.carry_out()
                move.undo()
        except BaseException as failure:
            failures.append(failure)
        finally:
            moved.set()

    thread = threading.Thread(target=go)
    thread.start()
    sent = 0
    while not moved.is_set() or sent < 30:
        for sender in senders:
            sent += 1
            tree.send(sender, update(tree, sender, gradient(sent), seq=sent))
        tree.barrier()
    thread.join()
    assert not failures
    account.settle(sent, received(tree))
