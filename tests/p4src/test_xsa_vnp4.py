"""The XSA forms of VNP4₁ and VNP4₂ against their v1model forms, frame for frame.

The v1model forms carry the XSA forms' user metadata in a shim, packet-in and packet-out headers, and they
replicate, which is the box's work next to the XSA forms.
"""

import zlib
from collections.abc import Mapping
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from olafctl.wire import layouts
from olafctl.wire.frames import mac_bits, pack_header, unpack_header
from olafctl.wire.layouts import CPU_PORT, QUEUE_PORT, FrameKind
from olafswitch.p4runtime.dataplane import Lpm, Replica
from tests.p4src.conftest import Programmer
from tests.p4src.frames import (
    CHILD,
    IPV4_TOS,
    NEIGHBOUR,
    NEIGHBOUR_PORT,
    SERVER,
    SERVER_PORT,
    STRANGER,
    STRANGER_PORT,
    WORKER,
    WORKER_PORT,
    make_ack,
    make_update,
    with_bytes,
    with_right_checksum,
)

DROP_PORT = 511
CLUSTERS = {5: 6, 9: 7}
"""Each cluster and the multicast group of its members."""
FLOOD_GROUP = 100
GROUPS = {
    6: (WORKER_PORT, NEIGHBOUR_PORT),
    7: (SERVER_PORT,),
    FLOOD_GROUP: (WORKER_PORT, NEIGHBOUR_PORT, SERVER_PORT),
}


class Pair:
    """One program in both forms, with the same entries."""

    def __init__(self, name: str) -> None:
        self._forms = Programmer(name), Programmer(f"{name}_xsa", "xsa")
        self.v1model, self.xsa = (form.switch for form in self._forms)

    def add(self, table: str, match: int | Lpm, action: str, **params: int) -> None:
        """Add an entry to a table with one key field; missing parameters are 0."""
        for form in self._forms:
            form.add(table, match, action, **params)


def five_tuple_crc(given: int) -> int:
    """Return the CRC-32 next to VNP4₁, of 104 bits."""
    return zlib.crc32(given.to_bytes(13, "big"))


@pytest.fixture(scope="module")
def vnp4_1() -> Pair:
    pair = Pair("vnp4_1")
    pair.xsa.on_user_extern("worker_hash", five_tuple_crc)
    known = {"cluster": 5, "worker": 77, "index": 10, "segments": 2, "member": 3, "epoch": 0, "port": 1}
    pair.add("workers", int(WORKER.ip), "assign", **known)
    pair.add("workers", int(NEIGHBOUR.ip), "assign", cluster=6, worker=0, segments=1, port=layouts.ANY_PORT)
    pair.add("parameter_servers", int(SERVER.ip), "admit", port=SERVER_PORT)
    pair.add("workers", int(CHILD.ip), "assign", cluster=5, segments=2, port=STRANGER_PORT)
    pair.add("links", STRANGER_PORT, "from_below")
    for reason in layouts.Refusal:
        pair.add("refusals", reason, "refuse")
    return pair


@pytest.fixture(scope="module")
def vnp4_2() -> Pair:
    pair = Pair("vnp4_2")
    for cluster, group in CLUSTERS.items():
        pair.add("cluster_multicast", cluster, "multicast", group=group)
    pair.add("results", 9, "broadcast", group=7)
    pair.add("results", 5, "to_parent", mac=mac_bits(SERVER.mac), dst_addr=int(SERVER.ip), src_addr=1)
    for group, ports in GROUPS.items():
        pair.v1model.set_multicast_group(group, [Replica(port, 0) for port in ports])
    pair.add("forwarding", Lpm(int(WORKER.ip) & 0xFFFFFF00, 24), "forward", port=SERVER_PORT)
    pair.add("forwarding", Lpm(int(WORKER.ip), 32), "forward", port=WORKER_PORT)
    pair.add("forwarding", Lpm(int(STRANGER.ip), 32), "forward", port=STRANGER_PORT)
    pair.add("bridging", mac_bits(WORKER.mac), "forward", port=WORKER_PORT)
    pair.add("bridging", (1 << 48) - 1, "flood", group=FLOOD_GROUP)
    return pair


def check_crossing(pair: Pair, port: int, frame: bytes) -> dict[str, int]:
    """Process a frame by both forms of VNP4₁, compare, and return the user metadata."""
    given = {"src": port, "size": len(frame)}
    packet_out = b""
    if port == CPU_PORT:
        given["dst"] = STRANGER_PORT
        packet_out = STRANGER_PORT.to_bytes(layouts.PACKET_OUT.size, "big")
    out, metadata = pair.xsa.process_with_metadata(frame, given)
    sent = pair.v1model.process(port, packet_out + frame)
    if out is None:
        assert (sent, metadata["drop"]) == ([], 1)
        return metadata
    [(out_port, expected)] = sent
    if metadata["punt"]:
        assert (out_port, expected) == (CPU_PORT, port.to_bytes(layouts.PACKET_IN.size, "big") + out)
    else:
        assert (out_port, expected[layouts.TUSER.size :]) == (QUEUE_PORT, out)
        assert unpack_header(layouts.TUSER, expected) == {
            name: metadata[name] for name in unpack_header(layouts.TUSER, expected)
        }
    return metadata


def check_leaving(pair: Pair, shim: Mapping[str, int], frame: bytes) -> dict[str, int]:
    """Process a frame from the queue by both forms of VNP4₂, compare, and return the user metadata."""
    out, metadata = pair.xsa.process_with_metadata(frame, shim)
    ports: list[int] = []
    if out is not None and metadata["group"]:
        back = None if metadata["kind"] in (FrameKind.ACK, FrameKind.RESULT) else metadata["src"]
        ports = [port for port in GROUPS.get(metadata["group"], ()) if port != back]
    elif out is not None and metadata["dst"] & DROP_PORT != DROP_PORT:
        ports = [metadata["dst"] & DROP_PORT]
    expected = pair.v1model.process(QUEUE_PORT, pack_header(layouts.TUSER, dict(shim)) + frame)
    assert expected == [(port, out) for port in ports]
    assert metadata["drop"] == (out is None)
    return metadata


# --- frames
_BASES = [
    *(make_update(source).encode() for source in (WORKER, NEIGHBOUR, STRANGER)),
    *(make_ack(destination).encode() for destination in (WORKER, NEIGHBOUR, STRANGER)),
    replace(
        make_ack(), flags=layouts.Flag.STATUS, status={field.name: 2 for field in layouts.STATUS.fields}
    ).encode(),
    make_update(WORKER, STRANGER).encode(),
    replace(make_update(CHILD), count=3, flags=layouts.Flag.AGGREGATED).encode(),
    replace(make_update(NEIGHBOUR), count=2).encode(),
    with_bytes(make_update().encode(), IPV4_TOS, b"\xfc"),
    with_bytes(make_update().encode(), 0, b"\xff" * 6),
]
_HEADERS = layouts.GRADIENT_OFFSET + 8


@st.composite
def frames(draw: st.DrawFn) -> bytes:
    """Draw random bytes, or a frame of Olaf's with some bytes of its headers changed, cut off or added."""
    if draw(st.integers(0, 9)) == 0:
        return draw(st.binary(max_size=120))
    frame = draw(st.sampled_from(_BASES))
    change = st.tuples(st.integers(0, _HEADERS - 1), st.binary(min_size=1, max_size=2))
    for offset, data in draw(st.lists(change, max_size=3)):
        frame = with_bytes(frame, offset, data)
    if draw(st.booleans()):
        frame = with_right_checksum(frame)
    if draw(st.booleans()):
        frame = frame[: draw(st.integers(0, len(frame)))]
    return frame + draw(st.binary(max_size=4))


@st.composite
def shims(draw: st.DrawFn) -> dict[str, int]:
    """Draw any tuser, often of a known kind, cluster and port."""
    usual = {
        "kind": st.sampled_from(list(FrameKind)),
        "cluster": st.sampled_from([0, *CLUSTERS]),
        "dst": st.sampled_from([0, 0, SERVER_PORT, DROP_PORT]),
        "src": st.sampled_from([WORKER_PORT, SERVER_PORT]),
        "occupancy": st.integers(0, 3),
    }
    made = {}
    for field in layouts.TUSER.fields:
        strategy = st.integers(0, (1 << field.bits) - 1)
        if field.name in usual:
            strategy = st.one_of(usual[field.name], usual[field.name], strategy)
        made[field.name] = int(draw(strategy))
    return made


@settings(max_examples=400)
@given(port=st.sampled_from([WORKER_PORT, SERVER_PORT, STRANGER_PORT, CPU_PORT]), frame=frames())
def test_vnp4_1_frame_for_frame(vnp4_1: Pair, port: int, frame: bytes) -> None:
    check_crossing(vnp4_1, port, frame)


@settings(max_examples=400)
@given(shim=shims(), frame=frames())
def test_vnp4_2_frame_for_frame(vnp4_2: Pair, shim: dict[str, int], frame: bytes) -> None:
    check_leaving(vnp4_2, shim, frame)


# --- cases that the random frames must not miss


def test_updates_acks_strangers_and_control_messages_differ(vnp4_1: Pair) -> None:
    kinds = [
        check_crossing(vnp4_1, WORKER_PORT, frame.encode())["kind"]
        for frame in (make_update(), make_ack(), make_update(STRANGER))
    ]
    assert kinds == [FrameKind.UPDATE, FrameKind.ACK, FrameKind.BYPASS]
    assert (
        check_crossing(vnp4_1, WORKER_PORT, with_bytes(make_update().encode(), IPV4_TOS, b"\xfc"))["punt"]
        == 1
    )
    assert check_crossing(vnp4_1, CPU_PORT, make_update().encode())["dst"] == STRANGER_PORT


def test_results_are_broadcast_or_go_to_the_parent(vnp4_2: Pair) -> None:
    shim = {field.name: 0 for field in layouts.TUSER.fields} | {"kind": int(FrameKind.RESULT)}
    assert check_leaving(vnp4_2, shim | {"cluster": 9}, make_update().encode())["group"] == 7
    assert check_leaving(vnp4_2, shim | {"cluster": 5}, make_update().encode())["dst"] == SERVER_PORT
    assert check_leaving(vnp4_2, shim | {"cluster": 6}, make_update().encode())["drop"] == 1


def test_acks_get_status_and_checksum_and_go_to_their_group(vnp4_2: Pair) -> None:
    shim = {field.name: 0 for field in layouts.TUSER.fields} | {
        "kind": int(FrameKind.ACK), "cluster": 5, "src": SERVER_PORT, "occupancy": 3,
    }  # fmt: skip
    metadata = check_leaving(vnp4_2, shim, make_ack().encode())
    assert (metadata["group"], metadata["rewritten"]) == (6, 1)
    flooded = check_leaving(vnp4_2, shim | {"kind": 0, "src": WORKER_PORT}, b"\xff" * 6 + bytes(54))
    assert flooded["group"] == FLOOD_GROUP
    assert check_leaving(vnp4_2, shim | {"kind": 0}, bytes(60))["drop"] == 1
