"""Workers move between the engines of a tree and between clusters: every update is accounted for."""

import threading
import time
from collections import Counter

from scapy.layers.inet import UDP
from scapy.layers.l2 import Ether

from olafctl.wire.scapy_layers import Olaf
from olaftest.daemon.daemon_process import wait_until
from tests.daemon.deployment import DEADLINE, KEY, worker_of
from tests.daemon.several_engines.tree import LEFT, OLAF, RIGHT, Tree

UNDER_WAY = 64
"""The updates sent and not yet accounted for: fewer than the buffer of a front port holds."""


def test_a_worker_moves_to_another_engine_without_a_loss(tree: Tree) -> None:
    """The worker is moved, or joins again behind another port, while it and another member send."""
    tree.client.call("CreateCluster", name="red", mode=OLAF, key=KEY)
    tree.join("red", worker_of(2), LEFT)
    epoch = tree.join("red", worker_of(1), 12, "w")
    sent, counted, place = 0, 0, 12
    replaced = sum(queue.read("replaced_worker") for queue in tree.read_queues().values())
    taken = count_taken(tree)
    for move in range(6):
        for _ in range(5):
            tree.send_update(place, worker_of(1), epoch, sent, 1.0)
            tree.send_update(LEFT, worker_of(2), epoch, sent, 1.0)
            sent += 2
        await_taken(tree, taken + sent)
        old, place = place, RIGHT if place == 12 else 12
        if move % 2:
            tree.join("red", worker_of(1), place, "w")
        else:
            tree.client.call("MoveWorker", worker="w", port=place)
        tree.await_settled()
        tree.send_ack(worker_of(2), epoch, 1000 + move)
        assert Olaf(tree.hear_datagram(LEFT)).seq == 1000 + move
        assert Olaf(tree.hear_datagram(place)).seq == 1000 + move
        assert tree.is_silent(old)
    end = time.monotonic() + DEADLINE
    while counted + replaced_since(tree, replaced) != sent:
        assert time.monotonic() < end, (
            f"{counted} of {sent} updates, {replaced_since(tree, replaced)} replaced"
        )
        if (got := tree.hosts[1].receive(0.1)) is not None and Ether(got).haslayer(UDP):
            counted += Olaf(bytes(Ether(got)[UDP].payload)).count


def test_every_update_of_a_moving_worker_is_accounted_for(tree: Tree) -> None:
    """Another sends without pause; updates arrive, are replaced by newer ones, or find a full queue."""
    for name in ("red", "blue"):
        tree.client.call("CreateCluster", name=name, mode=OLAF, key=KEY)
    tree.join("blue", worker_of(3), 1)
    epochs = {"red": tree.join("red", worker_of(1), LEFT), "blue": tree.epoch_of("blue")}
    tree.join("red", worker_of(2), 12, "w")
    before = {name: Counter(queue.read_all()) for name, queue in tree.read_queues().items()}
    losses = tree.running.stats()["losses"]
    moving, arriving, sending = threading.Event(), threading.Event(), threading.Lock()
    sent, arrived, taken = Counter[str](), Counter[str](), count_taken(tree)

    def send() -> None:
        while not moving.is_set():
            if sent.total() - arrived["updates"] - lost() > UNDER_WAY:
                time.sleep(0.001)  # a front port drops frames that its host does not read in time
                continue
            with sending:
                tree.send_update(LEFT, worker_of(1), epochs["red"], sent["other"], 1.0)
                sent["other"] += 1

    def receive() -> None:
        while not arriving.is_set():
            if (got := tree.hosts[1].receive(0.05)) is not None and (packet := Ether(got)).haslayer(UDP):
                arrived["updates"] += Olaf(bytes(packet[UDP].payload)).count

    def lost() -> int:
        """Return the updates that queues replaced, or dropped because they were full."""
        return sum(queue["replaced_worker"] + queue["dropped_full"] for queue in counted().values())

    def counted() -> dict[str, Counter[str]]:
        """Return how much each queue's counters grew."""
        queues = tree.read_queues().items()
        return {name: Counter(queue.read_all()) - before[name] for name, queue in queues}

    def root_was_full() -> bool:
        """Return whether the root dropped updates: one of them, combined below, is several."""
        return counted()["root"]["dropped_full"] > 0

    def at_rest() -> bool:
        return not any(queue.read("resident_updates") for queue in tree.read_queues().values())

    threads = [threading.Thread(target=each) for each in (send, receive)]
    for thread in threads:
        thread.start()
    try:
        for port, cluster in ((RIGHT, "red"), (RIGHT, "blue"), (12, "blue"), (12, "red"), (RIGHT, "blue")):
            tree.client.call("MoveWorker", worker="w", port=port, cluster=cluster)
            for _ in range(20):
                tree.send_update(port, worker_of(2), epochs[cluster], sent["w"], 1.0)
                sent["w"] += 1
            with sending:
                await_taken(tree, taken + sent.total())
        moving.set()
        threads[0].join()
        end = time.monotonic() + DEADLINE
        while arrived["updates"] + lost() != sent.total() and not (root_was_full() and at_rest()):
            assert time.monotonic() < end, f"{sent}, {arrived}, {counted()}, {tree.running.stats()}"
            time.sleep(0.05)
    finally:
        moving.set()
        arriving.set()
        for thread in threads:
            thread.join()
    assert arrived["updates"] + lost() <= sent.total()
    names = {name for queue in counted().values() for name in queue if name.startswith("dropped_")}
    assert names <= {"dropped_full"}
    assert tree.running.stats()["losses"] == losses


def test_what_waits_while_a_worker_moves_arrives_whole(tree: Tree) -> None:
    """Another member's update is in the sum, which has the moving worker's address."""
    for name in ("red", "blue"):
        tree.client.call("CreateCluster", name=name, mode=OLAF, key=KEY)
    tree.join("red", worker_of(1), 12, "stays")
    old = tree.join("red", worker_of(2), LEFT, "w")
    new = tree.join("blue", worker_of(3), RIGHT)
    assert old != new
    left, root = tree.read_queues()["left"], tree.read_queues()["root"]
    before = left.read("in_updates"), root.read("in_updates")
    left.write("hold", 1)
    tree.send_update(12, worker_of(1), old, 1, 1.0)
    tree.await_register("left", "in_updates", before[0] + 1)
    tree.send_update(LEFT, worker_of(2), old, 1, 2.0)
    tree.await_register("left", "in_updates", before[0] + 2)
    tree.client.call("MoveWorker", worker="w", cluster="blue")
    tree.send_update(LEFT, worker_of(2), new, 2, 5.0)
    tree.await_register("left", "in_updates", before[0] + 3)
    left.write("hold", 0)
    assert {tree.next_arrived(), tree.next_arrived()} == {(2, 3.0), (1, 5.0)}
    assert root.read("in_updates") == before[1]  # both updates passed the root by
    tree.await_settled()
    tree.send_update(LEFT, worker_of(2), new, 3, 7.0)
    assert tree.next_arrived() == (1, 7.0)
    assert root.read("in_updates") == before[1] + 1


def replaced_since(tree: Tree, before: int) -> int:
    return sum(queue.read("replaced_worker") for queue in tree.read_queues().values()) - before


def count_taken(tree: Tree) -> int:
    return sum(tree.read_queues()[name].read("in_updates") for name in ("left", "right"))


def await_taken(tree: Tree, updates: int) -> None:
    """Wait until the queues at the edge have taken so many: their engines refuse what comes after a move."""
    wait_until(lambda: count_taken(tree) == updates)
