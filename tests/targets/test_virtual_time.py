"""Virtual time: frames carry their own times, the queue is exact to the cycle, and runs repeat."""

import itertools
from collections.abc import Iterator
from contextlib import closing
from ipaddress import IPv4Address
from pathlib import Path

import numpy as np
import pytest

from olafctl.membership.model import default_mac
from olafctl.queue.registers import rate_word
from olafctl.targets import registry
from olafctl.targets.interface import Advanced, TimedFrame, of_root
from olafctl.wire.frames import Datagram, Endpoint
from olafctl.wire.layouts import CONTROL_TOS, FrameType
from olafswitch.errors import OlafError
from olafswitch.ports.transport import Transport
from olaftest.frames import OlafFrame, endpoint_of

from .conftest import Live, need_target, started, update
from .test_transports import bed_of

NS_PER_CYCLE = 4


@pytest.fixture(scope="module")
def twin(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Live]:
    """Provide a twin whose ports are UNIX sockets: virtual time does not need them."""
    need_target("twin")
    bed, state = bed_of(Transport.UNIX), tmp_path_factory.mktemp("virtual") / "bed"
    with started(bed, "twin", state) as running:
        yield Live(running, bed, state, registry.get_target("twin"), {})


def stream(live: Live, count: int, gap: int) -> list[TimedFrame]:
    workers = live.testbed.workers
    turns = [(index, workers[index % len(workers)]) for index in range(count)]
    return [
        TimedFrame(index * gap, worker.port, update(live.testbed, worker, index)) for index, worker in turns
    ]


def endless(live: Live) -> Iterator[TimedFrame]:
    frame = update(live.testbed, live.testbed.workers[0], 1)
    return (TimedFrame(1000 * index, 2, frame) for index in itertools.count())


def lost(twin: Live, frames: list[TimedFrame]) -> int:
    """Return how many of these messages to the control plane are dropped."""
    before = twin.running.stats()["losses"]["packet_ins"]
    assert list(twin.running.replay(iter(frames))) == []
    return int(twin.running.stats()["losses"]["packet_ins"] - before)


def test_one_source_cannot_flood_the_control_plane(twin: Live) -> None:
    """250 at once and 250 a second of each source go there; further ones are dropped and counted."""
    server = endpoint_of(twin.testbed.parameter_servers[0])

    def message(worker: int) -> bytes:
        return Datagram(endpoint_of(twin.testbed.workers[worker]), server, b"x", CONTROL_TOS).encode()

    flooding, other = message(0), message(1)
    flood = [TimedFrame(index, 2, flooding) for index in range(1000)]
    assert lost(twin, [*flood, *(TimedFrame(1000 + index, 2, other) for index in range(200))]) == 750
    later = [TimedFrame(10**12 + index * 10**9, 2, flooding) for index in range(500)]
    assert lost(twin, later) == 0


def test_many_sources_at_one_port_cannot_flood_the_control_plane(twin: Live) -> None:
    """500 at once and 200 a second of each port go there, however many sources they come from."""
    server = endpoint_of(twin.testbed.parameter_servers[0])

    def message(number: int) -> bytes:
        ip = IPv4Address("10.77.0.0") + number
        return Datagram(Endpoint(default_mac(ip), ip, 41000), server, b"x", CONTROL_TOS).encode()

    begin = 2 * 10**14
    flood = [TimedFrame(begin + number, 2, message(number)) for number in range(1200)]
    others = [TimedFrame(begin + 2000 + number, 3, message(number)) for number in range(300)]
    assert lost(twin, [*flood, *others]) == 700


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


def test_what_is_sent_may_depend_on_what_has_left(twin: Live) -> None:
    server, worker = twin.testbed.parameter_servers[0], twin.testbed.workers[0]
    answer = OlafFrame(endpoint_of(server), endpoint_of(worker), FrameType.ACK, seq=1, gen_time=1)
    with closing(twin.running.virtual_time()) as session:
        assert session.advance(1000) == Advanced([], None)
        session.arrive(TimedFrame(1000, worker.port, update(twin.testbed, worker, 1)))
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
    """Return 1500 bytes that bypass the queue, from the uplink to a worker."""
    gradient = np.ones(359, np.float32)
    ends = endpoint_of(live.testbed.hosts[0]), endpoint_of(live.testbed.workers[0])
    return OlafFrame(*ends, FrameType.INIT, seq=1, gradient=gradient).encode()


def test_a_wrong_step_ends_the_session_with_the_reason(twin: Live) -> None:
    with closing(twin.running.virtual_time()) as session:
        session.advance(5)
        with pytest.raises(OlafError, match="4 ns after one at 5 ns"):
            session.advance(4)
    with closing(twin.running.virtual_time()) as first:
        assert first.advance(5).next is None
        with (
            closing(twin.running.virtual_time()) as second,
            pytest.raises(OlafError, match="another replay"),
        ):
            second.advance(5)
    assert twin.running.alive()


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


def test_a_session_may_be_left_early(twin: Live) -> None:
    leaving = twin.running.replay(endless(twin))
    assert next(leaving).port == 1
    leaving.close()
    assert len(list(twin.running.replay(iter(stream(twin, 10, 1000))))) == 10


def test_before_the_pipelines_are_pushed_it_is_refused(tmp_path: Path) -> None:
    need_target("twin")
    state = tmp_path / "bed"
    with (
        started(bed_of(Transport.UNIX), "twin", state, programmed=False) as running,
        pytest.raises(OlafError, match="no pipeline"),
    ):
        list(running.replay(iter([TimedFrame(0, 2, bytes(60))])))
