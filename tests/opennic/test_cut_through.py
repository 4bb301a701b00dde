"""A long update leaves the measuring FIFO as it comes, right or wrong; other frames are stored whole."""

import random
from collections import Counter
from collections.abc import Iterator

import pytest

from olafctl.targets.opennic_sim.box import Box
from olafctl.wire import layouts
from olafctl.wire.frames import unpack_header
from olafctl.wire.layouts import CPU_PORT, TUSER, FrameKind
from olafswitch.simulation.bench import BEAT, Bench, Sink, Source
from olaftest.opennic.random_frames import SERVERS_PORT, WORKERS_PORT, Twin, open_programmed_box, prepare_box
from tests.opennic.conftest import MakeBench, reset_bench
from tests.opennic.test_measure import PULSES, connect_ends
from tests.p4src.frames import (
    IPV4,
    IPV4_LENGTH,
    NEIGHBOUR,
    OLAF,
    STRANGER,
    UDP_CHECKSUM,
    WORKER,
    make_update,
    with_bytes,
    with_right_checksum,
)

TWIN = Twin()
HOLD, PATIENCE = 24, 1024
UDP_LENGTH = UDP_CHECKSUM - 2
BEFORE_UDP = UDP_LENGTH - 4
LENGTHS = range(14, 201)
PAUSES = pytest.mark.parametrize("idle, busy", [(0.0, 0.0), (0.5, 0.1), (0.1, 0.6)])


def declare_size(frame: bytes, size: int) -> bytes:
    """Return ``frame`` with lengths of ``size`` bytes in all; a frame too short for them is unchanged."""
    if len(frame) < UDP_CHECKSUM:
        return frame
    frame = with_bytes(frame, IPV4_LENGTH, (size - IPV4).to_bytes(2, "big"))
    return with_right_checksum(with_bytes(frame, UDP_LENGTH, (size - BEFORE_UDP).to_bytes(2, "big")))


def update_saying(frame: bytes, size: int, length: int) -> bytes:
    """Return an update of ``length`` bytes on the wire that declares ``size``."""
    return declare_size(frame.ljust(length, b"\x55"), size)[:length]


def reported_size(declared: int, length: int, hold: int) -> int:
    """Return the size that the FIFO reports for an update of ``length`` bytes that declares ``declared``."""
    known_by = (hold + 1) * BEAT
    return declared if length > known_by and declared > known_by else length


def open_fifo(bench: MakeBench, hold: int = HOLD) -> tuple[Bench, Source, Sink]:
    this = bench("olaf_box_measure", USER_BITS=16, DEPTH_BITS=8, MAX_BYTES=9216, HOLD=hold)
    return (this, *connect_ends(this))


def count_pulses(this: Bench, cycles: int) -> dict[str, int]:
    """Count the FIFO's pulses in this many cycles."""
    count = Counter[str]()
    for _ in range(cycles):
        this.run_cycles(1)
        count.update({name: this[name] for name in PULSES})
    return +count


@PAUSES
@pytest.mark.parametrize("hold", [1, HOLD])
def test_updates_of_every_length_pass_as_they_came(
    bench: MakeBench, hold: int, idle: float, busy: float
) -> None:
    pick = random.Random(hold)
    this, source, sink = open_fifo(bench, hold)
    source.pause(idle)
    sink.pause(busy)
    short, whole = make_update(values=34).encode(), make_update(values=2243).encode()
    cases = [(length, declared) for length in LENGTHS for declared in {length, *range(46, 204, 3), 190, 1600}]
    pick.shuffle(cases)
    due = []
    for number, (length, declared) in enumerate(cases):
        sent = update_saying(short[:length], declared, length)
        if number % 100 == 0:
            sent, declared = whole, len(whole)
        is_update = declared >= layouts.GRADIENT_OFFSET
        due.append(
            (sent, (number & 0xFFFF, reported_size(declared, len(sent), hold) if is_update else len(sent)))
        )
        source.send(sent, [number & 0xFFFF])
    while source.pending:
        this.run_cycles(1000)
    this.run_cycles(2000)
    assert [(frame.data, frame.user) for frame in sink.frames()] == due


@PAUSES
def test_a_long_update_that_ends_early_or_late_passes_as_it_came(
    bench: MakeBench, idle: float, busy: float
) -> None:
    pick = random.Random(3)
    this, source, sink = open_fifo(bench)
    source.pause(idle)
    sink.pause(busy)
    whole = make_update(values=2243).encode()
    due = []
    lengths = [*range(1, len(whole), BEAT), *range(BEAT, len(whole), BEAT), *range(len(whole), 9217, 5)]
    pick.shuffle(lengths)
    for length in lengths:
        declared = pick.choice([len(whole), 1600, 1604, 3000])
        frame = update_saying(whole[:length], declared, length)
        due.append((frame, reported_size(declared, length, HOLD) if length >= UDP_CHECKSUM else length))
        source.send(frame, [7])
    while source.pending:
        this.run_cycles(1000)
    this.run_cycles(2000)
    assert [(frame.data, frame.user[1]) for frame in sink.frames()] == due


def test_only_a_long_update_leaves_as_it_comes(bench: MakeBench) -> None:
    frame = make_update(values=2243).encode()
    others = [
        with_bytes(frame, OLAF, b"\x12"),
        with_bytes(frame, IPV4 + 9, b"\x06"),
        with_bytes(frame, IPV4_LENGTH, b"\x05\xdc"),
        with_bytes(frame, UDP_LENGTH, b"\x00\x08"),
        with_bytes(frame, IPV4, b"\x46"),
        with_bytes(frame, IPV4 - 2, b"\x86\xdd"),
    ]
    this, source, sink = open_fifo(bench)
    took = []
    for each in [frame, *others]:
        at = this.cycles()
        source.send(each, [1])
        this.run_cycles(400)
        (left,) = sink.frames()
        assert (left.data, left.user) == (each, (1, len(frame)))
        took.append(left.first - at)
    assert took[0] <= HOLD + 8
    assert all(cycles >= len(frame) // BEAT for cycles in took[1:])


@pytest.mark.parametrize("at", [*range(1, 142)])
def test_a_hole_takes_back_what_is_not_visible_and_ends_what_is(bench: MakeBench, at: int) -> None:
    frame, good = make_update(values=2243).encode(), bytes(range(200))
    this, source, sink = open_fifo(bench)
    for number, begin in enumerate(range(0, len(frame), BEAT)):
        beat = frame[begin : begin + BEAT]
        last = begin + BEAT >= len(frame)
        source.beat(beat, [1], last=last, keep=(1 << 60) - 2 if number == at else None)
    source.send(good, [2])
    assert count_pulses(this, 200) == {"dropped_malformed": 1, "accepted": 1}
    left = [(one.data, one.user[0]) for one in sink.frames()]
    assert left[-1] == (good, 2)
    assert left[:-1] == ([(frame[: at * BEAT] + b"\0", 1)] if at > HOLD else [])


def test_a_visible_update_that_grows_too_long_counts_as_that(bench: MakeBench) -> None:
    frame = make_update(values=2243).encode()
    this, source, sink = open_fifo(bench)
    source.send(frame + bytes(5000), [1])
    source.send(frame, [2])
    assert count_pulses(this, 500) == {"dropped_oversize": 1, "accepted": 1}
    broken, after = sink.frames()
    assert broken.data == (frame + bytes(5000))[: 9216 // BEAT * BEAT] + b"\0"
    assert after.data == frame


def test_an_update_whose_end_does_not_come_is_ended_in_time(bench: MakeBench) -> None:
    frame = make_update(values=2243).encode()
    this, source, sink = open_fifo(bench)
    for at in range(0, 30 * BEAT, BEAT):
        source.beat(frame[at : at + BEAT], [1], last=False)
    this.run_cycles(40 + PATIENCE // 2)
    assert sink.frames() == []
    this.run_cycles(PATIENCE)
    (left,) = sink.frames()
    assert left.data == frame[: 30 * BEAT] + b"\0"
    source.send(bytes(100), [2])  # it is the rest of that frame, as far as the FIFO knows
    source.send(bytes(100), [3])
    assert count_pulses(this, 100) == {"dropped_malformed": 1, "accepted": 1}
    assert [one.user[0] for one in sink.frames()] == [3]


def test_an_update_that_is_not_visible_may_take_any_time_to_come(bench: MakeBench) -> None:
    frame = make_update(values=400).encode()
    this, source, sink = open_fifo(bench)
    for at in range(0, len(frame), BEAT):
        source.beat(frame[at : at + BEAT], [1], last=at + BEAT >= len(frame))
        if at < HOLD * BEAT:
            this.run_cycles(2 * PATIENCE)
    this.run_cycles(100)
    assert [one.data for one in sink.frames()] == [frame]


def test_an_update_that_waits_for_room_is_not_given_up(bench: MakeBench) -> None:
    frames = [make_update(values=2243).encode()] * 3
    this, source, sink = open_fifo(bench)
    for number, frame in enumerate(frames):
        source.send(frame, [number])
    sink.pause(1.0)
    this.run_cycles(10 * PATIENCE)
    sink.pause(0.0)
    this.run_cycles(1000)
    assert [one.data for one in sink.frames()] == frames


@pytest.mark.parametrize("after", [1, 10, 20, 40, 80, 140])
def test_the_rest_of_an_update_that_reset_cut_is_dropped(bench: MakeBench, after: int) -> None:
    frame = make_update(values=2243).encode()
    this, source, sink = open_fifo(bench)
    source.send(frame, [1])
    source.send(frame, [2])
    this.run_cycles(after)
    reset_bench(this)
    assert count_pulses(this, 400) == {"dropped_cut": 1, "accepted": 1}
    if after <= HOLD:  # a later frame has begun to leave, and the box resets the next module, too
        assert [(one.data, one.user) for one in sink.frames()] == [(frame, (2, len(frame)))]


@pytest.fixture
def box() -> Iterator[Box]:
    made = open_programmed_box()
    yield made
    made.close()


def left_by(box: Box) -> Counter[tuple[int, bytes]]:
    """Return the frames that left by each port, counted."""
    return Counter((number + 1, one.data) for number, sink in enumerate(box.tx) for one in sink.frames())


@pytest.mark.parametrize("idle, busy", [(0.0, 0.0), (0.3, 0.3)])
def test_short_frames_bypass_and_are_counted_by_what_they_are(box: Box, idle: float, busy: float) -> None:
    """The frames have every length at which one can be cut, with declared lengths, among whole updates."""
    pick = random.Random(5)
    box.rx[0].pause(idle)
    for sink in box.tx:
        sink.pause(busy)
    jumbo = make_update(NEIGHBOUR, values=2243).encode()
    frames = [
        update_saying(make_update(sender, values=34).encode()[:length], declared, length)
        for length in LENGTHS
        for sender in (WORKER, STRANGER)
        for declared in {length, 190, pick.randrange(46, 300), 1600}
    ]
    pick.shuffle(frames)
    wanted, wrong, updates = Counter[tuple[int, bytes]](), 0, 0
    for number, frame in enumerate(frames):
        if number % 25 == 0:
            frame = jumbo
        box.rx[0].send(frame)
        ((out, between),) = TWIN.run_first(WORKERS_PORT, frame) or [(0, b"")]
        shim = unpack_header(TUSER, between[: TUSER.size]) if out not in (0, CPU_PORT) else {}
        if shim.get("kind") == FrameKind.UPDATE:
            updates += 1
            says_size = int.from_bytes(frame[UDP_LENGTH : UDP_LENGTH + 2], "big") + BEFORE_UDP
            if len(frame) != says_size or (len(frame) - layouts.GRADIENT_OFFSET) % 4:
                wrong += 1
                continue
        wanted.update(TWIN.run_frame(WORKERS_PORT, frame))
        if number % 5 == 0:
            box.run_cycles(600)
    box.settle()
    assert left_by(box) == wanted
    queue, counters = box.queue.read_all(), box.registers.counters()
    assert (queue["in_updates"], queue["dropped_length"]) == (updates, wrong)
    other = ("repaired", "dropped_truncated", "dropped_overlong", "dropped_full")
    assert not any(queue[name] for name in other)
    assert (counters["in_port_0"], counters["malformed_port_0"]) == (len(frames), 0)


@pytest.mark.parametrize("beats", [25, 26, 60, 141, 142, 144])
def test_a_strangers_frame_like_a_long_update_passes_unchanged(box: Box, beats: int) -> None:
    jumbo = make_update(STRANGER, values=2243).encode()
    for length in (beats * BEAT - 63, beats * BEAT - 4, beats * BEAT):
        for declared in (1604, 3000, 9036):
            frame = update_saying(jumbo[:length], declared, length)
            box.rx[0].send(frame)
            box.settle(quiet=400)
            assert left_by(box) == Counter(TWIN.run_frame(WORKERS_PORT, frame))


@pytest.mark.parametrize("held", [False, True])
def test_a_long_update_of_a_wrong_size_keeps_it_or_is_dropped(box: Box, held: bool) -> None:
    """One held in OlafQueue is dropped; one that is leaving gets zeros for missing values. Both are
    counted."""
    whole = make_update(values=2243).encode()
    short, long = whole[: 40 * BEAT], whole + b"more"
    box.queue.write("hold", int(held))
    for frame in (short, long, whole[: 30 * BEAT + 5]):
        box.rx[0].send(frame)
        box.settle(quiet=600)
    box.queue.write("hold", 0)
    box.rx[0].send(whole)
    box.settle()
    filled = [whole[: 40 * BEAT].ljust(len(whole), b"\0"), whole]
    filled.append(whole[: 30 * BEAT + 4].ljust(len(whole), b"\0"))
    assert left_by(box) == Counter((SERVERS_PORT, one) for one in [*([] if held else filled), whole])
    queue = box.queue.read_all()
    assert queue["in_updates"] == 4
    assert queue["repaired"] == (0 if held else 3)
    assert (queue["dropped_truncated"], queue["dropped_overlong"]) == ((2, 1) if held else (0, 0))
    assert box.registers.read("in_port_0") == 4


def test_an_update_that_stops_midway_does_not_block_other_ports(box: Box) -> None:
    frame = make_update(values=2000).encode()
    plain = make_update(STRANGER).encode()
    for at in range(0, 40 * BEAT, BEAT):
        box.rx[WORKERS_PORT - 1].beat(frame[at : at + BEAT], last=False)
    box.run_cycles(100)
    box.rx[SERVERS_PORT - 1].send(plain)
    box.run_cycles(3000)
    # It was leaving by then: its missing values are zeros, as always in OlafQueue.
    filled = frame[: 40 * BEAT].ljust(len(frame), b"\0")
    assert left_by(box) == Counter([(SERVERS_PORT, filled), *TWIN.run_frame(SERVERS_PORT, plain)])
    assert box.queue.read("repaired") == 1


def test_a_reset_under_traffic_leaves_no_broken_frame(box: Box) -> None:
    pick = random.Random(17)
    whole = [make_update(sender, values=2243).encode() for sender in (WORKER, NEIGHBOUR)]
    wanted = {one for frame in whole for one in TWIN.run_frame(WORKERS_PORT, frame)}
    box.rx[0].pause(0.5)
    for _ in range(8):
        for frame in whole:
            box.rx[0].send(frame)
        box.run_cycles(pick.randint(150, 700))
        box.reset()
        prepare_box(box)
        box.settle()
        assert set(left_by(box)) <= wanted
    for frame in whole:
        box.rx[0].send(frame)
        box.settle()
    assert set(left_by(box)) == wanted
