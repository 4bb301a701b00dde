"""VNP4₂, sentence by sentence (OLAF §5, §7): status into ACKs, ACKs to the cluster, the rest forwarded."""

from dataclasses import replace

import pytest
from scapy.layers.inet import IP, UDP
from scapy.layers.l2 import Ether
from scapy.packet import Raw

from olafctl.wire import layouts
from olafctl.wire.frames import pack_header
from olafctl.wire.layouts import QUEUE_PORT, Flag, FrameKind
from olafswitch.p4.switch.native import NativeSwitch
from olaftest.frames import OlafFrame
from tests.p4src.frames import (
    PLAIN,
    STRANGER,
    STRANGER_PORT,
    WORKER,
    WORKER_PORT,
    make_ack,
    make_update,
)

STATUS = {"occupancy": 6, "active_clusters": 9, "slots": 8, "flags": 2}


def from_queue(kind: FrameKind, frame: bytes, cluster: int = 5, src: int = 0, dst: int = 0) -> bytes:
    """Return ``frame`` behind the shim of OlafQueue."""
    values = {
        "size": len(frame),
        "src": src,
        "dst": dst,
        "kind": kind,
        "cluster": cluster,
        "occupancy": STATUS["occupancy"],
        "active_clusters": STATUS["active_clusters"],
        "slots": STATUS["slots"],
        "status_flags": STATUS["flags"],
    }
    return pack_header(layouts.TUSER, values) + frame


@pytest.mark.parametrize(
    ("upstream", "kept"),
    [
        ({"slots": 4, "active_clusters": 2}, "ours"),  # 2 against 8/9 slots an active index
        ({"slots": 4, "active_clusters": 5}, "theirs"),  # 4/5
        ({"slots": 8, "active_clusters": 9}, "theirs"),  # equally tight: the first stays
        ({"slots": 4, "active_clusters": 0}, "ours"),  # nothing is active there
    ],
)
def test_of_two_engines_the_one_with_fewer_slots_is_reported(
    vnp4_2: NativeSwitch, upstream: dict[str, int], kept: str
) -> None:
    status = {"occupancy": 3, "flags": 0, **upstream}
    sent = replace(make_ack(), flags=int(Flag.STATUS), status=status)
    [(_, copy), _] = vnp4_2.process(QUEUE_PORT, from_queue(FrameKind.ACK, sent.encode()))
    assert OlafFrame.decode(copy).status == (STATUS if kept == "ours" else status)


def test_a_completed_round_without_members_is_dropped(vnp4_2: NativeSwitch) -> None:
    assert vnp4_2.process(QUEUE_PORT, from_queue(FrameKind.RESULT, make_update().encode(), cluster=8)) == []


def test_an_ack_of_a_cluster_without_a_group_goes_to_its_worker(vnp4_2: NativeSwitch) -> None:
    sent = make_ack()
    expected = replace(sent, flags=int(Flag.STATUS), status=STATUS).encode()
    out = vnp4_2.process(QUEUE_PORT, from_queue(FrameKind.ACK, sent.encode(), cluster=9))
    assert out == [(WORKER_PORT, expected)]


def test_other_ip_traffic_follows_the_longest_prefix_untouched(vnp4_2: NativeSwitch) -> None:
    frame = bytes(PLAIN / IP(dst=str(STRANGER.ip), ttl=1) / UDP(dport=53) / Raw(bytes(100)))
    assert vnp4_2.process(QUEUE_PORT, from_queue(FrameKind.BYPASS, frame)) == [(STRANGER_PORT, frame)]


def test_other_traffic_is_bridged_by_its_mac_or_dropped(vnp4_2: NativeSwitch) -> None:
    known = bytes(Ether(dst=WORKER.mac, type=0x88B5) / Raw(b"x" * 50))
    unknown = bytes(Ether(dst="02:00:00:00:00:77", type=0x88B5) / Raw(b"x" * 50))
    assert vnp4_2.process(QUEUE_PORT, from_queue(FrameKind.BYPASS, known)) == [(WORKER_PORT, known)]
    assert vnp4_2.process(QUEUE_PORT, from_queue(FrameKind.BYPASS, unknown)) == []


def test_a_port_chosen_upstream_wins_over_the_tables(vnp4_2: NativeSwitch) -> None:
    frame = bytes(Ether(dst=WORKER.mac) / IP(dst=str(WORKER.ip)) / Raw(b"hello"))
    assert vnp4_2.process(QUEUE_PORT, from_queue(FrameKind.BYPASS, frame, dst=9)) == [(9, frame)]


def test_frames_of_front_ports_or_without_a_shim_are_dropped(vnp4_2: NativeSwitch) -> None:
    frame = from_queue(FrameKind.ACK, make_ack().encode())
    assert vnp4_2.process(WORKER_PORT, frame) == []
    for length in range(1, layouts.TUSER.size):
        assert vnp4_2.process(QUEUE_PORT, frame[:length]) == []


def test_truncated_frames_behind_a_shim_never_gain_a_status(vnp4_2: NativeSwitch) -> None:
    whole = make_ack().encode()
    for length in range(1, layouts.GRADIENT_OFFSET):
        for _, out in vnp4_2.process(QUEUE_PORT, from_queue(FrameKind.ACK, whole[:length])):
            assert out == whole[:length]
