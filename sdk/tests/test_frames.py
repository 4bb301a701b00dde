"""Runs of frames: written and read together as one by one; nothing follows from how they come."""

from __future__ import annotations

import contextlib
from dataclasses import asdict
from functools import partial

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from olaf.policies import Outcome, Periodic, Plain, PolicyMaker, RewardGated, Synchronous, Update
from olaf.server import ParameterServer
from olaf.transport import frames, wire
from olaf.transport.port import Address, Bytes, Party, Run
from olaf.transport.segments import Segments, Vector, blocks, payload
from olaf.worker import Worker
from tests.testnet import SERVER, vector, worker_address

VALUES, SEGMENTS = 23, Segments(23, 5)
POLICIES: dict[str, PolicyMaker] = {
    "olaf": partial(RewardGated, rate=0.1),
    "plain": partial(Plain, rate=0.1),
    "periodic": partial(Periodic, rate=0.1, updates=3),
    "synchronous": partial(Synchronous, rate=0.1, workers=2, deadline=1.0),
}


class Bench:
    """A port without a network: its clock is set by the test, and what is sent is kept."""

    def __init__(self, address: Address, places: int = 1 << 30) -> None:
        self.address = address
        self.room = 1 << 30
        self.lock = contextlib.nullcontext()
        self.sent: list[tuple[Address, bytes]] = []
        self.time = 0.0
        self.places = places
        """Datagrams that can be sent."""

    def mtu(self, peer: Address) -> int:
        return 9022

    def reachable(self, peer: Address) -> Address:
        return self.address

    def now(self) -> float:
        return self.time

    def wall(self) -> int:
        return round(self.time * 1e9)

    def send(self, to: Address, header: bytes, body: Bytes = b"", tos: int = 0) -> bool:
        self.places -= 1
        if self.places >= 0:
            self.sent.append((to, header + bytes(body)))
        return self.places >= 0

    def send_run(self, to: Address, run: Run) -> int:
        fit = min(len(run), max(self.room, 0))
        return sum(self.send(to, bytes(datagram)) for datagram in run.part(0, fit))

    def serve(self, party: Party) -> None:
        pass

    def wake(self) -> None:
        pass

    def wait(self, until: object, seconds: float) -> bool:
        return False

    def close(self) -> None:
        pass


def header(kind: int, seq: int, segment: int = 0, policy: int = 0, reward: float = 0.0) -> wire.Olaf:
    return wire.Olaf(wire.VERSION, kind, 0, 0, 1, seq, reward, seq * 1000, segment, policy)


def block(weights: Vector, segment: int) -> bytes:
    return bytes(payload(weights[SEGMENTS.slice(segment)]))


@given(first=st.integers(0, 4), count=st.integers(1, 5), versions=st.lists(st.integers(0, 65535), min_size=5))
def test_a_run_is_what_its_frames_are_one_by_one(first: int, count: int, versions: list[int]) -> None:
    count = min(count, SEGMENTS.count - first)
    weights, policies = vector(VALUES), versions[:count]
    place = SEGMENTS.span(range(first, first + count))
    run = frames.Writer().run(header(1, 7, first), policies, blocks(weights[place], SEGMENTS.size))
    alone = [
        header(1, 7, first + number, policy).pack() + block(weights, first + number)
        for number, policy in enumerate(policies)
    ]
    assert [bytes(datagram) for datagram in run] == alone
    assert [bytes(piece.data) for piece in frames.together(run)] == [b"".join(alone)]
    assert frames.weights_versions(run) == policies
    assert np.array_equal(frames.Reader().values(run, wire.OLAF_BYTES), weights[place])


def test_fields_that_differ_by_segment_end_the_header() -> None:
    assert wire.OLAF_SEGMENT_AT + 2 == wire.OLAF_WEIGHTS_VERSION_AT == wire.OLAF_BYTES - 2


@given(st.lists(st.binary(max_size=60), min_size=1, max_size=6), st.integers(1, 50))
def test_any_bytes_are_cut_into_their_datagrams_in_order(noise: list[bytes], size: int) -> None:
    run = Run(memoryview(b"".join(noise)), size)
    pieces = frames.together(run)
    assert [bytes(d) for piece in pieces for d in piece] == [bytes(d) for d in run]


def test_frames_without_a_whole_number_of_values_are_refused() -> None:
    with pytest.raises(ValueError, match="whole number"):
        frames.Reader().values(Run(memoryview(bytes(2 * 27)), 27), wire.OLAF_BYTES)


# What one source may send: whole updates or parts of them, once more, late, of another epoch, or noise.
SEQS, REWARDS = st.integers(1, 6), st.sampled_from([-1.0, 0.0, 2.5, *map(float, ("-inf", "inf", "nan"))])


@st.composite
def bursts(draw: st.DrawFn, kind: int) -> list[bytes]:
    """Draw datagrams of one size, except perhaps for the last, as a kernel may hand them over together."""
    datagrams = []
    for _ in range(draw(st.integers(1, 3))):
        head = header(kind, draw(SEQS), reward=draw(REWARDS))
        head.epoch = draw(st.sampled_from([0, 0, 0, 1]))
        head.count = draw(st.sampled_from([1, 1, 2, 0]))
        head.frame_type = draw(st.sampled_from([kind] * 6 + [wire.FrameType.INIT, wire.FrameType.RESULT]))
        head.flags = draw(st.sampled_from([0] * 6 + [wire.Flag.STATUS]))
        first = draw(st.integers(0, 5))
        weights = vector(VALUES + 10, draw(st.integers(0, 3)))
        if draw(st.integers(0, 9)) == 0:
            weights[draw(st.integers(0, VALUES - 1))] = np.inf
        for segment in range(first, draw(st.integers(first, 6))):
            head.segment, head.weights_version = segment, draw(st.sampled_from([1, 1, 2, 40000]))
            # Every frame as long as a whole segment: the last segment's own is shorter, so it ends a burst.
            datagrams.append(head.pack() + bytes(payload(weights[segment * 5 : segment * 5 + 5])))
    if draw(st.booleans()):
        datagrams.append(header(kind, draw(SEQS), 4).pack() + block(vector(VALUES), 4))
    elif draw(st.booleans()):
        datagrams.append(draw(st.binary(max_size=41)))
    return datagrams


def run_of(burst: list[bytes]) -> Run:
    return Run(memoryview(b"".join(burst)), len(burst[0]))


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("whole", [True, False], ids=["with weights", "without"])
@settings(max_examples=25)
@given(steps=st.lists(st.tuples(st.integers(0, 2), bursts(kind=wire.FrameType.UPDATE)), max_size=6))
def test_a_server_does_with_a_run_what_it_does_one_by_one(
    steps: list[tuple[int, list[bytes]]], policy: str, whole: bool
) -> None:
    initial = {"default": (SEGMENTS, vector(VALUES))} if whole else {}
    ports = [Bench(SERVER), Bench(SERVER)]
    together, alone = (ParameterServer(policy=POLICIES[policy], port=p, initial=initial) for p in ports)
    for number, burst in steps:
        if not burst:
            continue
        for port in ports:
            port.time += 0.3
        together.receive(run_of(burst), worker_address(number))
        for datagram in run_of(burst):
            alone.receive(Run(datagram), worker_address(number))
        assert together.tick() == alone.tick()
    assert together.garbage == alone.garbage
    assert asdict(together.counters()) == asdict(alone.counters())
    assert together.versions() == alone.versions()
    assert bits(together.weights()) == bits(alone.weights())
    assert together.age_of_model() == alone.age_of_model()
    assert sorted(ports[0].sent) == sorted(ports[1].sent)


def test_each_frame_of_a_mixed_run_counts_by_itself() -> None:
    port = Bench(SERVER)
    policy = partial(Plain, rate=1.0)
    segments, values = Segments(30, 6), np.ones(5, np.float32)
    initial = {"default": (segments, np.zeros(30, np.float32))}
    server = ParameterServer(policy=policy, port=port, initial=initial)
    burst = []
    for number, segment in enumerate([4, 5, 0, 1, 2, 3]):
        head = header(wire.FrameType.UPDATE, 1, segment)
        head.epoch = int(number == 5)
        burst.append(head.pack() + payload(values * (np.nan if segment == 1 else 1)).tobytes())
    server.receive(run_of(burst), worker_address(0))
    found = server.weights()
    assert found is not None and found.reshape(6, 5)[:, 0].tolist() == [1, 0, 1, 0, 1, 1]
    assert server.versions() == [1, 0, 1, 0, 1, 1]
    counters = server.counters()
    assert (counters.received, counters.applied) == (5, 4)
    assert (counters.unusable, counters.other_epoch) == (1, 1)
    assert sorted(wire.Olaf.unpack(ack).segment for _, ack in port.sent) == [0, 1, 2, 4, 5]


class Rebinding(Plain):
    """A policy of one's own, whose weights are another array after each update, of another type."""

    def take(self, update: Update, now: float) -> list[tuple[Outcome, range]]:
        weights = self.weights.astype(np.float64)
        weights[self.segments.span(update.segments)] += update.gradient
        self.weights = weights  # type: ignore[assignment]
        return [(Outcome.APPLIED, update.segments)]


@pytest.mark.parametrize("policy", [partial(Plain, rate=1.0), Rebinding])
def test_an_answer_has_the_weights_of_its_version(policy: PolicyMaker) -> None:
    port = Bench(SERVER)
    initial = {"default": (SEGMENTS, np.zeros(VALUES, np.float32))}
    server = ParameterServer(policy=policy, port=port, initial=initial)
    for seq in range(1, 4):
        head = header(wire.FrameType.UPDATE, seq)
        update = blocks(np.ones(VALUES, np.float32), SEGMENTS.size)
        run = frames.Writer().run(head, [0] * SEGMENTS.count, update)
        server.receive(Run(run.data, run.size), worker_address(0))
        acks, port.sent = [datagram for _, datagram in port.sent], []
        assert [wire.Olaf.unpack(ack).weights_version for ack in acks] == [seq] * SEGMENTS.count
        values = np.frombuffer(b"".join(ack[wire.OLAF_BYTES :] for ack in acks), "<f4")
        assert values.tolist() == [seq] * VALUES


@settings(max_examples=60)
@given(steps=st.lists(st.tuples(st.sampled_from([0.1, 1.5]), bursts(kind=wire.FrameType.ACK)), max_size=6))
def test_a_worker_does_with_a_run_what_it_does_one_by_one(steps: list[tuple[float, list[bytes]]]) -> None:
    ports = [Bench(worker_address(0)), Bench(worker_address(0))]
    together, alone = (Worker("10.0.0.254", VALUES, segments=5, port=port, seed=1) for port in ports)
    for pause, burst in steps:
        if not burst:
            continue
        for port in ports:
            port.time += pause
        together.receive(run_of(burst), SERVER)
        for datagram in run_of(burst):
            alone.receive(Run(datagram), SERVER)
        for worker in (together, alone):
            worker.offer(vector(VALUES, 9), 1.0)
        assert flat(together) == flat(alone)
        assert together.tick() == alone.tick()
    assert asdict(together.counters) == asdict(alone.counters)
    assert together.status == alone.status
    assert together.probability == alone.probability
    assert ports[0].sent == ports[1].sent


@given(room=st.integers(0, 12), draws=st.lists(st.booleans(), min_size=1, max_size=4))
def test_exactly_what_was_not_sent_is_held(room: int, draws: list[bool]) -> None:
    port = Bench(worker_address(0), room)
    worker = Worker("10.0.0.254", VALUES, segments=5, port=port, seed=1)
    coming = iter(draws)
    worker.control.draw = lambda now: next(coming)  # type: ignore[method-assign]
    offered = np.zeros(VALUES, np.float32)
    for number in range(len(draws)):
        worker.offer(np.full(VALUES, 2.0**number, np.float32), 0.0)
        offered += np.float32(2.0**number)
    arrived = np.zeros(VALUES, np.float32)
    for _, datagram in port.sent:
        segment = wire.Olaf.unpack(datagram).segment
        arrived[SEGMENTS.slice(segment)] += np.frombuffer(datagram[wire.OLAF_BYTES :], "<f4")
    assert np.array_equal(arrived + worker.held, offered)
    assert worker.counters.sent == len(port.sent)
    assert worker.counters.blocked == max(0, 5 * sum(draws) - room)


def flat(worker: Worker) -> tuple[list[int], bytes]:
    """Return the versions and weights that ``poll`` returns, for each value."""
    versions, weights = [-1] * VALUES, np.zeros(VALUES, np.float32)
    for found in worker.poll():
        versions[found.place] = [found.version] * len(found.values)
        weights[found.place] = found.values
    return versions, weights.tobytes()


def bits(weights: Vector | None) -> bytes | None:
    return None if weights is None else weights.tobytes()
