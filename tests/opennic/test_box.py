"""The whole box, with the project's own P4 as Verilog, sends the frames that the twin sends."""

import random
from collections.abc import Iterator
from dataclasses import replace

import pytest
from scapy.layers.inet import IP, UDP
from scapy.layers.l2 import ARP, Ether
from scapy.packet import Raw

from olafctl.targets.opennic.registers import HOST_ETHER_TYPE, HOST_HEADER_BYTES
from olafctl.targets.opennic_sim.box import Box
from olafctl.wire import layouts
from olafctl.wire.layouts import CPU_PORT
from olafctl.wire.modes import Mode
from olafswitch.p4.hardware.driver import SLOT
from olafswitch.simulation.bench import Received
from olaftest.opennic.random_frames import (
    QUEUE,
    SERVERS_PORT,
    WORKERS_PORT,
    Twin,
    compile_blocks,
    open_programmed_box,
)
from tests.p4src.frames import (
    IPV4_TOS,
    NEIGHBOUR,
    SERVER,
    STRANGER,
    WORKER,
    make_ack,
    make_result,
    make_update,
    with_bytes,
)

TWIN = Twin()


@pytest.fixture
def box() -> Iterator[Box]:
    made = open_programmed_box()
    made.queue.write("mode", Mode.OLAF.number)
    yield made
    made.close()


def random_frame(pick: random.Random) -> bytes:
    """Return a random frame other than an update: an ACK, a control message, traffic or a flood."""
    size = pick.choice([60, 64, 65, 128, 129, 1500, 9036, pick.randint(60, 9036)])
    payload = Raw(pick.randbytes(max(0, size - 42)))
    plain = Ether(src=STRANGER.mac, dst=SERVER.mac)
    ip = IP(src=str(STRANGER.ip), dst=pick.choice([str(SERVER.ip), str(WORKER.ip), "10.9.9.9"]))
    answer = replace(make_ack(), gradient=make_update(values=pick.randint(0, 2240)).gradient).encode()
    return pick.choice(
        [
            answer,
            make_result().encode(),
            with_bytes(answer, 24, b"\x12\x34"),
            with_bytes(
                bytes(plain / ip / UDP(sport=5, dport=6) / payload), IPV4_TOS, bytes([layouts.CONTROL_TOS])
            ),
            bytes(plain / ip / UDP(sport=5, dport=6) / payload),
            bytes(Ether(src=STRANGER.mac, dst="ff:ff:ff:ff:ff:ff") / ARP()).ljust(60, b"\0"),
            bytes(Ether(src=STRANGER.mac, dst=WORKER.mac, type=0x1234) / payload),
        ]
    )


def packet_in(frame: Received) -> bytes:
    """Remove the host header; the port and the frame stay."""
    assert frame.data[:6] == b"\xff" * 6
    assert int.from_bytes(frame.data[12:14], "big") == HOST_ETHER_TYPE
    return frame.data[HOST_HEADER_BYTES - 2 :]


def packet_out(port: int, frame: bytes) -> bytes:
    """Return a control-plane frame as the host sends it."""
    return bytes(12) + HOST_ETHER_TYPE.to_bytes(2, "big") + port.to_bytes(2, "big") + frame


def collect_leaving(box: Box) -> dict[int, list[bytes]]:
    """Return all frames that left, by front port; each has its true size and the right destination."""
    left: dict[int, list[bytes]] = {WORKERS_PORT: [], SERVERS_PORT: [], CPU_PORT: []}
    for number, sink in enumerate(box.tx):
        for frame in sink.frames():
            assert frame.user == (len(frame.data), 0, 1 << (6 + number))
            left[number + 1].append(frame.data)
    for frame in box.c2h.frames():
        assert frame.user == (len(frame.data), 0, 0)
        left[CPU_PORT].append(packet_in(frame))
    return left


def twin_sends(frames: list[tuple[int, bytes]]) -> dict[int, list[bytes]]:
    """Run these frames through the twin's programs, and return the output by front port."""
    made: dict[int, list[bytes]] = {WORKERS_PORT: [], SERVERS_PORT: [], CPU_PORT: []}
    for port, frame in frames:
        for out, sent in TWIN.run_frame(port, frame):
            made[out].append(sent)
    return made


def test_it_is_the_box_and_its_queue_answers(box: Box) -> None:
    assert box.registers.read("id") == int.from_bytes(b"OBOX", "big")
    assert box.registers.read("ports") == 2
    assert box.queue.read("id") == int.from_bytes(b"OLAF", "big")


@pytest.mark.parametrize("port", [WORKERS_PORT, SERVERS_PORT])
@pytest.mark.parametrize("idle, busy", [(0.0, 0.0), (0.3, 0.3)])
def test_frames_of_one_port_leave_as_from_the_twin_in_order(
    box: Box, port: int, idle: float, busy: float
) -> None:
    pick = random.Random(port)
    box.rx[port - 1].pause(idle)
    for sink in (*box.tx, box.c2h):
        sink.pause(busy)
    frames = [(port, random_frame(pick)) for _ in range(150)]
    # A burst of floods and ACKs outruns the output by far: the queue's bypass drops what it cannot hold.
    for _, frame in frames:
        box.rx[port - 1].send(frame)
        box.settle(quiet=600)
    assert collect_leaving(box) == twin_sends(frames)


def test_a_worker_without_an_id_gets_its_five_tuples_crc(box: Box) -> None:
    box.queue.write("hold", 1)
    for worker in (WORKER, NEIGHBOUR):
        box.rx[0].send(make_update(worker).encode())
    box.settle()
    assert box.queue.read("occupancy") == 2
    box.queue.write("hold", 0)
    box.settle()
    assert collect_leaving(box)[SERVERS_PORT] == [
        sent for worker in (WORKER, NEIGHBOUR) for _, sent in TWIN.run_frame(1, make_update(worker).encode())
    ]


def test_updates_that_wait_are_combined(box: Box) -> None:
    box.queue.write("hold", 1)
    for _ in range(2):
        box.rx[0].send(make_update(WORKER).encode())
    box.settle()
    assert box.queue.read("replaced_worker") == 1
    box.queue.write("hold", 0)
    box.settle()
    assert len(collect_leaving(box)[SERVERS_PORT]) == 1


def test_packet_outs_go_where_they_say_and_host_traffic_nowhere(box: Box) -> None:
    frame = make_ack().encode()
    ping = bytes(Ether(src=STRANGER.mac, dst=WORKER.mac, type=0x1234) / Raw(bytes(64)))
    box.h2c.send(packet_out(SERVERS_PORT, frame))
    box.h2c.send(frame)
    box.h2c.send(packet_out(WORKERS_PORT, bytes(9000)))
    box.h2c.send(packet_out(0, ping))
    box.h2c.send(packet_out(77, ping))
    box.settle()
    assert collect_leaving(box) == {SERVERS_PORT: [frame], WORKERS_PORT: [bytes(9000), ping], CPU_PORT: []}
    counters = box.registers.counters()
    assert counters["dropped_host"] == 1
    assert counters["dropped_port"] == 1


def test_a_slow_host_costs_packet_ins_and_nothing_else(box: Box) -> None:
    plain_control = (
        Ether(src=STRANGER.mac, dst=SERVER.mac) / IP(dst=str(SERVER.ip)) / UDP() / Raw(bytes(9000))
    )
    control = with_bytes(bytes(plain_control), IPV4_TOS, bytes([layouts.CONTROL_TOS]))
    plain = bytes(Ether(src=STRANGER.mac, dst=WORKER.mac, type=0x1234) / Raw(bytes(100)))
    box.c2h.pause(1)
    for _ in range(20):
        box.rx[0].send(control)
        box.rx[0].send(plain)
    box.settle()
    counters = box.registers.counters()
    assert counters["out_port_0"] == 20
    assert counters["punted"] == 20
    box.c2h.pause(0)
    box.settle()
    counters = box.registers.counters()
    assert counters["out_host"] + counters["dropped_punt"] == 20
    assert 0 < counters["out_host"] == len(collect_leaving(box)[CPU_PORT]) < 20


def test_the_reset_handshake(box: Box) -> None:
    """A pulse clears `done`; it is set again when every block takes frames, and stays."""
    box.bench["mod_rstn"] = 0
    box.bench.run_cycles(1, "axil_aclk")
    box.bench["mod_rstn"] = 1
    box.run_cycles(100)
    assert box.bench["mod_rst_done"] == 0
    assert box.axil.read(0)[1] == 2, "in reset an access must be answered all the same"
    box.reset(start=False)
    box.run_cycles(5000)
    assert box.bench["mod_rst_done"] == 1
    assert box.axil.read(0) == (int.from_bytes(b"OBOX", "big"), 0)


def test_a_dead_port_does_not_hold_up_the_other(box: Box) -> None:
    to_dead = bytes(
        Ether(src=STRANGER.mac, dst=SERVER.mac) / IP(dst=str(SERVER.ip)) / UDP() / Raw(bytes(1400))
    )
    to_live = bytes(Ether(src=STRANGER.mac, dst=WORKER.mac, type=0x1234) / Raw(bytes(100)))
    box.tx[1].pause(1)
    for _ in range(60):
        box.rx[0].send(to_dead)
    box.run_cycles(260_000)
    for _ in range(5):
        box.rx[0].send(to_live)
    box.settle()
    assert collect_leaving(box)[WORKERS_PORT] == [to_live] * 5
    assert box.registers.read("stalled_port_1") > 0


@pytest.mark.parametrize("axil, ref", [(8000, 10_000), (8009, 9973), (3989, 25_013)])
def test_registers_answer_whatever_the_clocks_are(axil: int, ref: int) -> None:
    box = Box(QUEUE, compile_blocks(), periods={"axil_aclk": axil, "ref_clk_100mhz": ref})
    pick = random.Random(axil)
    try:
        for _ in range(200):
            value, port = pick.randrange(1 << 32), pick.choice(["copy_addr", "group_first"])
            box.registers.write(port, value)
            assert box.registers.read(port) == value
            for base in (0x40000, 0x80000):
                assert box.axil.write(base + SLOT, value) == 0
                assert box.axil.read(base + SLOT) == (value, 0)
    finally:
        box.close()


def test_every_address_answers(box: Box) -> None:
    pick = random.Random(2)
    windows = [(0, 0x1000), (0x1000, 0x2000), (0x40000, 0x80000), (0x80000, 0x100000)]
    for address in [*range(0, 0x2200, 4), *(pick.randrange(0, 1 << 20, 4) for _ in range(400))]:
        _, response = box.axil.read(address)
        inside = any(low <= address < high for low, high in windows)
        assert (response == 3) if not inside else True
        box.axil.write(address & ~0xFFF | 0xFFC, 0)
    for base in (0x40000, 0x80000):  # the rest of its window has no mirror of the block's registers
        for hole in (0x01C, 0x03C, 0xFFC, 0x1000 + SLOT, 0x20000 + SLOT, SLOT + 1):
            assert box.axil.read(base + hole)[1] == box.axil.write(base + hole, 7) == 3
    assert box.axil.write(0x40000 + SLOT, 0x1234) == 0
    assert box.axil.write(0x80000 + SLOT, 0x5678) == 0
    assert box.axil.read(0x40000 + SLOT) == (0x1234, 0)
    assert box.axil.read(0x80000 + SLOT) == (0x5678, 0)
