"""Workers and a parameter server over a network that loses, repeats, reorders and invents frames."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from random import Random

import numpy as np
import pytest

from olaf.errors import BadAddress, OtherModel
from olaf.policies import Plain, PolicyMaker
from olaf.server import ParameterServer
from olaf.transport import wire
from olaf.transport.port import Address, Bytes
from olaf.transport.segments import JUMBO_MTU, STANDARD_MTU, Segments, Vector
from olaf.transport.virtual import Medium, VirtualNetwork
from olaf.worker import Worker
from tests.testnet import (
    DELAY,
    SERVER,
    Lossy,
    Tap,
    acknowledge,
    every,
    of,
    vector,
    weights_of,
    worker_address,
)

AT = f"{SERVER[0]}:{SERVER[1]}"


plain = partial(Plain, rate=0.1)


class Lab:
    """One server and workers that know its address."""

    def __init__(self, values: int, workers: int = 1, medium: Medium | None = None, mtu: int = STANDARD_MTU):
        self.network = VirtualNetwork(medium or Lossy())
        self.values, self.mtu = values, mtu
        self.server = self.serve()
        self.workers = [self.worker(number) for number in range(workers)]

    def serve(self, policy: str | PolicyMaker = plain, **options: object) -> ParameterServer:
        return ParameterServer(policy=policy, port=self.network.port(SERVER), **options)  # type: ignore[arg-type]

    def worker(self, number: int, **options: object) -> Worker:
        port = self.network.port(worker_address(number))
        options = {"mtu": self.mtu, "seed": number, **options}
        return Worker(AT, self.values, port=port, **options)  # type: ignore[arg-type]

    def run_lab(self, seconds: float) -> None:
        self.network.run(self.network.time + seconds)

    def begin(self) -> None:
        for worker in self.workers:
            worker.begin(vector(self.values))
        assert all(worker.wait(30.0) for worker in self.workers)
        for worker in self.workers:
            worker.poll()


def adopted(worker: Worker, into: Vector) -> Vector:
    for block in worker.poll():
        into[block.place] = block.values
    return into


def test_the_first_workers_weights_initialise_the_model() -> None:
    lab = Lab(1000, workers=3)
    for number, worker in enumerate(lab.workers):
        lab.network.at(0.01 * number, partial(worker.begin, vector(1000, seed=number)))
    lab.run_lab(2.0)
    for worker in lab.workers:
        assert np.array_equal(adopted(worker, np.zeros(1000, np.float32)), vector(1000, seed=0))


@pytest.mark.parametrize("mtu", [STANDARD_MTU, JUMBO_MTU])
@pytest.mark.parametrize("values", [1, 2205, 9797])
def test_an_update_of_any_size_moves_the_weights(values: int, mtu: int) -> None:
    lab = Lab(values, mtu=mtu)
    lab.begin()
    (worker,) = lab.workers
    gradient = vector(values, seed=7)
    assert worker.offer(gradient, 1.0)
    lab.run_lab(1.0)
    expected = vector(values) + np.float32(0.1) * gradient
    assert np.array_equal(adopted(worker, np.zeros(values, np.float32)), expected)
    assert lab.server.versions() == [1] * Segments.of(values, mtu).count
    assert worker.counters.acks == worker.counters.sent == lab.server.counters().applied


def test_training_survives_loss_repetition_and_reordering() -> None:
    lab = Lab(1000, workers=4, medium=Lossy(loss=0.3, repeat=0.3, spread=0.05, seed=3))
    lab.begin()
    goal = vector(1000, seed=99)
    held = [vector(1000) for _ in lab.workers]

    def step(_: int) -> None:
        for worker, weights in zip(lab.workers, held):
            adopted(worker, weights)
            worker.offer(goal - weights, 0.0)

    every(lab.network, 0.02, 200, step)
    lab.run_lab(10.0)
    weights = weights_of(lab.server)
    assert np.abs(weights - goal).max() < 1e-3
    counted = lab.server.counters()
    assert counted.duplicates > 0
    assert counted.received == counted.applied + counted.duplicates


def test_a_repeated_update_is_answered_but_not_applied_again() -> None:
    def twice(source: Address, to: Address, datagram: bytes) -> Iterable[bytes]:
        return [datagram, datagram] if to == SERVER else [datagram]

    lab = Lab(10, medium=Tap(twice))
    lab.begin()
    lab.workers[0].offer(np.ones(10, np.float32), 1.0)
    lab.run_lab(1.0)
    assert lab.server.counters().applied == lab.server.counters().duplicates == 1
    assert lab.workers[0].counters.acks == 2


def test_a_frame_that_the_network_merged_counts_for_all_in_it() -> None:
    waiting: list[bytes] = []

    def merge(source: Address, to: Address, datagram: bytes) -> Iterable[bytes]:
        header = wire.Olaf.unpack(datagram)
        if header.frame_type != wire.FrameType.UPDATE:
            return [datagram]
        waiting.append(datagram)
        if len(waiting) < 3:
            return []
        total = sum(np.frombuffer(one, "<f4", offset=wire.OLAF_BYTES) for one in waiting)
        header.count, header.flags = len(waiting), wire.Flag.AGGREGATED
        return [header.pack() + np.asarray(total, "<f4").tobytes()]

    lab = Lab(10, workers=3, medium=Tap(merge))
    lab.begin()
    for number, worker in enumerate(lab.workers):
        worker.offer(np.full(10, number, np.float32), 1.0)
    lab.run_lab(1.0)
    counted = lab.server.counters()
    assert (counted.received, counted.updates, counted.applied) == (1, 3, 1)
    assert np.array_equal(weights_of(lab.server), vector(10) + np.float32(0.1) * np.full(10, 3, np.float32))


def test_what_may_not_be_sent_is_folded_into_the_next_update() -> None:
    def congested(source: Address, to: Address, datagram: bytes) -> Iterable[bytes]:
        header = wire.Olaf.unpack(datagram)
        if header.frame_type == wire.FrameType.ACK:
            header.flags |= wire.Flag.STATUS
            status = wire.OlafStatus(4, 16, 4, wire.StatusFlag.CONGESTED)
            return [header.pack() + status.pack() + datagram[wire.OLAF_BYTES :]]
        return [datagram]

    lab = Lab(400, medium=Tap(congested))
    lab.begin()
    (worker,) = lab.workers
    every(lab.network, 0.01, 400, lambda _: worker.offer(np.full(400, 0.25, np.float32), 1.0))
    lab.run_lab(10.0)
    assert worker.probability > 0.25
    assert worker.counters.held == pytest.approx(300, abs=40)
    expected = vector(400) + np.float32(0.1) * (100 - worker.held)
    assert weights_of(lab.server) == pytest.approx(expected, abs=1e-4)
    assert worker.status is not None
    assert worker.status.slots == 4


def test_segments_refused_by_the_socket_go_with_the_next() -> None:
    lab = Lab(1000)
    lab.begin()
    (worker,) = lab.workers
    send, refused = worker._port.send, [1]

    def full(to: Address, header: bytes, body: Bytes = b"", tos: int = 0) -> bool:
        if wire.Olaf.unpack(header).segment in refused:
            refused.clear()
            return False
        return send(to, header, body, tos)

    worker._port.send = full  # type: ignore[method-assign]
    gradient = vector(1000, seed=3)
    assert not worker.offer(gradient, 1.0)
    assert np.array_equal(np.flatnonzero(worker.held), np.arange(*worker.segments.slice(1).indices(1000)))
    assert worker.offer(gradient, 1.0)
    lab.run_lab(1.0)
    assert worker.counters.blocked == 1
    assert worker.counters.held == 0
    assert weights_of(lab.server) == pytest.approx(vector(1000) + np.float32(0.2) * gradient, abs=1e-5)


def test_held_parts_carry_their_oldest_version() -> None:
    seen: list[int] = []

    def watch(source: Address, to: Address, datagram: bytes) -> Iterable[bytes]:
        header = wire.Olaf.unpack(datagram)
        if header.frame_type == wire.FrameType.UPDATE:
            seen.append(header.weights_version)
        return [datagram]

    lab = Lab(10, workers=2, medium=Tap(watch))
    lab.begin()
    fast, slow = lab.workers
    slow.control.draw = lambda now: False  # type: ignore[method-assign]
    slow.offer(np.ones(10, np.float32), 1.0)
    fast.offer(np.ones(10, np.float32), 1.0)
    lab.run_lab(1.0)
    acknowledge(slow, 1, np.zeros(10, np.float32))
    slow.control.draw = lambda now: True  # type: ignore[method-assign]
    slow.offer(np.ones(10, np.float32), 1.0)
    slow.offer(np.ones(10, np.float32), 1.0)  # still computed from version 0: 1 was not taken yet
    slow.poll()
    slow.offer(np.ones(10, np.float32), 1.0)
    lab.run_lab(1.0)
    assert seen == [0, 0, 0, 1]


def test_garbage_changes_nothing() -> None:
    lab = Lab(500, workers=1)
    lab.begin()
    (worker,) = lab.workers
    random = Random(0)
    before = weights_of(lab.server)
    stranger = lab.network.port(("10.9.9.9", 1))
    real = wire.Olaf(1, wire.FrameType.UPDATE, 0, 0, 1, 1, 1.0, 0, 0, 0)
    for _ in range(1000):
        size = random.choice([0, 1, 21, 22, 23, 30, 100, 1400])
        stranger.send(SERVER, random.randbytes(size))
        stranger.send(worker_address(0), random.randbytes(size))
    for bad in (b"", bytes(4), b"\xff" * 1000, b"\x00\x00\xc0\x7f" * 250):
        stranger.send(SERVER, real.pack(), bad)
    lab.run_lab(1.0)
    assert np.array_equal(weights_of(lab.server), before)
    assert lab.server.counters().unusable > 0
    assert lab.server.garbage > 0
    assert worker.poll() == []
    worker.offer(vector(500), 1.0)
    lab.run_lab(1.0)
    assert worker.poll()


def test_weights_that_are_not_numbers_are_not_adopted() -> None:
    lab = Lab(10)
    lab.begin()
    ack = wire.Olaf(1, wire.FrameType.ACK, 0, 0, 1, 1, 1.0, 0, 0, 9)
    lab.workers[0].receive(of(ack.pack() + b"\x00\x00\xc0\x7f" * 10), SERVER)
    assert lab.workers[0].poll() == []
    assert lab.workers[0].counters.refused == 1


def test_updates_of_other_types_are_taken_as_binary32_or_refused() -> None:
    lab = Lab(10)
    lab.begin()
    worker = lab.workers[0]
    worker.offer(np.full(10, 1e300), 0.0)
    assert worker.counters.broken == 1
    with pytest.raises(TypeError, match="complex"):
        worker.offer(np.ones(10, np.complex64), 0.0)
    worker.offer([1] * 10, 0.0)  # type: ignore[arg-type]
    lab.run_lab(1.0)
    assert (lab.server.counters().applied, lab.server.counters().unusable) == (1, 0)


@pytest.mark.parametrize("initial", [np.full(10, np.nan), np.full(10, 1e300), np.zeros(9)])
def test_initial_weights_that_no_server_takes_are_refused(initial: Vector) -> None:
    lab = Lab(10)
    with pytest.raises(ValueError, match="10 finite numbers"):
        lab.workers[0].begin(initial)


@pytest.mark.parametrize("epoch", [-1, 16])
def test_an_epoch_that_no_frame_carries_is_refused(epoch: int) -> None:
    with pytest.raises(ValueError, match="not from 0 to 15"):
        Worker("127.0.0.1", 10, epoch=epoch)


def test_a_port_without_a_listener_is_refused() -> None:
    for where in ("127.0.0.1:0", "olaf://job@127.0.0.1:0"):
        with pytest.raises(BadAddress, match="port 0"):
            Worker(where, 10)


@pytest.mark.parametrize("rate", [float("nan"), float("inf"), 1e39])
def test_a_rate_that_binary32_cannot_hold_is_refused(rate: float) -> None:
    with pytest.raises(ValueError, match="finite"):
        Plain(np.zeros(3, np.float32), rate=rate)


def test_a_server_without_checkpoint_restarts_from_its_workers() -> None:
    lab = Lab(800, workers=2)
    lab.begin()
    still = np.zeros(800, np.float32)
    for gradient in (vector(800, seed=4), still):  # after the second both know the newest weights
        for worker in lab.workers:
            worker.offer(gradient, 1.0)
        lab.run_lab(1.0)
    before = weights_of(lab.server)
    lab.server.close()
    lab.server = lab.serve()
    every(lab.network, 0.05, 20, lambda _: [w.offer(still, 1.0) for w in lab.workers])
    lab.run_lab(5.0)
    assert np.array_equal(weights_of(lab.server), before)
    assert lab.server.counters().before_weights > 0
    assert all(worker.begun for worker in lab.workers)


def test_a_restarted_worker_is_not_its_own_duplicate() -> None:
    lab = Lab(10)
    lab.begin()
    lab.workers[0].offer(np.ones(10, np.float32), 1.0)
    lab.run_lab(1.0)
    lab.workers[0].close()
    again = lab.worker(0, seed=77)
    again.begin(vector(10, seed=5))
    assert again.wait(5.0)
    assert np.array_equal(adopted(again, np.zeros(10, np.float32)), weights_of(lab.server))
    again.offer(np.ones(10, np.float32), 1.0)
    lab.run_lab(1.0)
    assert lab.server.counters().applied == 2


def test_frames_of_another_epoch_are_refused_on_both_sides() -> None:
    lab = Lab(10)
    lab.begin()
    lab.server.begin("default", epoch=1)
    lab.workers[0].offer(np.ones(10, np.float32), 1.0)
    lab.run_lab(1.0)
    assert lab.server.counters().other_epoch > 0
    assert lab.server.versions() == []
    late = wire.Olaf(1, wire.FrameType.ACK, 3, 0, 1, 1, 1.0, 0, 0, 5)
    lab.workers[0].receive(of(late.pack() + bytes(40)), SERVER)
    assert lab.workers[0].poll() == []


def test_a_server_with_another_model_is_named() -> None:
    lab = Lab(10)
    lab.begin()
    lab.values = 11
    other = lab.worker(5)
    other.begin(vector(11))
    with pytest.raises(OtherModel, match=r"10 values.*11"):
        other.wait(5.0)


def test_each_cluster_has_its_own_model_and_strangers_none() -> None:
    network = VirtualNetwork(Lossy())
    members = {worker_address(0)[0]: "left", worker_address(1)[0]: "right"}
    server = ParameterServer(policy=plain, members=members, port=network.port(SERVER))
    workers = [
        Worker(AT, values, port=network.port(worker_address(number)), seed=number)
        for number, values in enumerate((10, 700, 10))
    ]
    for worker in workers:
        worker.begin(np.ones(worker.segments.values, np.float32))
    network.run(2.0)
    assert [worker.begun for worker in workers] == [True, True, False]
    assert len(weights_of(server, "left")) == 10
    assert len(weights_of(server, "right")) == 700
    assert server.garbage > 0


def test_age_of_model_survives_clocks_that_jump() -> None:
    lab = Lab(10)
    lab.begin()
    (worker,) = lab.workers
    port = worker._port
    every(lab.network, 0.1, 10, lambda _: worker.offer(np.ones(10, np.float32), 1.0))
    lab.network.at(0.55, lambda: setattr(port, "skew", 3600 * 10**9))
    lab.network.at(0.75, lambda: setattr(port, "skew", -3600 * 10**9))
    lab.run_lab(0.5)
    age = lab.server.age_of_model()
    assert age is not None
    assert DELAY < age < 0.1 + DELAY
    lab.run_lab(2.0)
    assert lab.server.counters().clock_ahead > 0
    assert lab.server.counters().applied == 10


def test_a_run_repeats_exactly() -> None:
    def run_once() -> tuple[object, ...]:
        lab = Lab(1000, workers=3, medium=Lossy(0.2, 0.1, 0.05, seed=9))
        lab.begin()
        every(lab.network, 0.03, 50, lambda n: [w.offer(vector(1000, n), 1.0) for w in lab.workers])
        lab.run_lab(5.0)
        return (
            weights_of(lab.server).tobytes(),
            lab.server.counters(),
            [worker.counters for worker in lab.workers],
        )

    assert run_once() == run_once()


def test_an_update_of_another_length_is_refused_at_once() -> None:
    lab = Lab(10)
    with pytest.raises(ValueError, match="10"):
        lab.workers[0].offer(np.ones(9, np.float32), 1.0)


def test_every_segment_has_its_turn_in_a_queue_that_holds_few() -> None:
    """Only the first two frames of a burst get through; no segment is always among the others."""
    seen: list[float] = []
    through: set[int] = set()

    def first_two(source: Address, to: Address, datagram: bytes) -> Iterable[bytes]:
        header = wire.Olaf.unpack(datagram)
        if header.frame_type == wire.FrameType.UPDATE:
            seen.append(lab.network.time)
            if seen.count(lab.network.time) > 2:
                return
            through.add(header.segment)
        yield datagram

    lab = Lab(2000, medium=Tap(first_two))
    lab.begin()
    (worker,) = lab.workers
    assert worker.segments.count > 4
    for _ in range(worker.segments.count):
        worker.offer(vector(2000), 0.0)
        lab.run_lab(0.1)
    assert through == set(range(worker.segments.count))
