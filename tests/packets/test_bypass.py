"""Bypass (OLAF §7): frames but known hosts' updates and ACKs pass untouched, byte for byte."""

from dataclasses import replace
from ipaddress import IPv4Address
from typing import Any

import pytest
from scapy.layers.inet import ICMP, IP, TCP, UDP
from scapy.layers.inet6 import IPv6
from scapy.layers.l2 import ARP, Dot1Q, Ether
from scapy.packet import Packet, Raw

from olafctl.membership.model import Host
from tests.packets.frames import gradient, update, whole
from tests.packets.live import BROADCAST, Live, udp

ODD = bytes(range(256)) * 2 + b"\x01\x02\x03"


def ethernet(source: Host, destination: Host) -> Packet:
    return Ether(src=source.mac, dst=destination.mac)


def ip(source: Host, destination: Host, **fields: Any) -> Packet:
    return ethernet(source, destination) / IP(src=str(source.ip), dst=str(destination.ip), **fields)


def frames(source: Host, destination: Host) -> dict[str, Packet]:
    """Return traffic between two hosts that is not Olaf's."""
    return {
        "udp": udp(source, destination, 53) / Raw(ODD),
        "udp-with-checksum": ip(source, destination) / UDP(sport=1000, dport=2000) / Raw(ODD),
        "udp-with-wrong-checksum": ip(source, destination) / UDP(dport=2000, chksum=0xDEAD) / Raw(ODD),
        "udp-empty": ip(source, destination) / UDP(sport=1000, dport=2000),
        "tcp": ip(source, destination) / TCP(sport=1000, dport=20300, flags="PA", seq=7) / Raw(ODD),
        "icmp": ip(source, destination) / ICMP() / Raw(ODD),
        "ecn-and-dscp": ip(source, destination, tos=0xB9) / UDP(dport=2000) / Raw(ODD),
        "ip-options": ip(source, destination, options=[b"\x01\x01\x01\x00"]) / UDP(dport=20300) / Raw(ODD),
        "first-fragment": ip(source, destination, flags="MF") / UDP(dport=20300) / Raw(ODD),
        "later-fragment": ip(source, destination, frag=5, proto=17) / Raw(ODD),
        "wrong-ip-checksum": ip(source, destination, chksum=0xBEEF) / UDP(dport=2000) / Raw(ODD),
        "ttl-one": ip(source, destination, ttl=1) / UDP(dport=2000) / Raw(ODD),
        "ipv6": ethernet(source, destination)
        / IPv6(src="fe80::1", dst="fe80::2")
        / UDP(dport=20300)
        / Raw(ODD),
        "unicast-arp": ethernet(source, destination) / ARP(op=2, psrc="10.9.9.9", pdst="10.9.9.8"),
        "unknown-ethertype": Ether(src=source.mac, dst=destination.mac, type=0x9999) / Raw(ODD),
        "jumbo-of-nothing": ethernet(source, destination) / Raw(b"\0" * 1400),
    }


NAMES = list(frames(*(Host("h", 1, "02:00:00:00:00:01", IPv4Address("10.0.0.1"), 1),) * 2))


@pytest.mark.parametrize("name", NAMES)
def test_non_olaf_traffic_passes_byte_for_byte(live: Live, name: str) -> None:
    """Packets not matching any known worker or the PS bypass all model-related processing."""
    worker = live.cluster(1, merging=False).workers[0]
    sent = bytes(frames(worker, live.server)[name])
    with live.counting() as counted:
        assert live.exchange((worker, sent)) == {live.server.port: [sent]}
    assert counted["in_updates"] == 0


@pytest.mark.parametrize("name", ["udp", "tcp", "ipv6", "unicast-arp"])
def test_the_way_back_and_between_workers_is_bypass_as_well(live: Live, name: str) -> None:
    first, second = live.cluster(2, merging=False).workers[:2]
    for source, destination in ((live.server, first), (first, second)):
        sent = bytes(frames(source, destination)[name])
        assert live.exchange((source, sent)) == {destination.port: [sent]}


def test_an_update_of_an_unknown_worker_is_ordinary_traffic(live: Live) -> None:
    """VNP4₁ first checks whether they originate from known worker nodes by matching the source IP."""
    worker = live.cluster(1, merging=False).workers[0]
    stranger = replace(worker, ip=IPv4Address("203.0.113.7"))
    sent = bytes(update(live, stranger, gradient(1)))
    with live.counting() as counted, live.held():
        assert live.exchange((worker, sent)) == {live.server.port: [sent]}
    assert counted["in_updates"] == 0


def test_an_update_to_somebody_else_is_ordinary_traffic(live: Live) -> None:
    """Only between a known worker and a known parameter server is a frame an update."""
    first, second = live.cluster(2, merging=False).workers[:2]
    sent = update(live, first, gradient(1))
    sent[Ether].dst, sent[IP].dst = second.mac, str(second.ip)
    del sent[IP].chksum
    frame = bytes(whole(sent))
    with live.held():
        assert live.exchange((first, frame)) == {second.port: [frame]}


def test_a_broadcast_reaches_every_port_but_its_own(live: Live) -> None:
    worker = live.cluster(1, merging=False).workers[0]
    sent = bytes(Ether(src=worker.mac, dst=BROADCAST) / ARP(psrc=str(worker.ip), pdst=str(live.server.ip)))
    expected = {port: [sent] for port in live.ports if port != worker.port}
    assert live.exchange((worker, sent)) == expected


def test_a_vlan_tag_stays_where_it_is(live: Live) -> None:
    worker = live.cluster(1, merging=False).workers[0]
    sent = bytes(ethernet(worker, live.server) / Dot1Q(vlan=7) / IP() / UDP() / Raw(ODD))
    assert live.exchange((worker, sent)) == {live.server.port: [sent]}


def test_a_flow_is_never_reordered(live: Live) -> None:
    """Bypassing traffic keeps its order, whatever waits in the queue."""
    worker = live.cluster(1, merging=False).workers[0]
    # BMv2 itself drops frames to an egress port at which 64 frames wait, when its threads are late.
    sent = [
        bytes(udp(worker, live.server, 7) / Raw(nth.to_bytes(2, "big") * (nth % 60 + 1))) for nth in range(60)
    ]
    with live.held():
        live.exchange((worker, update(live, worker, gradient(1))))
        for frame in sent:
            live.send(worker, frame)
        assert live.arrivals() == {live.server.port: sent}
