"""Hosts at an engine's socket ports come and go at any time; their frames are forwarded or counted."""

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from queue import SimpleQueue
from socket import SOCK_SEQPACKET

import pytest

from olafswitch.engine.device import EngineSwitch
from olafswitch.engine.engine import Engine
from olafswitch.p4.compiler import compile_program
from olafswitch.ports import unix
from olafswitch.ports.host import UnixHostPort

from .conftest import why_not

pytestmark = pytest.mark.skipif(why_not("twin") is not None, reason=str(why_not("twin")))

SOON = 60.0
CPU = 510
MOST = 16384
FRAME = bytes(range(60))
TAG = b"\x12\x34"

# From port 1 to 2 and back, from the control plane to 1, from 3 to the control plane with a tag in front.
PROGRAM = """
#include <core.p4>
#include <v1model.p4>
header tag_t { bit<16> value; }
struct headers_t { tag_t tag; }
struct meta_t { }
parser P(packet_in packet, out headers_t hdr, inout meta_t meta, inout standard_metadata_t standard) {
    state start { transition accept; }
}
control Check(inout headers_t hdr, inout meta_t meta) { apply { } }
control Switch(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t standard) {
    apply {
        if (standard.ingress_port == 1) { standard.egress_spec = 2; }
        else if (standard.ingress_port == 3) {
            standard.egress_spec = 510;
            hdr.tag.setValid();
            hdr.tag.value = 0x1234;
        } else { standard.egress_spec = 1; }
    }
}
control Leave(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t standard) { apply { } }
control Compute(inout headers_t hdr, inout meta_t meta) { apply { } }
control Deparse(packet_out packet, in headers_t hdr) { apply { packet.emit(hdr.tag); } }
V1Switch(P(), Check(), Switch(), Leave(), Compute(), Deparse()) main;
"""


@dataclass
class Lone:
    """A switch of three socket ports whose engine is not started yet."""

    engine: Engine
    switch: EngineSwitch
    folder: Path

    def host(self, port: int) -> UnixHostPort:
        return UnixHostPort(self.folder / f"{port}.sock")


@pytest.fixture
def lone(tmp_path: Path) -> Iterator[Lone]:
    (tmp_path / "program.p4").write_text(PROGRAM)
    program = compile_program(tmp_path / "program.p4", optimize="-O1")
    engine = Engine()
    engine.wire_switch(CPU)
    switch = EngineSwitch(engine, 0, CPU)
    switch.commit(switch.prepare(program.p4info, program.device_config))
    for port in (1, 2, 3):
        engine.add_socket(port, unix.listen_at(tmp_path / f"{port}.sock", SOCK_SEQPACKET))
    yield Lone(engine, switch, tmp_path)
    switch.close()
    engine.close()


def sockets() -> set[int]:
    """Return the descriptors of this process, in which the engine runs."""
    links = (link for link in Path("/proc/self/fd").iterdir() if link.is_socket())
    return {int(link.name) for link in links}


def test_a_host_may_leave_while_its_socket_lives_on_elsewhere(lone: Lone) -> None:
    """The socket lives in a process that is just being forked, for instance to compile a pushed program."""
    lone.engine.start()
    receiver, first = lone.host(2), lone.host(1)
    first.send(FRAME)
    assert receiver.receive(SOON) == FRAME
    known = sockets()
    leaving = lone.host(1)
    leaving.send(FRAME)
    assert receiver.receive(SOON) == FRAME
    (accepted,) = sockets() - known - {leaving.fileno()}
    held = os.dup(accepted)
    try:
        leaving.close()
        for _ in range(100):
            staying = lone.host(1)
            staying.send(FRAME)
            assert receiver.receive(SOON) == FRAME
            lone.switch.packet_out(FRAME)
            assert staying.receive(SOON) == FRAME
            staying.close()
    finally:
        os.close(held)


def test_what_a_host_sent_before_it_left_is_forwarded(lone: Lone) -> None:
    receiver, leaving = lone.host(2), lone.host(1)
    lone.switch.packet_out(FRAME)
    for size in range(60, 80):
        leaving.send(bytes(size))
    leaving.close()
    lone.engine.start()
    assert [len(receiver.receive(SOON) or b"") for _ in range(20)] == list(range(60, 80))


def test_an_empty_frame_is_counted_and_the_connection_stays(lone: Lone) -> None:
    receiver, sender = lone.host(2), lone.host(1)
    for frame in (FRAME, b"", FRAME[:1], b"", FRAME):
        sender.send(frame)
    lone.engine.start()
    assert [receiver.receive(SOON) for _ in range(3)] == [FRAME, FRAME[:1], FRAME]
    sender.send(b"")
    sender.send(FRAME)
    sender.close()
    assert receiver.receive(SOON) == FRAME
    stats = lone.engine.port_stats(1)
    assert (stats.rx_frames, stats.rx_dropped) == (4, 3)


def test_the_longest_frame_reaches_the_control_plane(lone: Lone) -> None:
    arrived: SimpleQueue[bytes] = SimpleQueue()
    lone.switch.on_packet_in(arrived.put)
    lone.engine.start()
    lone.host(3).send(bytes(MOST))
    assert arrived.get(timeout=SOON) == TAG + bytes(MOST)
    assert lone.engine.losses().packet_ins == 0
