"""The application block with the box: between models of Corundum's streams, and in the whole of Corundum."""

import os
import random
from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from ipaddress import IPv4Address
from itertools import pairwise

import numpy as np
import pytest

from olafctl.targets.opennic.box_registers import Copy
from olafctl.targets.opennic.registers import BOX_BYTES, HOST_ETHER_TYPE, IDENTITY
from olafctl.wire.frames import mac_bits
from olafctl.wire.layouts import ANY_PORT
from olafctl.wire.modes import Mode
from olaftest.frames import OlafFrame
from olaftest.opennic.random_frames import EPOCH, QUEUE, compile_blocks, prepare_box, program_box
from tests.corundum.card import CORUNDUM, TAGS, CorundumBox, WholeNic, needs_checkout
from tests.p4src.frames import WORKER, make_update

MAC_0, MAC_1, HOST_0, HOST_1 = 1, 2, 3, 4
PORTS = (MAC_0, MAC_1, HOST_0, HOST_1)
SECOND = replace(WORKER, mac="02:00:00:00:00:03", ip=IPv4Address("10.0.0.3"))
ADDRESSES = {port: f"02:00:00:00:01:{port:02x}" for port in PORTS}
BROADCAST = "ff:ff:ff:ff:ff:ff"
FLOOD = 101
LONGEST = 9198
DECERR = 3
ROUNDS = int(os.environ.get("OLAF_CORUNDUM_FRAMES", "240")) // 4
"""Rounds of four random frames: OLAF_CORUNDUM_FRAMES=20000 takes half an hour in the whole NIC."""


WIDTHS = [pytest.param(64, marks=pytest.mark.slow), 128, pytest.param(512, marks=pytest.mark.slow)]
WHOLE = [
    pytest.param(-width, id=f"whole-{width}", marks=[needs_checkout, pytest.mark.slow])
    for width in (128, 512)
]
Card = CorundumBox | WholeNic


def open_card(width: int) -> Card:
    """Return the block at ``width`` bits; below 0, the whole of Corundum."""
    if width < 0:
        return program(WholeNic(CORUNDUM, QUEUE, compile_blocks(), width=-width))
    return program(CorundumBox(QUEUE, compile_blocks(), width))


@pytest.fixture(params=WIDTHS)
def box(request: pytest.FixtureRequest) -> Iterator[CorundumBox]:
    with closing(open_card(request.param)) as made:
        assert isinstance(made, CorundumBox)
        yield made


@pytest.fixture(params=[*WIDTHS, *WHOLE])
def card(request: pytest.FixtureRequest) -> Iterator[Card]:
    with closing(open_card(request.param)) as made:
        yield made


def program(box: Card) -> Card:
    first, second = program_box(box)
    first.add_entry("workers", int(SECOND.ip), "assign", 5, 78, 8, 4, 4, EPOCH, ANY_PORT)
    for port, address in ADDRESSES.items():
        second.add_entry("bridging", mac_bits(address), "forward", port)
    second.add_entry("bridging", mac_bits("01:00:5e:00:00:01"), "flood", FLOOD)
    prepare(box)
    box.programs = (first, second)
    return box


def prepare(box: Card) -> None:
    prepare_box(box)
    box.registers.set_group(FLOOD, [Copy(port) for port in PORTS])
    box.queue.write("mode", Mode.OLAF.number)
    box.registers.write("clear", 1)
    box.registers.read("id")  # over PCI Express a write has arrived when a later read is answered


def plain(pick: random.Random, destination: str, size: int) -> bytes:
    """Return a frame of ``size`` bytes like no other."""
    head = mac_bits(destination).to_bytes(6, "big") + mac_bits("02:00:00:00:00:99").to_bytes(6, "big")
    return head + b"\x12\x34" + pick.randbytes(size - 14)


def settle(box: Card) -> None:
    """Let everything leave; every frame of the host must be completed then."""
    box.settle()
    box.check_completions()


def test_two_updates_into_a_mac_are_one_frame_of_their_sums_at_the_other(card: Card) -> None:
    pick = np.random.default_rng(1)
    gradients = [pick.standard_normal(300, dtype=np.float32) for _ in range(2)]
    card.queue.write("hold", 1)
    for worker, gradient in zip((WORKER, SECOND), gradients, strict=True):
        card.rx[0].send(replace(make_update(worker), gradient=gradient, epoch=EPOCH).encode(), [0])
    settle(card)
    assert not any(card.left().values())
    card.queue.write("hold", 0)
    settle(card)
    left = card.left()
    (frame,) = left.pop(MAC_1)
    assert not any(left.values())
    merged = OlafFrame.decode(frame)
    assert merged.count == 2
    assert merged.gradient.tobytes() == (gradients[0] + gradients[1]).tobytes()


def test_an_update_of_the_hosts_own_worker_leaves_by_a_mac(card: Card) -> None:
    frame = make_update().encode()
    card.send(HOST_1, frame)
    settle(card)
    assert [OlafFrame.decode(sent).gradient.tolist() for sent in card.left()[MAC_1]] == [[1, 2, 3]]


def test_updates_from_a_mac_and_from_the_host_arrive_as_they_were_sent(card: Card) -> None:
    """One value of each update is not 0, so that a lost, doubled or moved value shows."""
    updates = 2000 if isinstance(card, WholeNic) else 200
    card.queue.write("mode", Mode.FIFO.number)
    gradients = np.zeros((updates, 300), dtype=np.float32)
    for number, gradient in enumerate(gradients):
        gradient[number % 300] = number + 1
        card.send((MAC_0, HOST_1)[number % 2], replace(make_update(), gradient=gradient, seq=number).encode())
        if number % 8 == 7:
            card.run_cycles(8 * 1400 * 8 // card.width)  # this is as long as they take to leave
    settle(card)
    arrived = sorted((OlafFrame.decode(frame) for frame in card.left()[MAC_1]), key=lambda frame: frame.seq)
    assert np.array_equal([frame.gradient for frame in arrived], gradients)


def test_a_frame_that_is_too_long_is_dropped_and_the_next_passes(card: Card) -> None:
    pick = random.Random(9)
    due = []
    for port in PORTS:
        for size in (LONGEST + 1, 9215, 12_000, LONGEST):
            frame = plain(pick, ADDRESSES[HOST_0], size)
            card.send(port, frame)
            due += [frame] if size == LONGEST else []
            settle(card)
    left = card.left()
    assert Counter(left.pop(HOST_0)) == Counter(due)
    assert not any(left.values())


def test_every_frame_arrives_once_and_every_tag_comes_back_once(card: Card) -> None:
    pick = random.Random(5)
    due: dict[int, Counter[bytes]] = {port: Counter() for port in PORTS}
    bad = Counter[int]()
    whole = isinstance(card, WholeNic)
    for end in (*card.tx, *card.rx, *(card.completions if isinstance(card, CorundumBox) else ())):
        end.pause(pick.choice([0.0, 0.3]))
    for _ in range(ROUNDS):
        for _ in range(4):
            port, target = pick.choice(PORTS), pick.choice(PORTS)
            size = pick.choice([14, 60, 64, 65, 129, 1500, LONGEST, pick.randint(60, 2000)])
            kind = pick.randrange(6)
            if kind == 0 and (port in (MAC_0, MAC_1) or not whole):
                card.send(port, plain(pick, ADDRESSES[target], size), error=1)
                bad[port] += 1
            elif kind == 1:
                frame = plain(pick, "01:00:5e:00:00:01", min(size, 1500))
                card.send(port, frame)
                for other in set(PORTS) - {port}:
                    due[other][frame] += 1
            elif kind == 2:  # a frame to nowhere: the card drops it
                card.send(port, plain(pick, "02:00:00:00:02:02", size))
            elif kind == 3:  # packet-outs, one of which names a port that does not exist
                frame = plain(pick, BROADCAST, max(size - 16, 60))
                out = pick.choice([*PORTS, 77])
                head = plain(pick, ADDRESSES[target], 14)[:12]  # which the box ignores
                card.send(
                    HOST_0,
                    head + HOST_ETHER_TYPE.to_bytes(2, "big") + out.to_bytes(2, "big") + frame,
                )
                if out in due:
                    due[out][frame] += 1
            else:
                frame = plain(pick, ADDRESSES[target], size)
                card.send(port, frame)
                due[target][frame] += 1
            pick.choice(card.programs).rewrite_members(pick)  # while frames pass
        settle(card)
    assert {port: Counter(frames) for port, frames in card.left().items()} == due
    counters = card.registers.counters()
    assert {port: counters[f"malformed_port_{port - 1}"] for port in PORTS} == {
        port: bad[port] for port in PORTS
    }


def test_a_mac_never_waits_and_what_has_no_room_is_dropped_whole(box: CorundumBox) -> None:
    pick = random.Random(6)
    frames = {port: [plain(pick, ADDRESSES[HOST_0], 40) for _ in range(900)] for port in (MAC_0, MAC_1)}
    for port in frames:
        for frame in frames[port]:
            box.send(port, frame)
    box.run_cycles(box.rx[0].pending + 2)
    assert not box.rx[0].pending and not box.rx[1].pending
    settle(box)
    left, counters = box.left()[HOST_0], box.registers.counters()
    for port in frames:
        kept = set(left) & set(frames[port])
        assert [frame for frame in left if frame in kept] == [
            frame for frame in frames[port] if frame in kept
        ]
    full = counters["full_port_0"] + counters["full_port_1"]
    assert (full > 0) == (box.width == 512)  # two slower MACs cannot outrun the box
    assert len(left) + full + box.queue.read_all()["dropped_bypass"] == 1800


@pytest.mark.slow
@pytest.mark.parametrize("size", [60, 65, 1514])
def test_at_64_bits_a_frame_takes_its_beats_and_no_cycle_more(size: int) -> None:
    """All ports send and receive at once; so 10G is carried from 156.25 MHz on."""
    pick = random.Random(10)
    with closing(open_card(64)) as card:
        assert isinstance(card, CorundumBox)
        for _ in range(TAGS):
            for port, other in {MAC_0: HOST_0, MAC_1: HOST_1, HOST_0: MAC_0, HOST_1: MAC_1}.items():
                card.send(port, plain(pick, ADDRESSES[other], size))
        settle(card)
        for sink in card.tx:
            begun = [frame.first for frame in sink.frames()][8:]  # until then the ports find their order
            assert [after - before for before, after in pairwise(begun)] == [-(-size // 8)] * 23


def test_a_host_waits_for_a_port_that_does_not_move_and_is_completed_all_the_same(box: CorundumBox) -> None:
    pick = random.Random(7)
    box.tx[MAC_1 - 1].pause(1)
    for _ in range(30):
        box.send(HOST_0, plain(pick, ADDRESSES[MAC_1], 1500))
    box.run_cycles(280_000)  # a millisecond, after which the port's frames are dropped
    settle(box)
    box.tx[MAC_1 - 1].pause(0)
    settle(box)
    counters, queue = box.registers.counters(), box.queue.read_all()
    lost = counters["stalled_port_1"] + queue["dropped_bypass"]
    assert len(box.left()[MAC_1]) + lost == 30 and lost


def test_after_a_reset_no_frame_of_before_it_leaves(card: Card) -> None:
    """In the whole NIC the driver sets its rings up again after each reset."""
    pick = random.Random(8)
    sent: set[bytes] = set()
    for _ in range(ROUNDS // 6):
        for _ in range(6):
            for port in PORTS:
                frame = plain(pick, ADDRESSES[pick.choice(PORTS)], pick.randint(700, 2000))
                sent.add(frame)
                card.send(port, frame)
        card.run_cycles(pick.randint(20, 3000 if isinstance(card, WholeNic) else 900))
        before = card.left()
        assert all(frame in sent for frames in before.values() for frame in frames)
        card.reset()
        # The far end of a stream has forgotten the frame that it was sending.
        first = plain(pick, "01:00:5e:00:00:01", 100)
        prepare(card)
        card.send(MAC_0, first)
        card.send(HOST_1, first)
        settle(card)
        for port, frames in card.left().items():
            if port in (MAC_0, MAC_1) and frames[0] in sent:  # its last beat left in the cycle of the reset
                del frames[0]
            assert len(frames) == (1 if port in (MAC_0, HOST_1) else 2), port
            joined = port in (MAC_0, MAC_1) or isinstance(card, CorundumBox)  # to what had left at the reset
            assert frames[0] == first or (joined and frames[0].endswith(first))
            assert frames[1:] in ([], [first])


def test_the_registers_answer_everywhere_and_repeat_nowhere(box: CorundumBox) -> None:
    assert box.registers.read("id") == IDENTITY
    for place in (*range(BOX_BYTES, 16 * BOX_BYTES, BOX_BYTES), 0x3F000, 0xFFFFFC):
        assert box.axil.read(place)[1] == DECERR
        assert box.axil.write(place + 0x40, 5) == DECERR
        assert not box.bench["s_axil_app_ctrl_arvalid"] | box.bench["s_axil_app_ctrl_awvalid"], "asked once"
    assert box.registers.read("port_number_0") == 1


@needs_checkout
@pytest.mark.slow
def test_a_read_waits_for_any_number_of_writes() -> None:
    with closing(open_card(-512)) as card:
        for number in range(3000):
            card.registers.write("port_number_0", number)
        assert card.registers.read("port_number_0") == 2999
