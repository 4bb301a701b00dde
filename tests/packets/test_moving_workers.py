"""A worker that goes to another cluster, or to another engine, while traffic flows (OLAF §7)."""

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial

import pytest

from olafctl.control.deploy import deploy_testbed
from olafctl.membership.model import Cluster, Member
from olafctl.targets import testbeds
from olafctl.testbed.topology import Topology
from tests.packets.accounts import Account
from tests.packets.conftest import NAMED, need_slots
from tests.packets.frames import Got, ack, at, gradient, update
from tests.packets.live import DEADLINE, Live
from tests.packets.test_several_engines import group, received, root

Ready = Callable[[], None]
"""Called when the new place is ready and the old one still open."""


@dataclass
class Move:
    """A move of a worker from one cluster or engine to another, and back."""

    live: Live
    name: str
    home: Cluster
    other: Cluster
    """The worker's cluster afterwards; ``home`` where only its engine changes."""
    companion: Member
    """A member of ``other``."""
    go: Callable[[Ready], object]
    back: Callable[[], object]

    @property
    def worker(self) -> Member:
        """The worker at its present place."""
        return next(each for each in self.live.testbed.workers if each.name == self.name)

    def members(self, cluster: Cluster) -> Sequence[Member]:
        return next(each for each in self.live.testbed.clusters if each.name == cluster.name).workers

    @contextmanager
    def in_background(self, act: Callable[[], object]) -> Iterator[threading.Event]:
        """Run ``act`` in a thread inside the context; the event is set when it has ended without error."""
        ended, failures = threading.Event(), list[BaseException]()

        def run_moves() -> None:
            try:
                act()
            except BaseException as failure:
                failures.append(failure)
            finally:
                ended.set()

        thread = threading.Thread(target=run_moves)
        thread.start()
        try:
            yield ended
        finally:
            thread.join()
        assert not failures


def regroup(live: Live, worker: Member, home: Cluster, other: Cluster, companion: Member) -> Iterator[Move]:
    """Yield the worker's move to the cluster ``other``, by a call; afterwards the worker is back."""

    def to(cluster: Cluster) -> None:
        live.ask("MoveWorker", worker=worker.name, cluster=cluster.name)

    yield Move(live, worker.name, home, other, companion, lambda _: to(other), lambda: to(home))
    to(home)


@pytest.fixture
def regrouped(live: Live) -> Iterator[Move]:
    home, other = live.cluster(2), live.cluster(2, 1)
    yield from regroup(live, home.workers[0], home, other, other.workers[0])


@pytest.fixture(params=["by a call", "by a deploy"])
def crossed(tree: Live, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[Move]:
    """Provide a move of the worker to members at another engine: to their cluster, or to their port."""
    if request.param == "by a call":
        yield from regroup(tree, *_cross(tree))
        return
    if NAMED or tree.changed:
        pytest.skip("needs a testbed of the tests' own, unchanged since its deploy")
    monkeypatch.setenv("OLAF_STATE", str(tree.store.folder.parent))
    found, before = group(tree), tree.testbed
    names = {port.number: port.name for port in before.ports}
    worker, far = found.pair[0], found.others[0]
    if not Topology(before).is_spread(found.cluster):
        pytest.skip("needs a cluster with workers at several engines")
    here, there = (f"name: {worker.name}, port: {names[port]}," for port in (worker.port, far.port))
    assert before.text.count(here) == 1

    def to(text: str, ready: Ready = lambda: None) -> None:
        outcome = deploy_testbed(
            testbeds.load_testbed(before.source, text),
            lambda step: ready() if step.startswith("closing") else None,
        )
        assert not outcome.started
        tree.look()

    go, back = partial(to, before.text.replace(here, there)), partial(to, before.text)
    yield Move(tree, worker.name, found.cluster, found.cluster, found.pair[1], go, back)
    back()


def _cross(tree: Live) -> tuple[Member, Cluster, Cluster, Member]:
    engine_of = Topology(tree.testbed).home
    for home in tree.merging:
        for worker in home.workers:
            for other in tree.merging:
                apart = [member for member in other.workers if engine_of(member) != engine_of(worker)]
                if other is not home and len(home.workers) > 1 and apart:
                    return worker, home, other, apart[0]
    pytest.skip("needs two clusters with workers at different engines")


def reached(live: Live, worker: Member, seq: int = 1) -> list[str]:
    """Return the workers that get a copy of an ACK to ``worker``."""
    arrived = live.exchange((live.server, ack(live, worker, gradient(1), seq=seq)))
    everyone = [(other, at(arrived, other)) for other in live.testbed.workers]
    assert sum(len(frames) for _, frames in everyone) == sum(map(len, arrived.values()))
    assert all(frame.olaf.seq == seq for _, frames in everyone for frame in frames)
    return sorted(other.name for other, frames in everyone for _ in frames)


def check_updates_merge(move: Move) -> None:
    move.go(lambda: None)
    live, one, other = move.live, gradient(1), gradient(2)
    with live.held(root(live)):
        live.exchange(
            (move.worker, update(live, move.worker, one)),
            (move.companion, update(live, move.companion, other)),
        )
    [merged] = received(live)
    assert merged.olaf.count == 2
    assert merged.values.tobytes() == (one + other).tobytes()


def check_acks_find_members(move: Move) -> None:
    move.go(lambda: None)
    for cluster in (move.home, move.other):
        members = move.members(cluster)
        assert (move.name in {each.name for each in members}) == (cluster.name == move.other.name)
        for answered in (members[0], members[-1]):
            assert reached(move.live, answered) == sorted(member.name for member in members)


def check_no_update_is_lost(move: Move) -> None:
    """Check that each update sent during a move arrives, alone, in a sum or replaced by a newer one of its
    worker, unless it has the epoch that the worker has just left."""
    live, account, sent = move.live, Account(move.live), 0
    ready, gone = threading.Event(), threading.Event()
    place = move.worker

    def change_over() -> None:
        ready.set()
        assert gone.wait(DEADLINE)

    def act() -> None:
        move.go(change_over)
        if move.home is not move.other:
            move.back()
            move.go(lambda: None)

    stayer = next(each for each in move.home.workers if each.name != move.name)
    with move.in_background(act) as ended:
        while not ended.is_set() or sent < 40:
            if ready.is_set():
                place = replace(place, port=group(live).others[0].port)
            for sender in (place, move.companion, stayer):
                sent += 1
                live.send(sender, update(live, sender, gradient(sent), seq=sent))
            live.barrier()
            if ready.is_set():
                gone.set()
    place = move.worker
    for _ in range(10):
        sent += 1
        live.send(place, update(live, place, gradient(sent), seq=sent))
    account.settle(sent, received(live), renewed=move.home.epoch != move.other.epoch)


def test_updates_of_a_regrouped_worker_merge_with_its_new_cluster(regrouped: Move) -> None:
    check_updates_merge(regrouped)


def test_updates_of_a_crossed_worker_merge_with_its_new_neighbours(crossed: Move) -> None:
    check_updates_merge(crossed)


def test_acks_reach_a_regrouped_worker_with_its_new_cluster_only(regrouped: Move) -> None:
    check_acks_find_members(regrouped)


def test_acks_reach_a_crossed_worker_at_its_new_place_only(crossed: Move) -> None:
    check_acks_find_members(crossed)


def test_no_update_is_lost_while_a_worker_is_regrouped(regrouped: Move) -> None:
    # One update leaves while one of each cluster waits: an engine with fewer slots rightly drops one.
    need_slots(regrouped.live, 3)
    check_no_update_is_lost(regrouped)


def test_no_update_is_lost_while_a_worker_crosses(crossed: Move) -> None:
    check_no_update_is_lost(crossed)


def test_what_waits_at_the_old_engine_still_reaches_the_server(crossed: Move) -> None:
    """A deploy, which ends every hold, moves the worker while its update waits."""
    if crossed.home is not crossed.other:
        pytest.skip("an update that waits is of the cluster that its worker leaves")
    tree, one, other, leaf = crossed.live, gradient(1), gradient(2), group(crossed.live).leaf
    with tree.held(leaf):
        tree.exchange((crossed.worker, update(tree, crossed.worker, one)))
        tree.exchange((crossed.companion, update(tree, crossed.companion, other)))
        crossed.go(lambda: None)
    [merged] = received(tree)
    assert merged.olaf.count == 2
    assert merged.values.tobytes() == (one + other).tobytes()


def next_copy(live: Live, worker: Member, timeout: float = DEADLINE) -> int | None:
    """Return the sequence number of the next ACK for ``worker`` at its port; None when none comes."""
    while frame := live.receive(worker.port, timeout):
        got = Got(frame)
        if got.ether.dst == worker.mac and got.ether.src == live.server.mac:
            return int(got.olaf.seq)
    return None


def test_a_regrouped_worker_gets_every_ack_until_it_leaves_and_none_after(regrouped: Move) -> None:
    """ACKs flow, each sent when the ACK before has reached a member that stays. No ACK of the old group comes
    after the call has returned, and none is lost or doubled; back home the worker gets them again."""
    live, worker = regrouped.live, regrouped.worker
    elsewhere = [member for member in regrouped.home.workers if member.port != worker.port]
    if not elsewhere:
        pytest.skip("needs members of a cluster at two ports")
    stayer, arrived, stop = elsewhere[-1], threading.Semaphore(0), threading.Event()

    def flow() -> None:
        seq = 0
        while not stop.is_set():
            seq += 1
            live.send(live.server, ack(live, stayer, gradient(1), seq=seq))
            assert next_copy(live, stayer) == seq, "lost, doubled or out of order"
            arrived.release()

    def wait_for(acks: int) -> None:
        for _ in range(acks):
            assert arrived.acquire(timeout=DEADLINE)

    with regrouped.in_background(flow):
        try:
            for _ in range(3):
                wait_for(5)
                assert next_copy(live, worker) is not None
                regrouped.go(lambda: None)
                while next_copy(live, worker, 0) is not None:
                    pass  # it was delivered before the call returned
                wait_for(20)
                assert next_copy(live, worker, 0) is None
                regrouped.back()
                wait_for(5)
                assert next_copy(live, worker) is not None
        finally:
            stop.set()


def test_both_clusters_get_every_ack_once_while_a_worker_goes_back_and_forth(regrouped: Move) -> None:
    live, seq, stop, moves = regrouped.live, 0, threading.Event(), threading.Semaphore(0)

    def act() -> None:
        while not stop.is_set():
            regrouped.go(lambda: None)
            regrouped.back()
            moves.release()

    with regrouped.in_background(act) as ended:
        try:
            for _ in range(3):
                while not moves.acquire(blocking=False) and not ended.is_set():
                    seq += 1
                    for cluster in (regrouped.home, regrouped.other):
                        staying = sorted(each.name for each in cluster.workers if each.name != regrouped.name)
                        names = reached(live, cluster.workers[-1], seq)
                        assert [name for name in names if name != regrouped.name] == staying
                        assert names.count(regrouped.name) <= 1
        finally:
            stop.set()
