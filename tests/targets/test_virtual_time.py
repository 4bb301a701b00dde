"""Virtual time: frames carry their own times, the queue is exact to the cycle, and runs repeat."""

import dataclasses
import itertools
from collections.abc import Iterator
from contextlib import closing
from ipaddress import IPv4Address
from pathlib import Path
from random import Random

import numpy as np
import pytest

from olafctl.membership.model import default_mac
from olafctl.queue.registers import DISPOSITIONS, rate_word
from olafctl.targets import registry
from olafctl.targets.interface import Advanced, TimedFrame, of_root
from olafctl.wire.frames import Datagram, Endpoint
from olafctl.wire.layouts import CONTROL_TOS, FrameType
from olaflab.frames import OlafFrame
from olafswitch.errors import OlafError
from olafswitch.ports.transport import Transport

from .conftest import Built, Live, program, quietly, why_not
from .test_live import endpoint, update

NS_PER_CYCLE = 4


@pytest.fixture(scope="module")
def twin(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Live]:
    """A twin whose ports are UNIX sockets: virtual time does not need them."""
    if reason := why_not("twin"):
        pytest.skip(reason)
    built = make_built()
    state = tmp_path_factory.mktemp("virtual") / "bed"
    running = built.target.start(built.testbed, built.build, state, quietly)
    try:
        program(running, built.testbed)
        yield Live(running, built.testbed, state, built.target, {})
    finally:
        built.target.stop(state)


def make_built() -> Built:
    from olafctl.targets.testbeds import load

    from .conftest import LAPTOP

    bed = load(LAPTOP)
    ports = tuple(dataclasses.replace(port, transport=Transport.UNIX) for port in bed.ports)
    bed = dataclasses.replace(bed, ports=ports)
    target = registry.get("twin")
    return Built(target, bed, target.build(bed, quietly))


def stream(live: Live, count: int, gap: int) -> list[TimedFrame]:
    workers = live.testbed.workers
    turns = [(index, workers[index % len(workers)]) for index in range(count)]
    return [TimedFrame(index * gap, worker.port, update(live, worker, index, 1.0)) for index, worker in turns]


def endless(live: Live) -> Iterator[TimedFrame]:
    frame = update(live, live.testbed.workers[0], 1, 1.0)
    return (TimedFrame(1000 * index, 2, frame) for index in itertools.count())


def test_one_source_cannot_flood_the_control_plane(twin: Live) -> None:
    """250 at once and 250 a second of each source go there; what is beyond is dropped and counted."""
    server = endpoint(twin.testbed.parameter_servers[0])

    def message(worker: int) -> bytes:
        return Datagram(endpoint(twin.testbed.workers[worker]), server, b"x", CONTROL_TOS).encode()

    def lost(frames: list[TimedFrame]) -> int:
        before = twin.running.stats()["losses"]["packet_ins"]
        assert list(twin.running.replay(iter(frames))) == []
        return int(twin.running.stats()["losses"]["packet_ins"] - before)

    flooding, other = message(0), message(1)
    flood = [TimedFrame(index, 2, flooding) for index in range(1000)]
    assert lost([*flood, *(TimedFrame(1000 + index, 2, other) for index in range(200))]) == 750
    later = [TimedFrame(10**12 + index * 10**9, 2, flooding) for index in range(500)]
    assert lost(later) == 0


def test_many_sources_at_one_port_cannot_flood_the_control_plane(twin: Live) -> None:
    """500 at once and 200 a second of each port go there, however many they come from."""
    server = endpoint(twin.testbed.parameter_servers[0])

    def message(number: int) -> bytes:
        ip = IPv4Address("10.77.0.0") + number
        return Datagram(Endpoint(default_mac(ip), ip, 41000), server, b"x", CONTROL_TOS).encode()

    def lost(frames: list[TimedFrame]) -> int:
        before = twin.running.stats()["losses"]["packet_ins"]
        assert list(twin.running.replay(iter(frames))) == []
        return int(twin.running.stats()["losses"]["packet_ins"] - before)

    begin = 2 * 10**14
    flood = [TimedFrame(begin + number, 2, message(number)) for number in range(1200)]
    others = [TimedFrame(begin + 2000 + number, 3, message(number)) for number in range(300)]
    assert lost([*flood, *others]) == 700


def test_a_lone_update_takes_a_few_cycles_whenever_it_comes(twin: Live) -> None:
    latencies = set()
    for time in (0, 1000, 123_456, 10**9):
        frame = update(twin, twin.testbed.workers[0], 1, 1.0)
        (left,) = twin.running.replay(iter([TimedFrame(time, 2, frame)]))
        assert (left.port, left.frame) == (1, frame)
        latencies.add((left.time - time) // NS_PER_CYCLE)
    assert len(latencies) <= 2
    assert max(latencies) < 20


def test_uncongested_frames_leave_in_order_counted_again(twin: Live) -> None:
    frames = stream(twin, 500, 1000)
    for _ in range(2):
        left = list(twin.running.replay(iter(frames)))
        assert [item.frame for item in left] == [item.frame for item in frames]
        assert [item.time for item in left] == sorted(item.time for item in left)
        counted = of_root(twin.running.queues).read_all()
        assert (counted["in_updates"], counted["out_updates"]) == (500, 500)


def test_a_narrow_output_merges_and_conserves(twin: Live) -> None:
    registers = of_root(twin.running.queues)
    registers.write("rate", rate_word(1_000_000_000))
    try:
        frames = stream(twin, 600, 100)
        first = list(twin.running.replay(iter(frames)))
        again = list(twin.running.replay(iter(frames)))
        counted = registers.read_all()
    finally:
        registers.write("rate", 0)
    assert first == again
    assert counted["merged"] > 0
    assert counted["rate"] == rate_word(1_000_000_000)
    assert counted["resident_updates"] == 0
    counts = [OlafFrame.decode(item.frame).count for item in first]
    assert len(first) == counted["out_updates"]
    dropped_or_replaced = counted["replaced_worker"] + counted["dropped_full"]
    assert counted["in_updates"] == 600 == len(first) + counted["merged"] + dropped_or_replaced
    assert sum(counts) >= len(first)
    # A second frame does not begin before the first is paid for: 128 bytes at 1 Gb/s take 1024 ns.
    gaps = np.diff([item.time for item in first])
    assert gaps.min() >= 1000


def test_acks_are_copied_to_every_member_at_one_time(twin: Live) -> None:
    server, worker = twin.testbed.parameter_servers[0], twin.testbed.workers[0]
    ends = endpoint(server), endpoint(worker)
    frame = OlafFrame(*ends, FrameType.ACK, 0, 1, 1, 0.0, 1, np.zeros(0, np.float32)).encode()
    left = list(twin.running.replay(iter([TimedFrame(400, 1, frame)])))
    assert [item.port for item in left] == [member.port for member in twin.testbed.workers]
    assert len({item.time for item in left}) == 1
    receivers = [OlafFrame.decode(item.frame).destination for item in left]
    assert receivers == [endpoint(member) for member in twin.testbed.workers]


def test_driven_step_by_step_everything_leaves_as_in_a_replay(twin: Live) -> None:
    registers = of_root(twin.running.queues)
    registers.write("rate", rate_word(1_000_000_000))
    frames = stream(twin, 300, 700)
    stepwise: list[TimedFrame] = []
    waiting = True
    try:
        whole = list(twin.running.replay(iter(frames)))
        with closing(twin.running.virtual_time()) as session:
            for now in range(0, frames[-1].time + 10_000, 10_000):
                while frames and frames[0].time <= now:
                    session.arrive(frames.pop(0))
                advanced = session.advance(now)
                assert all(now - 10_000 < item.time <= now for item in advanced.left)
                stepwise += advanced.left
            while waiting:
                now += 10_000
                advanced = session.advance(now)
                stepwise += advanced.left
                waiting = advanced.next is not None
    finally:
        registers.write("rate", 0)
    assert stepwise == whole
    assert len(whole) < 300


def test_what_is_sent_may_depend_on_what_has_left(twin: Live) -> None:
    server, worker = twin.testbed.parameter_servers[0], twin.testbed.workers[0]
    answer = OlafFrame(
        endpoint(server), endpoint(worker), FrameType.ACK, 0, 1, 1, 0.0, 1, np.zeros(0, np.float32)
    )
    with closing(twin.running.virtual_time()) as session:
        assert session.advance(1000) == Advanced([], None)
        session.arrive(TimedFrame(1000, worker.port, update(twin, worker, 1, 1.0)))
        assert session.advance(1000).next is not None
        (left,) = session.advance(2000).left
        session.arrive(TimedFrame(left.time + 5000, server.port, answer.encode()))
        advanced = session.advance(10**12)
        assert [item.port for item in advanced.left] == [each.port for each in twin.testbed.workers]
        assert advanced.next is None


def test_more_than_the_streams_hold_goes_both_ways_in_one_step(twin: Live) -> None:
    frame = wide(twin)
    with closing(twin.running.virtual_time()) as session:
        for time in range(3000):
            session.arrive(TimedFrame(1000 * time, 4, frame))
        assert len(session.advance(10**9).left) == 3000


def wide(live: Live) -> bytes:
    """1500 bytes that bypass the queue, from the uplink to a worker."""
    gradient = np.ones(359, np.float32)
    ends = endpoint(live.testbed.hosts[0]), endpoint(live.testbed.workers[0])
    return OlafFrame(*ends, FrameType.INIT, 0, 1, 1, 0.0, 0, gradient).encode()


def test_a_wrong_step_ends_the_session_with_the_reason(twin: Live) -> None:
    with closing(twin.running.virtual_time()) as session:
        session.advance(5)
        with pytest.raises(OlafError, match="4 ns after one at 5 ns"):
            session.advance(4)
    with closing(twin.running.virtual_time()) as first, closing(twin.running.virtual_time()) as second:
        assert first.advance(5).next is None
        with pytest.raises(OlafError, match="another replay"):
            second.advance(5)
    assert twin.running.alive()


def test_nothing_in_nothing_out(twin: Live) -> None:
    assert list(twin.running.replay(iter([]))) == []


@pytest.mark.parametrize(
    ("times", "port", "size", "word"),
    [
        ([5, 4], 2, 60, "4 ns after one at 5 ns"),
        ([1], 500, 60, "front port 500"),
        ([1], 2, 20000, "20000 bytes"),
    ],
)
def test_wrong_frames_end_the_session_with_the_reason(
    twin: Live, times: list[int], port: int, size: int, word: str
) -> None:
    with pytest.raises(OlafError, match=word):
        list(twin.running.replay(TimedFrame(time, port, bytes(size)) for time in times))
    assert twin.running.alive()


def test_what_the_source_of_frames_raises_comes_out(twin: Live) -> None:
    def broken() -> Iterator[TimedFrame]:
        yield TimedFrame(0, 2, update(twin, twin.testbed.workers[0], 1, 1.0))
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        list(twin.running.replay(broken()))


def test_a_session_may_be_left_early(twin: Live) -> None:
    leaving = twin.running.replay(endless(twin))
    assert next(leaving).port == 1
    leaving.close()
    assert len(list(twin.running.replay(iter(stream(twin, 10, 1000))))) == 10


def test_one_session_at_a_time(twin: Live) -> None:
    leaving = twin.running.replay(endless(twin))
    next(leaving)
    with pytest.raises(OlafError, match="another replay"):
        list(twin.running.replay(iter([])))
    assert of_root(twin.running.queues).read("slots") == twin.testbed.root.slots
    leaving.close()


def test_before_the_pipelines_are_pushed_it_is_refused(tmp_path: Path) -> None:
    if reason := why_not("twin"):
        pytest.skip(reason)
    built = make_built()
    running = built.target.start(built.testbed, built.build, tmp_path / "bed", quietly)
    try:
        with pytest.raises(OlafError, match="no pipeline"):
            list(running.replay(iter([TimedFrame(0, 2, bytes(60))])))
    finally:
        built.target.stop(tmp_path / "bed")


def test_damaged_frames_change_nothing_but_counters(twin: Live) -> None:
    random = Random(7)
    sound = update(twin, twin.testbed.workers[0], 1, 1.0)

    def damaged() -> Iterator[TimedFrame]:
        for index in range(3000):
            frame = bytearray(sound)
            for _ in range(random.randrange(4)):
                frame[random.randrange(len(frame))] = random.randrange(256)
            cut = random.randrange(len(frame) + 1) if index % 3 == 0 else len(frame)
            yield TimedFrame(500 * index, random.randrange(1, 5), bytes(frame[:cut]) or b"\0")

    assert 0 < sum(1 for _ in twin.running.replay(damaged())) < 3000
    counted = of_root(twin.running.queues).read_all()
    outcomes = sum(counted[name] for name in DISPOSITIONS)
    assert counted["in_updates"] == counted["out_updates"] + counted["merged"] + outcomes
    assert counted["resident_updates"] == 0
    frames = stream(twin, 10, 1000)
    assert [item.frame for item in twin.running.replay(iter(frames))] == [item.frame for item in frames]
