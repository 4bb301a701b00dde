"""Engines behind each other (OLAF §8.3, figure 9): the next engine merges the updates of one again."""

from dataclasses import dataclass

import numpy as np
import pytest
from scapy.layers.inet import IP
from scapy.packet import Raw

from olafctl.membership.model import Cluster, Host, Member
from olafctl.testbed.topology import Topology
from olafctl.wire.layouts import Flag
from tests.packets.frames import Got, ack, at, delivered, gradient, update, whole
from tests.packets.live import Live, udp

LONG = (1 << 31) - 1
"""Clock cycles: 8.6 s, longer than a test takes to send its updates."""


@dataclass(frozen=True)
class EngineGroup:
    """A cluster with two workers at a lower engine, and others whose updates can meet theirs at the root."""

    leaf: str
    cluster: Cluster
    pair: tuple[Member, Member]
    others: tuple[Member, ...]


def group(tree: Live) -> EngineGroup:
    """Return the first group with others at other engines, else the first. Skip the test without one."""
    topology = Topology(tree.testbed)
    found = []
    for cluster in tree.merging:
        for engine in tree.testbed.engines[1:]:
            here = [worker for worker in cluster.workers if topology.home(worker) == engine.name]
            apart = [worker for worker in cluster.workers if worker not in here]
            if len(here) >= 2 and apart and topology.top(cluster) == root(tree):
                return EngineGroup(engine.name, cluster, (here[0], here[1]), tuple(apart))
            if len(here) >= 3:
                found.append(EngineGroup(engine.name, cluster, (here[0], here[1]), tuple(here[2:])))
    if not found:
        pytest.skip("needs a cluster of three workers, two of them at one engine below the root")
    return found[0]


def root(tree: Live) -> str:
    return tree.testbed.root.name


def received(tree: Live) -> list[Got]:
    """Return the frames that the parameter server has got."""
    return at(tree.arrivals(), tree.server)


def test_an_aggregated_update_is_aggregated_again_at_the_next(tree: Live) -> None:
    """Frames that crossed one engine are merged by the next like any other: counts add up, sums are exact."""
    found = group(tree)
    first, second = found.pair
    values = [gradient(seed) for seed in range(3)]
    with tree.held(root(tree)):
        with tree.held(found.leaf), tree.counting(found.leaf) as below:
            tree.exchange((first, update(tree, first, values[0], seq=1, reward=2.0, gen_time=100)))
            tree.exchange((second, update(tree, second, values[1], seq=2, reward=1.0, gen_time=200)))
        assert received(tree) == []
        with tree.counting(root(tree)) as above:
            last = found.others[0]
            tree.exchange((last, update(tree, last, values[2], seq=3, reward=1.0, gen_time=300)))
    [merged] = received(tree)
    assert (below["merged"], above["merged"]) == (1, 1)
    assert merged.values.tobytes() == ((values[0] + values[1]) + values[2]).tobytes()
    header = merged.olaf
    assert (header.count, header.flags & Flag.AGGREGATED) == (3, Flag.AGGREGATED)
    assert (header.seq, header.reward, header.gen_time) == (3, 2.0, 300)
    assert merged.ether[IP].src == str(last.ip)


def test_two_aggregated_updates_are_added_up(tree: Live) -> None:
    found = group(tree)
    values = [gradient(seed) for seed in range(4)]
    with tree.held(root(tree)):
        for pass_ in (0, 1):
            with tree.held(found.leaf):
                for nth, worker in enumerate(found.pair):
                    tree.exchange((worker, update(tree, worker, values[2 * pass_ + nth], seq=pass_ + 1)))
            assert received(tree) == []
    [merged] = received(tree)
    assert merged.olaf.count == 4
    assert merged.values.tobytes() == ((values[0] + values[1]) + (values[2] + values[3])).tobytes()


def test_an_aggregated_update_is_never_replaced(tree: Live) -> None:
    """A newer update of the worker whose header an aggregated update bears is added to it."""
    found = group(tree)
    values = [gradient(seed) for seed in range(3)]
    first, second = found.pair
    with tree.held(root(tree)), tree.counting(root(tree)) as above:
        with tree.held(found.leaf):
            tree.exchange((first, update(tree, first, values[0], seq=1)))
            tree.exchange((second, update(tree, second, values[1], seq=1)))
        assert received(tree) == []
        tree.exchange((second, update(tree, second, values[2], seq=2)))
    [merged] = received(tree)
    assert merged.olaf.count == 3
    assert merged.values.tobytes() == ((values[0] + values[1]) + values[2]).tobytes()
    assert (above["merged"], above["replaced_worker"]) == (1, 0)


def test_a_single_update_is_replaced_at_the_next_engine_too(tree: Live) -> None:
    """The newer update of the same worker replaces the older one, wherever it waits."""
    found = group(tree)
    worker = found.pair[0]
    with tree.held(root(tree)), tree.counting(root(tree)) as above:
        for seq in (1, 2):
            tree.exchange((worker, update(tree, worker, gradient(seq), seq=seq)))
    [left] = received(tree)
    assert (left.olaf.seq, left.olaf.count, left.olaf.flags) == (2, 1, 0)
    assert left.values.tobytes() == gradient(2).tobytes()
    assert above["replaced_worker"] == 1


def test_an_ack_reaches_exactly_the_members_wherever_they_are(tree: Live) -> None:
    """One copy goes down to each engine that has members, and each member gets one, addressed to it."""
    for cluster in tree.merging:
        for answered in cluster.workers:
            sent = ack(tree, answered, gradient(answered.number))
            arrived = tree.exchange((tree.server, sent))
            copies = {worker: at(arrived, worker) for worker in cluster.workers}
            assert sum(map(len, arrived.values())) == len(cluster.workers)
            for worker, got in copies.items():
                assert [each.frame for each in got] == [bytes(delivered(sent, worker, got[0].status))]


def test_an_ack_carries_the_tightest_queues_status(tree: Live) -> None:
    """The queue with the fewest slots for each active cluster counts."""
    topology = Topology(tree.testbed)
    found = group(tree)
    slots = {each.name: each.slots // tree.testbed.shards_of(each) for each in tree.testbed.engines}
    with tree.settings(*tree.queues, active_window=LONG):
        for worker in (*found.pair, *found.others):
            tree.exchange((worker, update(tree, worker, gradient(worker.number))))
        tree.arrivals()
        active = {name: registers.read("active_clusters") for name, registers in tree.queues.items()}
        arrived = tree.exchange((tree.server, ack(tree, found.pair[0], gradient(9))))
    assert active[root(tree)] > 0 and active[found.leaf] > 0
    for worker in found.cluster.workers:
        [got] = at(arrived, worker)
        way = [name for name in topology.path_up(topology.home(worker)) if active[name]]
        tightest = min(way, key=lambda name: slots[name] / active[name])
        assert (got.status.slots, got.status.active_clusters) == (slots[tightest], active[tightest])


def test_traffic_that_is_not_olafs_crosses_engines_unchanged(tree: Live) -> None:
    """The traffic goes between hosts at different engines, both ways."""
    topology = Topology(tree.testbed)
    far = next(worker for worker in tree.testbed.workers if topology.home(worker) != root(tree))
    for source, target in ((far, tree.server), (tree.server, far)):
        frame = plain(source, target)
        arrived = tree.exchange((source, frame))
        assert arrived == {target.port: [frame]}


def plain(source: Host, target: Host) -> bytes:
    return bytes(whole(udp(source, target, 53) / Raw(b"not a gradient")))


def test_values_of_a_gradient_survive_both_engines_bit_for_bit(tree: Live) -> None:
    """An update that meets no other leaves as it came, except for the UDP checksum."""
    found = group(tree)
    worker = found.pair[0]
    values = np.array([0.0, -0.0, 1e-40, 3.4e38, np.inf], dtype=np.float32)
    sent = update(tree, worker, values)
    tree.send(worker, sent)
    [got] = received(tree)
    assert got.frame == bytes(sent)
