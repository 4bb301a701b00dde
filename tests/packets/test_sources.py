"""A source address is believed at its own port only: no one forges another's gradients, or the weights."""

from collections.abc import Callable
from dataclasses import replace

import pytest
from scapy.layers.inet import IP, UDP
from scapy.layers.l2 import Ether
from scapy.packet import Packet, Raw

from olafctl.control.pipeline import REFUSALS, VNP4_1
from olafctl.control.status import read_status
from olafctl.targets.interface import device_name
from olafctl.testbed.topology import Topology
from olafctl.wire.layouts import Flag, Refusal
from tests.packets.frames import ack, gradient, update, whole
from tests.packets.live import BROADCAST, Live
from tests.packets.test_several_engines import group, root


def other_ports(live: Live, port: int) -> list[int]:
    """Return the front ports except ``port``."""
    return [each for each in live.ports if each != port]


@pytest.mark.parametrize("source_port", [None, 1, 53])
def test_an_update_in_another_worker_s_name_is_refused(live: Live, source_port: int | None) -> None:
    """The update comes from any port and UDP port; the worker's own next update is served."""
    victim = live.cluster(1, merging=False).workers[0]
    ports = other_ports(live, victim.port)
    named = victim if source_port is None else replace(victim, udp_port=source_port)
    with live.counting() as counted, live.refusing() as refused, live.held():
        for port in ports:
            live.send_at(port, update(live, named, gradient(9), seq=9))
        sent = update(live, victim, gradient(1))
        live.exchange((victim, sent))
    assert live.arrivals() == {live.server.port: [bytes(sent)]}
    assert (counted["in_updates"], refused) == (1, {Refusal.PORT: len(ports)})


@pytest.mark.parametrize(
    "fields",
    [{"count": 65535}, {"count": 0}, {"flags": Flag.AGGREGATED}, {"count": 3, "flags": Flag.AGGREGATED}],
)
def test_a_worker_may_not_say_that_it_speaks_for_several(live: Live, fields: dict[str, int]) -> None:
    """No engine is behind its port that could have merged anything."""
    worker = live.cluster(1, merging=False).workers[0]
    with live.counting() as counted, live.refusing() as refused:
        assert live.exchange((worker, update(live, worker, gradient(1), **fields))) == {}
    assert (counted["in_updates"], refused) == (0, {Refusal.MERGED: 1})


def test_an_ack_in_the_server_s_name_reaches_no_host(live: Live) -> None:
    """Otherwise forged weights would go to every member."""
    worker = live.cluster(1, merging=False).workers[0]
    ports = other_ports(live, live.server.port)
    with live.refusing() as refused:
        for port in ports:
            live.send_at(port, ack(live, worker, gradient(6)))
        assert live.arrivals() == {}
    assert refused == {Refusal.PORT: len(ports)}
    assert live.exchange((live.server, ack(live, worker, gradient(1))))


@pytest.mark.parametrize("ether_type", [0x8100, 0x88A8, 0x9100])
def test_a_tag_of_no_vlan_hides_nothing(live: Live, ether_type: int) -> None:
    """Hosts remove such a tag, however many there are, and would believe the address under it."""
    worker = live.cluster(1, merging=False).workers[0]
    forged = whole(ack(live, worker, gradient(6)))
    forged[Ether].dst = BROADCAST
    tagged = bytes(forged)[:12] + bytes.fromhex(f"{ether_type:04x}0000")
    with live.refusing() as refused:
        live.send_at(worker.port, tagged + bytes(forged)[12:])
        live.send_at(worker.port, tagged + bytes.fromhex("81002000") + bytes(forged)[12:])
        assert live.arrivals() == {}
    assert refused == {Refusal.TAG: 2}


def test_snap_hides_nothing(live: Live) -> None:
    """Hosts may take SNAP's content for Ethernet II's."""
    worker = live.cluster(1, merging=False).workers[0]
    forged = bytes(whole(ack(live, worker, gradient(6))))
    hidden = bytes.fromhex("aaaa03000000") + forged[12:]
    frame = bytes.fromhex("ff" * 6) + forged[6:12] + len(hidden).to_bytes(2, "big") + hidden
    with live.refusing() as refused:
        live.send_at(worker.port, frame)
        assert live.arrivals() == {}
    assert refused == {Refusal.TAG: 1}


def test_status_reports_what_was_refused_and_why(live: Live) -> None:
    before = _shown(live)
    live.send_at(live.server.port, update(live, live.cluster(1, merging=False).workers[0], gradient(9)))
    live.arrivals()
    assert _shown(live) == {**before, "reason port": before["reason port"] + 1}


def _shown(live: Live) -> dict[str, int]:
    """Return the refused frames in a status, by reason; of several engines the root's."""
    name = device_name(live.testbed, live.testbed.root.name, VNP4_1)
    table = read_status(live.store)["devices"][name]["tables"][REFUSALS]
    return {entry["key"]: entry["packets"] for entry in table["entries"]}


def _as_fragment(frame: Packet) -> Packet:
    return (
        Ether(src=frame.src, dst=frame.dst)
        / IP(src=frame[IP].src, dst=frame[IP].dst, flags="MF", proto=17)
        / Raw(bytes(frame[IP].payload)[:64])
    )


def _to_another_port(frame: Packet) -> Packet:
    return (
        Ether(src=frame.src, dst=frame.dst)
        / IP(src=frame[IP].src, dst=frame[IP].dst)
        / UDP(sport=9, dport=9)
        / bytes(frame[UDP].payload)
    )


@pytest.mark.parametrize("disguise", [_as_fragment, _to_another_port])
def test_a_disguise_does_not_help(live: Live, disguise: Callable[[Packet], Packet]) -> None:
    """A receiver's kernel would take a frame that bypasses the engine for the server's or the worker's."""
    worker = live.cluster(1, merging=False).workers[0]
    weights, gradients = ack(live, worker, gradient(6)), update(live, worker, gradient(6))
    with live.refusing() as refused:
        live.send_at(worker.port, disguise(weights))
        live.send_at(live.server.port, disguise(gradients))
        assert live.arrivals() == {}
    assert refused == {Refusal.PORT: 2}
    assert live.exchange((live.server, disguise(weights))) == {worker.port: [bytes(disguise(weights))]}


def test_a_worker_of_one_engine_is_not_believed_at_another(tree: Live) -> None:
    """Every engine knows the place of each worker, also of workers that are not behind it."""
    found = group(tree)
    here, there = found.pair[0], found.others[0]
    forged = update(tree, here, gradient(6))
    topology = Topology(tree.testbed)
    engine = topology.home(there)
    if engine == topology.home(here):
        pytest.skip("needs a cluster with workers at several engines")
    with tree.refusing(engine) as refused:
        tree.send(there, forged)
        assert tree.arrivals() == {}
    assert refused == {Refusal.PORT: 1}


def test_the_server_is_not_believed_below(tree: Live) -> None:
    found = group(tree)
    worker = found.pair[0]
    with tree.refusing(found.leaf) as refused:
        tree.send(worker, ack(tree, found.others[0], gradient(6)))
        tree.send(worker, ack(tree, worker, gradient(6)))
        assert tree.arrivals() == {}
    assert refused == {Refusal.PORT: 2}


def test_what_engines_have_merged_passes_the_ones_above(tree: Live) -> None:
    found = group(tree)
    one, other = found.pair
    with tree.refusing(root(tree)) as refused:
        with tree.held(found.leaf):
            tree.exchange((one, update(tree, one, gradient(1))), (other, update(tree, other, gradient(2))))
        assert list(tree.arrivals()) == [tree.server.port]
    assert not refused
