"""VNP4₁, sentence by sentence (OLAF §4, §7): the sender and the kind of each frame."""

import itertools
import zlib
from collections.abc import Callable
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scapy.layers.inet import IP, TCP, UDP
from scapy.packet import Raw

from olafctl.wire import layouts
from olafctl.wire.frames import Endpoint, unpack_header
from olafctl.wire.layouts import QUEUE_PORT, Flag, FrameKind, Refusal
from olafswitch.p4.switch.native import NativeSwitch
from olafswitch.p4runtime.dataplane import Exact
from olaftest.frames import OlafFrame
from tests.p4src.frames import (
    BETWEEN,
    CHILD,
    ENGINE,
    EPOCH,
    FAR,
    IPV4,
    IPV4_CHECKSUM,
    IPV4_IDENTIFICATION,
    IPV4_LENGTH,
    IPV4_TOS,
    IPV4_TTL,
    LINK_PORT,
    NEIGHBOUR,
    NEIGHBOUR_PORT,
    OLAF,
    OTHER_LINK_PORT,
    PLAIN,
    SERVER,
    SERVER_PORT,
    STRANGER,
    STRANGER_PORT,
    WORKER,
    WORKER_PORT,
    make_ack,
    make_result,
    make_update,
    with_bytes,
    with_right_checksum,
)
from tests.packets.rule import FRAMES, TABLE, Fate, Name, RuleFrame, RulePlace, Verdict

PORTS = {WORKER: WORKER_PORT, NEIGHBOUR: NEIGHBOUR_PORT, SERVER: SERVER_PORT, CHILD: LINK_PORT}
SHIM = layouts.TUSER.size
REFUSALS = 0x02000003


def to_queue(switch: NativeSwitch, frame: bytes, port: int = WORKER_PORT) -> tuple[dict[str, int], bytes]:
    """Return the shim's fields and the frame behind them, after one frame went in and one came out."""
    [(out_port, out)] = switch.process(port, frame)
    assert out_port == QUEUE_PORT
    return unpack_header(layouts.TUSER, out), out[SHIM:]


def counted(switch: NativeSwitch, reason: Refusal) -> int:
    """Return the frames refused for this reason so far."""
    return switch.direct_counter(REFUSALS, (Exact(reason),), 0).packets


def refused(switch: NativeSwitch, reason: Refusal, frame: OlafFrame | bytes, port: int | None = None) -> bool:
    """Return whether the frame, by default from its sender's port, is dropped and counted under
    ``reason``."""
    if isinstance(frame, OlafFrame):
        port = PORTS[frame.source] if port is None else port
        frame = frame.encode()
    before = counted(switch, reason)
    return switch.process(port or WORKER_PORT, frame) == [] and counted(switch, reason) == before + 1


def kind_of(switch: NativeSwitch, frame: OlafFrame, port: int) -> FrameKind:
    """Return the kind that VNP4₁ gives the frame at that port."""
    return FrameKind(to_queue(switch, frame.encode(), port)[0]["kind"])


def test_updates_of_known_workers_get_cluster_and_worker_id(vnp4_1: NativeSwitch) -> None:
    frame = make_update().encode()
    shim, out = to_queue(vnp4_1, frame)
    assert (shim["kind"], shim["cluster"], shim["worker"]) == (FrameKind.UPDATE, 5, 77)
    assert (shim["size"], shim["src"], shim["dst"]) == (len(frame), WORKER_PORT, 0)
    assert out == frame


def test_an_update_is_of_its_segments_index_in_the_cluster(vnp4_1: NativeSwitch) -> None:
    for segment in range(4):
        shim, _ = to_queue(vnp4_1, replace(make_update(), segment=segment).encode())
        assert (shim["index"], shim["member"]) == (20 + segment, 3)


@pytest.mark.parametrize("make", [make_update, make_ack, make_result])
def test_a_segment_beyond_the_model_is_refused(vnp4_1: NativeSwitch, make: Callable[[], OlafFrame]) -> None:
    for segment in (4, 65535):
        assert refused(vnp4_1, Refusal.SEGMENT, replace(make(), segment=segment))


@pytest.mark.parametrize("make", [make_update, make_ack, make_result])
def test_a_frame_of_another_epoch_is_refused(vnp4_1: NativeSwitch, make: Callable[[], OlafFrame]) -> None:
    for epoch in (0, 1, 3, 15):
        assert refused(vnp4_1, Refusal.EPOCH, replace(make(), epoch=epoch))


def test_a_parent_engine_s_result_is_of_the_member_it_is_sent_to(vnp4_1: NativeSwitch) -> None:
    shim, _ = to_queue(vnp4_1, replace(make_result(), segment=1).encode(), SERVER_PORT)
    assert (shim["kind"], shim["cluster"], shim["index"]) == (FrameKind.RESULT, 5, 21)


def test_worker_id_zero_means_the_five_tuple_crc32(vnp4_1: NativeSwitch) -> None:
    shim, _ = to_queue(vnp4_1, make_update(NEIGHBOUR).encode(), NEIGHBOUR_PORT)
    five_tuple = (
        NEIGHBOUR.ip.packed
        + SERVER.ip.packed
        + b"\x11"
        + NEIGHBOUR.port.to_bytes(2, "big")
        + SERVER.port.to_bytes(2, "big")
    )
    assert shim["cluster"] == 6
    assert shim["worker"] == zlib.crc32(five_tuple)


def test_acks_of_the_server_carry_the_cluster_of_their_worker(vnp4_1: NativeSwitch) -> None:
    frame = make_ack().encode()
    shim, out = to_queue(vnp4_1, frame, port=10)
    assert (shim["kind"], shim["cluster"], shim["worker"]) == (FrameKind.ACK, 5, 77)
    assert out == frame


def test_truncated_frames_bypass_and_leave_no_stale_fields(vnp4_1: NativeSwitch) -> None:
    whole = make_update().encode()
    for length in range(1, OLAF + layouts.OLAF.size):
        shim, _ = to_queue(vnp4_1, whole)
        assert shim["kind"] == FrameKind.UPDATE
        shim, out = to_queue(vnp4_1, whole[:length])
        assert (shim["kind"], shim["cluster"], shim["worker"], shim["size"]) == (
            FrameKind.BYPASS,
            0,
            0,
            length,
        )
        assert out == whole[:length]


CAST: dict[Name, tuple[Endpoint, int]] = {
    Name.WORKER: (WORKER, WORKER_PORT),
    Name.SERVER: (SERVER, SERVER_PORT),
    Name.ENGINE: (ENGINE, 0),
    Name.BETWEEN: (CHILD, LINK_PORT),
    Name.UNUSED: (BETWEEN, 0),
    Name.UNKNOWN: (STRANGER, 0),
}
"""The owners of the addresses here, and their places."""
OWN = {RulePlace.OWN, RulePlace.LINK}
TAKEN_FOR: dict[Verdict, set[FrameKind]] = {
    Fate.PASSES: {FrameKind.BYPASS},
    Fate.QUEUE: {FrameKind.UPDATE},
    Fate.MEMBERS: {FrameKind.ACK, FrameKind.RESULT},
}


@pytest.mark.parametrize(
    ("name", "place", "kind"), [key for key in TABLE if key[0] in CAST and key[2] in FRAMES]
)
def test_the_rule_holds_at_every_port_and_link(
    vnp4_1: NativeSwitch, name: Name, place: RulePlace, kind: RuleFrame
) -> None:
    source, own = CAST[name]
    ports = {WORKER_PORT, NEIGHBOUR_PORT, SERVER_PORT, STRANGER_PORT} - {own}
    if place is RulePlace.BELOW:
        ports = {LINK_PORT, OTHER_LINK_PORT} - {own}
    elif place in OWN:
        ports = {own}
    verdict = TABLE[name, place, kind]
    frames = {
        RuleFrame.UPDATE: [make_update(source), make_update(source, ENGINE)],
        RuleFrame.ANSWER: [make_ack(WORKER, source), make_result(WORKER, source)],
        RuleFrame.OTHER: [replace(make_update(source), frame_type=layouts.FrameType.INIT)],
    }
    for port, frame in itertools.product(ports, frames[kind]):
        frame = replace(frame, epoch=EPOCH, count=1)
        if verdict is Refusal.PORT:
            assert refused(vnp4_1, Refusal.PORT, frame, port)
            assert refused(vnp4_1, Refusal.PORT, replace(frame, epoch=9, count=9, flags=1), port)
        else:
            assert kind_of(vnp4_1, frame, port) in TAKEN_FOR[verdict]


def test_an_update_to_a_foreign_destination_is_refused(vnp4_1: NativeSwitch) -> None:
    """This holds for updates from below, too: updates merged with one go where its header says."""
    for wrong in (replace(SERVER, mac=STRANGER.mac), replace(SERVER, port=41002)):
        frame = replace(make_update(), source=replace(WORKER, port=layouts.UDP_PORT), destination=wrong)
        assert refused(vnp4_1, Refusal.DESTINATION, frame, WORKER_PORT)
        assert refused(vnp4_1, Refusal.DESTINATION, replace(frame, count=5), LINK_PORT)


def test_snap_hides_nothing(vnp4_1: NativeSwitch) -> None:
    """Hosts may take its content for Ethernet II's; other frames with a length concern no engine."""
    frame = make_update().encode()
    for head in ("aaaa03000000", "aaaa030000f8"):
        payload = bytes.fromhex(head) + frame[12:]
        hidden = frame[:12] + len(payload).to_bytes(2, "big") + payload
        assert refused(vnp4_1, Refusal.TAG, hidden, NEIGHBOUR_PORT)
    for head in ("424203000000", "aaaa0300000c", "fefe03831b01"):
        payload = bytes.fromhex(head) + bytes(60)
        other = frame[:12] + len(payload).to_bytes(2, "big") + payload
        assert to_queue(vnp4_1, other, NEIGHBOUR_PORT)[1] == other
    for length in range(14, 22):
        assert to_queue(vnp4_1, hidden[:length], NEIGHBOUR_PORT)[1] == hidden[:length]


@pytest.mark.parametrize("ether_type", [0x8100, 0x88A8, 0x9100])
def test_what_is_under_a_tag_of_no_vlan_is_refused(vnp4_1: NativeSwitch, ether_type: int) -> None:
    """A host removes such tags; tags of VLANs do not concern the engine, whatever is under them."""
    frame = make_update().encode()
    for tci in (0, 7 << 13, 1 << 12):
        tagged = frame[:12] + vlan_tag(ether_type, tci) + frame[12:]
        assert refused(vnp4_1, Refusal.TAG, tagged, NEIGHBOUR_PORT)
        nested = frame[:12] + vlan_tag(ether_type, tci) + vlan_tag(0x8100, 5) + frame[12:]
        assert refused(vnp4_1, Refusal.TAG, nested, NEIGHBOUR_PORT)
    for vlan in (1, 7, 4095):
        tagged = frame[:12] + vlan_tag(ether_type, vlan) + frame[12:]
        shim, out = to_queue(vnp4_1, tagged, NEIGHBOUR_PORT)
        assert (shim["kind"], out) == (FrameKind.BYPASS, tagged)


def vlan_tag(ether_type: int, tci: int) -> bytes:
    return ether_type.to_bytes(2, "big") + tci.to_bytes(2, "big")


@pytest.mark.parametrize(("source", "port"), [(WORKER, NEIGHBOUR_PORT), (SERVER, WORKER_PORT)])
def test_other_traffic_in_the_name_of_a_member_is_refused_too(
    vnp4_1: NativeSwitch, source: Endpoint, port: int
) -> None:
    """Otherwise an update in two fragments, or an ACK to another UDP port, would pass the engine by."""
    header = IP(src=str(source.ip), dst=str(STRANGER.ip))
    for frame in (
        PLAIN / header / UDP(dport=53),
        PLAIN / header / TCP(),
        PLAIN / IP(src=str(source.ip), flags="MF", proto=17) / Raw(bytes(40)),
        PLAIN / IP(src=str(source.ip), options=b"\x01\x01\x01\x00") / UDP(dport=20300),
        replace(make_update(source, STRANGER), frame_type=layouts.FrameType.INIT).encode(),
    ):
        assert refused(vnp4_1, Refusal.PORT, bytes(frame), port)
        [(out, _)] = vnp4_1.process(PORTS[source], bytes(frame))
        assert out == QUEUE_PORT


def test_a_worker_elsewhere_is_valid_where_its_frames_come_from(
    vnp4_1: NativeSwitch,
) -> None:
    assert refused(vnp4_1, Refusal.PORT, make_update(FAR), WORKER_PORT)
    assert kind_of(vnp4_1, make_update(FAR), SERVER_PORT) == FrameKind.BYPASS


def test_only_an_engine_below_may_count_others_in(vnp4_1: NativeSwitch) -> None:
    summed = Flag.SUMMED
    assert kind_of(vnp4_1, replace(make_update(), flags=summed), WORKER_PORT) == FrameKind.UPDATE
    for count, flags in ((0, 0), (2, 0), (65535, 0), (1, 1), (3, 1), (1, Flag.STATUS), (1, 8), (2, summed)):
        merged = replace(make_update(), count=count, flags=flags)
        assert refused(vnp4_1, Refusal.MERGED, merged)
        assert kind_of(vnp4_1, merged, LINK_PORT) == FrameKind.UPDATE
        assert kind_of(vnp4_1, replace(make_ack(), count=count, flags=flags), SERVER_PORT) == FrameKind.ACK


@pytest.mark.parametrize("make", [make_update, make_ack, make_result])
def test_what_a_receiver_would_drop_is_refused(vnp4_1: NativeSwitch, make: Callable[[], OlafFrame]) -> None:
    """The receiver would drop the sum with it."""
    port = PORTS[make().source]
    frame = make().encode()
    for length in (28, 0, len(frame) - IPV4 - 1, len(frame) - IPV4 + 1):
        wrong = with_right_checksum(with_bytes(frame, IPV4_LENGTH, length.to_bytes(2, "big")))
        assert refused(vnp4_1, Refusal.LENGTH, wrong, port)
    right = int.from_bytes(frame[IPV4_CHECKSUM : IPV4_CHECKSUM + 2], "big")
    for checksum in (right ^ 1, right ^ 0x8000, right - 1, ~right & 0xFFFF):
        wrong = with_bytes(frame, IPV4_CHECKSUM, checksum.to_bytes(2, "big"))
        assert refused(vnp4_1, Refusal.CHECKSUM, wrong, port)
    late = with_right_checksum(with_bytes(frame, IPV4_TTL, b"\0"))
    assert refused(vnp4_1, Refusal.TTL, late, port)
    kind_of(vnp4_1, make(), port)


@given(
    identification=st.integers(0, 0xFFFF), ttl=st.integers(1, 255), tos=st.integers(0, 0xFB),
    wrong=st.integers(1, 0xFFFE),
)  # fmt: skip
def test_of_any_header_the_right_checksum_alone_is_taken(
    vnp4_1: NativeSwitch, identification: int, ttl: int, tos: int, wrong: int
) -> None:
    frame = make_update().encode()
    for at, field in (
        (IPV4_TOS, tos.to_bytes(1, "big")),
        (IPV4_IDENTIFICATION, identification.to_bytes(2, "big")),
        (IPV4_TTL, ttl.to_bytes(1, "big")),
    ):
        frame = with_bytes(frame, at, field)
    frame = with_right_checksum(frame)
    assert to_queue(vnp4_1, frame)[1] == frame
    right = int.from_bytes(frame[IPV4_CHECKSUM : IPV4_CHECKSUM + 2], "big")
    other = (right + wrong) % 0xFFFF  # 0 and 0xFFFF are one number in ones' complement
    assert refused(vnp4_1, Refusal.CHECKSUM, with_bytes(frame, IPV4_CHECKSUM, other.to_bytes(2, "big")))
