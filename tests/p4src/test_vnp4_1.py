"""VNP4₁, sentence by sentence (OLAF §4, §7): who sent this frame, and what is it?"""

import zlib
from collections.abc import Callable
from dataclasses import replace

import pytest
from scapy.layers.inet import ICMP, IP, TCP, UDP
from scapy.layers.l2 import ARP, Dot1Q
from scapy.packet import Raw

from olafctl.p4.switch.native import NativeSwitch
from olafctl.p4runtime.dataplane import Exact
from olafctl.wire import layouts
from olafctl.wire.frames import OlafFrame, pack, unpack
from olafctl.wire.layouts import CPU_PORT, QUEUE_PORT, Kind, Refusal
from tests.p4src.frames import (
    IPV4_FLAGS,
    IPV4_TOS,
    NEIGHBOUR,
    OLAF,
    PLAIN,
    SERVER,
    SERVER_PORT,
    STRANGER,
    UDP_CHECKSUM,
    WORKER,
    WORKER_PORT,
    ack,
    result,
    update,
    with_bytes,
)

SHIM = layouts.TUSER.size
REFUSALS = 0x02000003


def to_queue(switch: NativeSwitch, frame: bytes, port: int = WORKER_PORT) -> tuple[dict[str, int], bytes]:
    """The shim's fields and the frame behind them, after one frame went in and one came out."""
    [(out_port, out)] = switch.process(port, frame)
    assert out_port == QUEUE_PORT
    return unpack(layouts.TUSER, out), out[SHIM:]


def counted(switch: NativeSwitch, reason: Refusal) -> int:
    """Frames refused for this reason so far."""
    return switch.direct_counter(REFUSALS, (Exact(reason),), 0).packets


def refused(switch: NativeSwitch, reason: Refusal, frame: OlafFrame) -> bool:
    """Whether the frame is dropped, and counted under ``reason``."""
    before = counted(switch, reason)
    return switch.process(WORKER_PORT, frame.encode()) == [] and counted(switch, reason) == before + 1


def test_updates_of_known_workers_go_to_the_queue_with_cluster_and_worker_id(vnp4_1: NativeSwitch) -> None:
    frame = update().encode()
    shim, out = to_queue(vnp4_1, frame)
    assert (shim["kind"], shim["cluster"], shim["worker"]) == (Kind.UPDATE, 5, 77)
    assert (shim["size"], shim["src"], shim["dst"]) == (len(frame), WORKER_PORT, 0)
    assert out == frame


def test_an_update_is_of_the_index_that_its_segment_has_in_the_cluster(vnp4_1: NativeSwitch) -> None:
    for segment in range(4):
        shim, _ = to_queue(vnp4_1, replace(update(), segment=segment).encode())
        assert (shim["index"], shim["member"]) == (20 + segment, 3)


@pytest.mark.parametrize("make", [update, ack, result])
def test_a_segment_beyond_the_model_is_refused(vnp4_1: NativeSwitch, make: Callable[[], OlafFrame]) -> None:
    for segment in (4, 65535):
        assert refused(vnp4_1, Refusal.SEGMENT, replace(make(), segment=segment))


@pytest.mark.parametrize("make", [update, ack, result])
def test_a_frame_of_another_epoch_is_refused(vnp4_1: NativeSwitch, make: Callable[[], OlafFrame]) -> None:
    for epoch in (0, 1, 3, 15):
        assert refused(vnp4_1, Refusal.EPOCH, replace(make(), epoch=epoch))


def test_a_stranger_s_epoch_and_segment_do_not_matter(vnp4_1: NativeSwitch) -> None:
    shim, _ = to_queue(vnp4_1, replace(update(STRANGER), epoch=9, segment=9).encode())
    assert shim["kind"] == Kind.BYPASS


def test_a_parent_engine_s_result_is_of_the_member_it_is_sent_to(vnp4_1: NativeSwitch) -> None:
    shim, _ = to_queue(vnp4_1, replace(result(), segment=1).encode(), SERVER_PORT)
    assert (shim["kind"], shim["cluster"], shim["index"]) == (Kind.RESULT, 5, 21)


def test_worker_id_zero_means_the_five_tuple_crc32(vnp4_1: NativeSwitch) -> None:
    shim, _ = to_queue(vnp4_1, update(NEIGHBOUR).encode())
    five_tuple = (
        NEIGHBOUR.ip.packed
        + SERVER.ip.packed
        + b"\x11"
        + NEIGHBOUR.port.to_bytes(2, "big")
        + SERVER.port.to_bytes(2, "big")
    )
    assert shim["cluster"] == 6
    assert shim["worker"] == zlib.crc32(five_tuple)


def test_acks_of_the_parameter_server_carry_the_cluster_of_their_worker(vnp4_1: NativeSwitch) -> None:
    frame = ack().encode()
    shim, out = to_queue(vnp4_1, frame, port=10)
    assert (shim["kind"], shim["cluster"], shim["worker"]) == (Kind.ACK, 5, 77)
    assert out == frame


@pytest.mark.parametrize(
    ("subject", "frame"),
    [
        ("an update of an unknown worker", update(STRANGER).encode()),
        ("an update to what is no parameter server", update(WORKER, STRANGER).encode()),
        ("an ack from what is no parameter server", ack(WORKER, STRANGER).encode()),
        ("an ack to an unknown worker", ack(STRANGER).encode()),
        ("another Olaf version", with_bytes(update().encode(), OLAF, b"\x21")),
        ("an unknown Olaf type", with_bytes(update().encode(), OLAF, b"\x17")),
        ("a first fragment", with_bytes(update().encode(), IPV4_FLAGS, b"\x20\x00")),
        ("a later fragment", with_bytes(update().encode(), IPV4_FLAGS, b"\x00\x05")),
        ("ARP", bytes(PLAIN / ARP())),
        ("ICMP", bytes(PLAIN / IP(dst="10.0.0.254") / ICMP() / Raw(b"ping"))),
        ("TCP to the Olaf port", bytes(PLAIN / IP() / TCP(dport=layouts.UDP_PORT) / Raw(bytes(64)))),
        ("another UDP port", bytes(PLAIN / IP(src=str(WORKER.ip)) / UDP(dport=53) / Raw(bytes(64)))),
        (
            "IPv4 options",
            bytes(PLAIN / IP(options=b"\x01\x01\x01\x00") / UDP(dport=20300) / Raw(bytes(40))),
        ),
        ("a VLAN tag", bytes(PLAIN / Dot1Q(vlan=3) / IP() / UDP(dport=20300) / Raw(bytes(40)))),
        ("a jumbo of unknown hosts", bytes(PLAIN / Raw(bytes(range(256)) * 35))),
    ],
)
def test_what_is_not_olaf_bypasses_byte_for_byte(vnp4_1: NativeSwitch, subject: str, frame: bytes) -> None:
    shim, out = to_queue(vnp4_1, frame)
    assert (shim["kind"], shim["cluster"], shim["worker"]) == (Kind.BYPASS, 0, 0), subject
    assert out == frame


def test_truncated_frames_bypass_byte_for_byte_and_leave_no_stale_fields(vnp4_1: NativeSwitch) -> None:
    whole = update().encode()
    for length in range(1, OLAF + layouts.OLAF.size):
        shim, _ = to_queue(vnp4_1, whole)
        assert shim["kind"] == Kind.UPDATE
        shim, out = to_queue(vnp4_1, whole[:length])
        assert (shim["kind"], shim["cluster"], shim["worker"], shim["size"]) == (Kind.BYPASS, 0, 0, length)
        assert out == whole[:length]


def test_an_update_with_a_udp_checksum_loses_it_because_its_payload_may_change(vnp4_1: NativeSwitch) -> None:
    frame = update().encode()
    _, out = to_queue(vnp4_1, with_bytes(frame, UDP_CHECKSUM, b"\xab\xcd"))
    assert out == frame


def test_reserved_tos_goes_to_the_control_plane_with_its_port(vnp4_1: NativeSwitch) -> None:
    frame = with_bytes(update().encode(), IPV4_TOS, bytes([layouts.CONTROL_TOS]))
    [(port, out)] = vnp4_1.process(4, frame)
    assert port == CPU_PORT
    assert out == pack(layouts.PACKET_IN, {"ingress_port": 4}) + frame


def test_a_packet_out_passes_the_queue_to_its_port(vnp4_1: NativeSwitch) -> None:
    frame = bytes(PLAIN / Raw(b"from the control plane"))
    shim, out = to_queue(vnp4_1, pack(layouts.PACKET_OUT, {"egress_port": 9}) + frame, port=CPU_PORT)
    assert (shim["kind"], shim["dst"], shim["size"]) == (Kind.BYPASS, 9, len(frame))
    assert out == frame
