"""Re-grouping workers on the fly (OLAF §7, P4 control plane) while traffic flows."""

import threading
from collections.abc import Iterator

import pytest

from olafctl.membership.model import Cluster, Member
from tests.packets.conftest import needs
from tests.packets.frames import Got, ack, at, gradient, update
from tests.packets.live import DEADLINE, Live


@pytest.fixture
def moved(live: Live) -> Iterator[tuple[Member, Cluster, Cluster]]:
    """A worker, its home, and the cluster it is to go to; afterwards it is back home."""
    needs(live, clusters=2, workers=2)
    home, other = live.cluster(2), live.cluster(2, 1)
    yield home.workers[0], home, other
    live.ask("MoveWorker", worker=home.workers[0].name, cluster=home.name)


def reached(live: Live, worker: Member, seq: int, cluster: Cluster | None = None) -> list[str]:
    """The workers who get a copy of an ACK to ``worker``, which is in ``cluster`` now."""
    epoch = (cluster or live.testbed.cluster_of(worker)).epoch
    arrived = live.exchange((live.server, ack(live, worker, gradient(1), seq=seq, epoch=epoch)))
    everyone = [(other, at(arrived, other)) for other in live.testbed.workers]
    assert all(frame.olaf.seq == seq for _, frames in everyone for frame in frames)
    return [other.name for other, frames in everyone for _ in frames]


def test_after_the_write_the_old_group_does_not_reach_the_worker(
    live: Live, moved: tuple[Member, Cluster, Cluster]
) -> None:
    worker, home, other = moved
    stays = [member.name for member in home.workers[1:]]
    live.ask("MoveWorker", worker=worker.name, cluster=other.name)
    assert sorted(reached(live, home.workers[1], 1)) == sorted(stays)
    expected = sorted([worker.name, *(member.name for member in other.workers)])
    assert sorted(reached(live, other.workers[0], 2)) == expected
    assert sorted(reached(live, worker, 3, other)) == expected


def test_updates_of_a_moved_worker_merge_with_its_new_cluster(
    live: Live, moved: tuple[Member, Cluster, Cluster]
) -> None:
    worker, _, other = moved
    live.ask("MoveWorker", worker=worker.name, cluster=other.name)
    companion = other.workers[0]
    with live.held():
        live.exchange(
            (companion, update(live, companion, gradient(1))),
            (worker, update(live, worker, gradient(2), epoch=other.epoch)),
        )
    [got] = at(live.arrivals(), live.server)
    assert got.values.tobytes() == (gradient(1) + gradient(2)).tobytes()


class Flow(threading.Thread):
    """ACKs to a cluster, each sent when the one before has reached a member that stays.

    It alone reads that member's port; ``seq`` is the newest ACK that arrived there.
    """

    def __init__(self, live: Live, member: Member) -> None:
        super().__init__()
        self.live, self.member = live, member
        self.seq = 0
        self.failure: BaseException | None = None
        self._changed = threading.Condition()
        self._ending = False

    def run(self) -> None:
        try:
            while not self._ending:
                wanted = self.seq + 1
                self.live.send(self.live.server, ack(self.live, self.member, gradient(1), seq=wanted))
                assert next_copy(self.live, self.member) == wanted, "lost, doubled or out of order"
                self._advance(wanted)
        except BaseException as error:
            self.failure = error
            self._advance(self.seq)

    def go_on(self, acks: int) -> None:
        """Return once so many more ACKs have arrived."""
        with self._changed:
            goal = self.seq + acks
            assert self._changed.wait_for(lambda: self.failure or self.seq >= goal, DEADLINE)
        assert self.failure is None

    def stop(self) -> None:
        """End the flow; fails if an ACK went astray."""
        self._ending = True
        self.join()
        assert self.failure is None

    def _advance(self, seq: int) -> None:
        with self._changed:
            self.seq = seq
            self._changed.notify_all()


def next_copy(live: Live, worker: Member, timeout: float = DEADLINE) -> int | None:
    """The sequence number of the next ACK for ``worker`` at its port; None when none comes."""
    while frame := live.receive(worker.port, timeout):
        got = Got(frame)
        if got.ether.dst == worker.mac and got.ether.src == live.server.mac:
            return int(got.olaf.seq)
    return None


def test_a_moved_worker_gets_nothing_of_its_old_group(
    live: Live, moved: tuple[Member, Cluster, Cluster]
) -> None:
    """Nothing lost, nothing delivered to the old group after the write returns.

    Those who stay get every ACK, one by one. The worker gets them up to the move and none after it; once
    it is back home it gets them again.
    """
    worker, home, other = moved
    elsewhere = [member for member in home.workers if member.port != worker.port]
    if not elsewhere:
        pytest.skip("needs members of a cluster at two ports")
    flow = Flow(live, elsewhere[-1])
    flow.start()
    try:
        for _ in range(3):
            flow.go_on(5)
            assert next_copy(live, worker) is not None
            live.ask("MoveWorker", worker=worker.name, cluster=other.name)
            while next_copy(live, worker, 0) is not None:
                pass  # delivered before the write returned
            flow.go_on(20)
            assert next_copy(live, worker, 0) is None
            live.ask("MoveWorker", worker=worker.name, cluster=home.name)
            flow.go_on(5)
            assert next_copy(live, worker) is not None
    finally:
        flow.stop()
    assert flow.seq >= 75


def test_nothing_is_lost_while_workers_move(live: Live, moved: tuple[Member, Cluster, Cluster]) -> None:
    """ACKs flow to both clusters, each one behind the other, while the worker goes back and forth.

    Everyone who stays gets every ACK exactly once, and the worker itself gets each ACK of the cluster
    that it is in for as long as the write that moves it has not begun and after it has returned.
    """
    worker, home, other = moved
    stop = threading.Event()
    failures: list[BaseException] = []
    moves = 0

    def move() -> None:
        nonlocal moves
        try:
            while not stop.is_set():
                target = other if moves % 2 == 0 else home
                live.ask("MoveWorker", worker=worker.name, cluster=target.name)
                moves += 1
        except BaseException as error:
            failures.append(error)

    mover = threading.Thread(target=move)
    mover.start()
    try:
        seq = 0
        while (moves < 6 or seq < 40) and not failures:
            seq += 1
            for cluster in (home, other):
                staying = [member.name for member in cluster.workers if member != worker]
                names = reached(live, cluster.workers[-1], seq)
                assert sorted(name for name in names if name != worker.name) == sorted(staying)
                assert names.count(worker.name) <= 1
    finally:
        stop.set()
        mover.join()
    assert not failures
    assert moves >= 6


def test_updates_flow_while_workers_move(live: Live, moved: tuple[Member, Cluster, Cluster]) -> None:
    """Every update sent meanwhile arrives, alone or merged."""
    worker, home, other = moved
    if home.epoch != other.epoch:
        pytest.skip("needs two clusters of one epoch")
    sent = 0
    with live.counting() as counted:
        for name in (other.name, home.name, other.name):
            mover = threading.Thread(
                target=live.ask, args=("MoveWorker",), kwargs={"worker": worker.name, "cluster": name}
            )
            mover.start()
            while mover.is_alive():
                sent += 1
                live.exchange((worker, update(live, worker, gradient(sent), seq=sent)))
            mover.join()
    assert sent >= 3
    assert counted["in_updates"] == sent
    assert counted["out_updates"] + counted["merged"] + counted["replaced_worker"] == sent
