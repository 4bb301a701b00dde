"""The replicator stores each frame once and sends it once for each copy, addressed, with its true size."""

import random
from dataclasses import dataclass

import pytest
from scapy.layers.inet import IP, UDP
from scapy.layers.l2 import Ether
from scapy.packet import Raw

from olafswitch.simulation.bench import Bench, Signals, Sink, Source
from tests.opennic.conftest import MakeBench

PULSES = (
    "accepted",
    "copied",
    "dropped_oversize",
    "dropped_malformed",
    "dropped_port",
    "dropped_group",
    "pruned",
)
PORT_NUMBERS = (7, 9)


@dataclass(frozen=True)
class ReplicatorMember:
    """A copy of a group; ``rewrite`` is (MAC, address, UDP port)."""

    port: int
    rewrite: tuple[int, int, int] | None = None


def connect_ends(this: Bench) -> tuple[Source, Sink]:
    this["port_numbers"] = PORT_NUMBERS[0] | PORT_NUMBERS[1] << 16
    user = [("s_src", 16), ("s_dst", 16), ("s_group", 16), ("s_addressed", 1), ("s_declared", 16)]
    return this.source(Signals.axis("s", user)), this.sink(Signals.axis("m", [("m_size", 16), ("m_port", 2)]))


def set_group(this: Bench, group: int, first: int, members: list[ReplicatorMember]) -> None:
    for index, member in enumerate(members, start=first):
        mac, addr, port = member.rewrite or (0, 0, 0)
        for name, value in (
            ("copy_index", index), ("copy_port", member.port),
            ("copy_rewrite", int(member.rewrite is not None)),
            ("copy_mac", mac), ("copy_addr", addr), ("copy_udp_port", port), ("write_copy", 1),
        ):  # fmt: skip
            this[name] = value
        this.run_cycles(1)
    this["write_copy"] = 0
    for name, value in (("group_index", group), ("group_first", first), ("group_count", len(members))):
        this[name] = value
    this["write_group"] = 1
    this.run_cycles(1)
    this["write_group"] = 0


def frame_of(pick: random.Random, size: int) -> bytes:
    """Return a UDP frame whose IPv4 checksum may be wrong."""
    frame = Ether(src="02:00:00:00:00:01", dst="02:00:00:00:00:02") / IP(
        src="10.0.0.1", dst="10.0.0.2", id=pick.randrange(1 << 16), tos=pick.randrange(256)
    ) / UDP(sport=1, dport=2, chksum=0) / Raw(pick.randbytes(max(0, size - 42)))  # fmt: skip
    data = bytearray(bytes(frame))
    if pick.random() < 0.5:
        data[24:26] = pick.randbytes(2)
    return bytes(data)


def addressed_to(frame: bytes, rewrite: tuple[int, int, int]) -> bytes:
    """Return the frame addressed to the member by Scapy."""
    mac, addr, port = rewrite
    data = bytearray(frame)
    data[0:6], data[30:34], data[36:38] = (
        mac.to_bytes(6, "big"),
        addr.to_bytes(4, "big"),
        port.to_bytes(2, "big"),
    )
    packet = Ether(bytes(data))
    del packet[IP].chksum
    return bytes(packet)[:34] + bytes(data)[34:]


def random_members(pick: random.Random, count: int) -> list[ReplicatorMember]:
    return [
        ReplicatorMember(
            pick.choice([*PORT_NUMBERS, 12] if index % 5 == 4 else PORT_NUMBERS),
            None
            if pick.random() < 0.2
            else (pick.randrange(1 << 48), pick.randrange(1 << 32), pick.randrange(1 << 16)),
        )
        for index in range(count)
    ]


def expected_copies(
    frame: bytes, src: int, dst: int, members: list[ReplicatorMember] | None, addressed: bool
) -> list[tuple[bytes, int]]:
    """Return the copies of a frame, each with its one-hot port, as VNP4₂'s v1model egress makes them."""
    if members is None:
        members, addressed = [ReplicatorMember(dst)], True
    made = []
    for member in members:
        if member.port in PORT_NUMBERS and (addressed or member.port != src):
            data = addressed_to(frame, member.rewrite) if addressed and member.rewrite else frame
            made.append((data, 1 << PORT_NUMBERS.index(member.port)))
    return made


@pytest.mark.parametrize("idle, busy", [(0.0, 0.0), (0.5, 0.1), (0.1, 0.5)])
def test_random_frames_and_groups(bench: MakeBench, idle: float, busy: float) -> None:
    pick = random.Random(3)
    this = bench("olaf_box_replicator", COPY_BITS=9)
    source, sink = connect_ends(this)
    groups: dict[int, list[ReplicatorMember]] = {}
    for group, count in ((1, 3), (5, 1), (2000, 17), (9, 0)):
        groups[group] = random_members(pick, count)
        set_group(this, group, sum(len(members) for members in groups.values()) - count, groups[group])
    source.pause(idle)
    sink.pause(busy)
    want = []
    for _ in range(120):
        frame = frame_of(pick, pick.choice([60, 64, 128, 700, 1500, 9036, 9044]))
        src = pick.choice(PORT_NUMBERS)
        declared = pick.choice([0, len(frame)])
        if pick.random() < 0.4:
            dst = pick.choice([*PORT_NUMBERS, 0, 3])
            source.send(frame, [src, dst, 0, 0, declared])
            want += expected_copies(frame, src, dst, None, True)
        else:
            group, addressed = pick.choice([1, 5, 2000, 9, 2049]), pick.random() < 0.6
            source.send(frame, [src, 0, group, int(addressed), declared])
            want += expected_copies(frame, src, 0, groups.get(group, []), addressed)
    while source.pending:
        this.run_cycles(2000)
    this.run_cycles(8000)
    got = sink.frames()
    assert [(frame.data, frame.user[1]) for frame in got] == want
    assert all(frame.user[0] == len(frame.data) for frame in got)
    assert this["resting"] == 1


def count_pulses(this: Bench, cycles: int) -> dict[str, int]:
    """Count each of PULSES in this many cycles."""
    counted = dict.fromkeys(PULSES, 0)
    for _ in range(cycles):
        this.run_cycles(1)
        for name in PULSES:
            counted[name] += this[name]
    return counted


def test_what_does_not_leave_is_counted(bench: MakeBench) -> None:
    this = bench("olaf_box_replicator", COPY_BITS=9)
    source, sink = connect_ends(this)
    set_group(this, 1, 0, [ReplicatorMember(7), ReplicatorMember(9), ReplicatorMember(12)])
    frame = frame_of(random.Random(1), 60)
    for user in ([7, 0, 1, 0, 0], [7, 12, 0, 0, 0], [7, 0, 0, 0, 0], [7, 0, 3000, 0, 0], [7, 0, 1, 1, 0]):
        source.send(frame, user)
    source.beat(bytes(64), [7, 7, 0, 0, 0], last=False, keep=3)
    source.beat(bytes(64), [7, 7, 0, 0, 0], last=True)
    source.send(bytes(9700), [7, 7, 0, 0, 0])
    counted = count_pulses(this, 400)
    assert len(sink.frames()) == 3
    assert counted == {
        "accepted": 5, "copied": 3, "dropped_oversize": 1, "dropped_malformed": 1, "dropped_port": 4,
        "dropped_group": 1, "pruned": 1,
    }  # fmt: skip


@pytest.mark.parametrize("carries", [1, 2, 3, 4])
def test_the_checksums_carries_come_round_twice(bench: MakeBench, carries: int) -> None:
    """The headers' words add up to a sum whose first carry makes another, and to the sum just below."""
    this = bench("olaf_box_replicator", COPY_BITS=9)
    source, sink = connect_ends(this)
    words = [0xFFFF] * carries + [0] * (4 - carries)
    address = words[2] << 16 | words[3]
    set_group(this, 1, 0, [ReplicatorMember(7, (1, address, 3))])
    want = []
    for low in (0xFFFF - carries, 0x10000 - carries, 0xFFFE, 0xFFFF, 0, 1):
        frame = bytearray(frame_of(random.Random(1), 60))
        frame[15], frame[18:20] = 0, bytes(2)
        frame[26:30] = words[0].to_bytes(2, "big") + words[1].to_bytes(2, "big")
        others = sum(int.from_bytes(frame[at : at + 2], "big") for at in (14, 16, 20, 22, 26, 28))
        rest = (carries << 16 | low) - others - words[2] - words[3]
        if not 0 <= rest <= 0xFFFF:
            rest += 0x10000 if rest < 0 else -0x10000
        frame[18:20] = rest.to_bytes(2, "big")
        source.send(bytes(frame), [9, 0, 1, 1, 0])
        want.append(addressed_to(bytes(frame), (1, address, 3)))
    this.run_cycles(300)
    assert [frame.data for frame in sink.frames()] == want


def test_unicast_frames_of_one_beat_leave_one_in_each_cycle(bench: MakeBench) -> None:
    this = bench("olaf_box_replicator", COPY_BITS=9)
    source, sink = connect_ends(this)
    for _ in range(300):
        source.send(bytes(60), [9, 7, 0, 0, 0])
    this.run_cycles(400)
    got = sink.frames()
    assert len(got) == 300
    assert got[-1].last - got[0].first + 1 == 300


def test_groups_alone_never_fill_the_store(bench: MakeBench) -> None:
    this = bench("olaf_box_replicator", COPY_BITS=9)
    source, sink = connect_ends(this)
    last = (1 << 11) - 1
    set_group(this, last, 0, [ReplicatorMember(7), ReplicatorMember(9)])
    for _ in range(1200):
        source.send(bytes(60), [5, 0, last, 0, 0])
    this.run_cycles(2600)
    assert len(sink.frames()) == 2400


def test_no_port_has_the_number_0_and_no_group_one_beyond_the_table(bench: MakeBench) -> None:
    this = bench("olaf_box_replicator", COPY_BITS=9)
    source, sink = connect_ends(this)
    this["port_numbers"] = PORT_NUMBERS[0]
    set_group(this, 0, 0, [ReplicatorMember(7)])
    for user in ([5, 0, 0, 0, 0], [5, 7, 1 << 11, 0, 0]):
        source.send(bytes(60), user)
    counted = count_pulses(this, 100)
    assert not sink.frames() and counted["dropped_port"] == counted["dropped_group"] == 1


def test_a_frame_of_known_size_leaves_as_it_comes(bench: MakeBench) -> None:
    this = bench("olaf_box_replicator", COPY_BITS=9)
    source, sink = connect_ends(this)
    for _ in range(3):
        source.send(bytes(9036), [9, 7, 0, 0, 9036])
    this.run_cycles(1)
    while not source.beats:
        this.run_cycles(1)
    came = this.cycles()
    this.run_cycles(3 * 142 + 60)
    got = sink.frames()
    assert got[0].first - came <= 16
    assert [frame.last - frame.first + 1 for frame in got] == [142] * 3
    assert got[-1].last - got[0].first + 1 == 3 * 142


@pytest.mark.parametrize("declared", [0, 9000])
def test_a_pause_lets_a_frame_end(bench: MakeBench, declared: int) -> None:
    """One frame is stored whole, another leaves as it comes."""
    this = bench("olaf_box_replicator", COPY_BITS=9)
    source, sink = connect_ends(this)
    source.pause(0.8)
    for _ in range(2):
        source.send(bytes(9000), [9, 7, 0, 0, declared])
    while not sink.beats:
        this.run_cycles(1)
    this["pause"] = 1
    this.run_cycles(2000)
    assert [len(frame.data) for frame in sink.frames()] == [9000]
    assert this["resting"] == 1
    this["pause"] = 0
    this.run_cycles(2000)
    assert [len(frame.data) for frame in sink.frames()] == [9000]


@pytest.mark.parametrize("declared", [640, 1200, 1536, 9036, 9601])
@pytest.mark.parametrize("idle", [0.0, 0.7])
def test_a_frame_that_is_not_as_long_as_declared_harms_no_other(
    bench: MakeBench, declared: int, idle: float
) -> None:
    """The frame ends at the beat that shows it; one declared too long for the store waits for its end."""
    pick = random.Random(2)
    this = bench("olaf_box_replicator", COPY_BITS=9)
    source, sink = connect_ends(this)
    source.pause(idle)
    wrong, right = pick.randbytes(1300), [pick.randbytes(size) for size in (1300, 64, 700)]
    source.send(wrong, [9, 7, 0, 0, declared])
    for frame in right:
        source.send(frame, [9, 7, 0, 0, len(frame)])
    counted = count_pulses(this, 600)
    got = [frame.data for frame in sink.frames()]
    assert got[-3:] == right
    if declared > 9600:
        assert got[0] == wrong and counted["dropped_malformed"] == 0
    else:
        assert len(got) == 4 and wrong.startswith(got[0]) and counted["dropped_malformed"] == 1
    assert this["resting"] == 1


def test_a_hole_ends_a_frame_that_leaves_as_it_comes(bench: MakeBench) -> None:
    this = bench("olaf_box_replicator", COPY_BITS=9)
    source, sink = connect_ends(this)
    user = [9, 7, 0, 0, 300]
    for hole in range(3):
        for beat in range(5):
            source.beat(bytes(64), user, last=beat == 4, keep=3 if beat == hole else None)
    source.send(bytes(300), user)
    counted = count_pulses(this, 200)
    assert [len(frame.data) for frame in sink.frames()] == [66, 130, 300]
    assert counted["dropped_malformed"] == 3


@pytest.mark.parametrize("idle, busy", [(0.0, 0.0), (0.7, 0.0), (0.3, 0.6)])
def test_a_frame_without_a_destination_passes_through_the_store(
    bench: MakeBench, idle: float, busy: float
) -> None:
    pick = random.Random(5)
    this = bench("olaf_box_replicator", COPY_BITS=9)
    source, sink = connect_ends(this)
    source.pause(idle)
    sink.pause(busy)
    want = []
    for _ in range(60):
        frame, dst = pick.randbytes(pick.choice([64, 100, 1500, 9036])), pick.choice([7, 9, 12])
        source.send(frame, [9, dst, 0, 0, pick.choice([0, len(frame)])])
        want += [frame] if dst != 12 else []
    while source.pending:
        this.run_cycles(2000)
    this.run_cycles(4000)
    assert [frame.data for frame in sink.frames()] == want
    assert this["resting"] == 1
