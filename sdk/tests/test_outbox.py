"""How fast a worker goes, what it says when it hears nothing, and what it learns from a server."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import pytest

from olaf import ParameterServer, Worker
from olaf.errors import NoAnswer, OtherModel
from olaf.policies import Plain
from olaf.transport import wire
from olaf.transport.port import Address, Run
from olaf.transport.segments import Segments
from olaf.transport.udp import UdpPort, usual
from olaf.transport.virtual import Medium, VirtualNetwork
from olaf.worker.outbox import Mark, Outbox
from tests.testnet import SERVER, Lossy, Tap, vector, weights_of, worker_address

AT = f"{SERVER[0]}:{SERVER[1]}"
EACH = 1000
"""Values in a segment."""


class Sent:
    """Sums what left, by segment."""

    def __init__(self, segments: Segments) -> None:
        self.segments = segments
        self.sums = np.zeros(segments.values, np.float32)
        self.frames = 0

    def __call__(self, run: Run) -> int:
        for datagram in run:
            header = wire.Olaf.unpack(datagram)
            self.sums[self.segments.slice(header.segment)] += np.frombuffer(
                datagram[wire.OLAF_BYTES :], "<f4"
            )
        self.frames += len(run)
        return len(run)


def test_no_more_is_on_its_way_than_fits_and_all_arrives_once() -> None:
    segments = Segments(100 * EACH, 100)
    outbox, sent, versions = Outbox(segments, 30 * 4 * EACH * 3), Sent(segments), [0] * 100
    window = outbox.window
    assert 20 <= window <= 30
    total = np.zeros(segments.values, np.float32)
    for number in range(5):
        gradient = vector(segments.values, seed=number)
        total += gradient
        outbox.offer_update(gradient, True, versions, Mark(seq=number), number * 1e-3, sent)
    assert sent.frames == window
    now, before = 5e-3, 0
    while not outbox.drained:
        assert sent.frames - before <= window
        outbox.note_answers(sent.frames - before, now)
        before = sent.frames
        outbox.go_on(Mark(seq=5), now, sent)
    assert sent.sums == pytest.approx(total, abs=1e-5)
    assert sent.frames <= 2 * segments.count


def test_an_update_without_loss_is_one_run_from_segment_0() -> None:
    """Behind an engine, or after a loss, the last of a burst would otherwise be the same each time."""
    segments = Segments(10 * EACH, 10)
    outbox, firsts, now = Outbox(segments, 1 << 30), [], 0.0

    def send(run: Run) -> int:
        firsts.append(wire.Olaf.unpack(run.data).segment)
        return len(run)

    def offered(number: int) -> list[int]:
        firsts.clear()
        outbox.offer_update(vector(segments.values), True, [0] * 10, Mark(seq=number), now, send)
        return list(firsts)

    assert offered(3) == [3, 0]  # not known yet
    outbox.note_answers(10, now, engine=True)
    assert offered(4) == [4, 0]
    outbox.note_answers(10, now, engine=False)
    assert offered(5) == [0]
    outbox.note_answers(9, now, engine=False)
    now += 1.0  # and one frame was not answered
    assert offered(6) == [6, 0]
    found = []
    for number in range(7, 200):
        outbox.note_answers(10, now, engine=False)
        found.append(offered(number))
    assert found[0] == [7, 0] and found[-1] == [0]


def test_without_answers_a_pause_stands_for_them() -> None:
    segments = Segments(100 * EACH, 100)
    outbox, sent = Outbox(segments, 30 * 4 * EACH * 3), Sent(segments)
    outbox.offer_update(vector(segments.values), True, [0] * 100, Mark(), 0.0, sent)
    outbox.go_on(Mark(), 0.001, sent)
    assert sent.frames == outbox.window
    due = outbox.next_due()
    assert due is not None and due > 0.001
    outbox.go_on(Mark(), due, sent)
    assert sent.frames == 2 * outbox.window


def test_offers_alone_go_on_after_a_pause() -> None:
    """A small model, whose updates all were sent at once, and no answer to any."""
    segments = Segments(EACH, 1)
    outbox, sent = Outbox(segments, 1 << 20), Sent(segments)
    now = 0.0
    while sent.frames < outbox.window:
        outbox.offer_update(vector(EACH), True, [0], Mark(), now, sent)
    outbox.offer_update(vector(EACH), True, [0], Mark(), now, sent)
    assert sent.frames == outbox.window
    due = outbox.next_due()
    assert due is not None
    outbox.offer_update(vector(EACH), True, [0], Mark(), due, sent)
    assert sent.frames == outbox.window + 1


def test_an_update_that_a_full_socket_refused_is_due_later() -> None:
    outbox = Outbox(Segments(EACH, 1), 1 << 20)
    assert outbox.offer_update(vector(EACH), True, [0], Mark(), 0.0, lambda run: 0) == 1
    due = outbox.next_due()
    assert due is not None
    sent = Sent(Segments(EACH, 1))
    outbox.go_on(Mark(), due, sent)
    assert outbox.held_from == {} and sent.frames == 1


def test_the_last_update_is_sent_after_all_before_were_lost() -> None:
    """An engine dies, and nothing arrives at the worker that would wake it."""
    medium = Lossy()
    network, server = lab(medium)
    worker = Worker(AT, 300, port=network.port(worker_address(0)), control=False)
    worker.begin(np.zeros(300, np.float32))
    assert worker.wait(1)
    medium.loss = 1.0
    while worker.offer(np.ones(300, np.float32), 0.0):
        network.run(network.time + 1e-4)
    medium.loss = 0.0
    assert worker.drain(1)
    assert server.counters().received == worker.segments.count


def test_a_machine_loses_nothing_that_it_sends_to_itself() -> None:
    values, updates = 1_000_000, 12
    server = ParameterServer("127.0.0.1:0", policy=lambda w, s: Plain(w, s, rate=1.0))
    worker = Worker(f"127.0.0.1:{server.address[1]}", values)
    try:
        worker.begin(np.zeros(values, np.float32))
        assert worker.wait(60)
        for _ in range(updates):
            worker.offer(np.ones(values, np.float32), 0.0)
            worker.poll()
        assert worker.drain(60)
        counters = worker.counters  # what a slow machine answers late was sent again
        assert worker._port.wait(lambda: counters.acks == counters.sent == server.counters().received, 60)
        assert worker.counters.waited > 0
        assert weights_of(server).tolist() == [updates] * values
    finally:
        worker.close()
        server.close()


def lab(medium: Medium | None = None, **options: object) -> tuple[VirtualNetwork, ParameterServer]:
    network = VirtualNetwork(medium or Lossy())
    return network, ParameterServer(policy=Plain, port=network.port(SERVER), **options)  # type: ignore[arg-type]


@pytest.mark.parametrize(("values", "division"), [(9155, 25), (2205, 1)])
def test_a_worker_takes_the_division_that_the_engine_has(values: int, division: int) -> None:
    network, server = lab(divisions={"default": division})
    worker = Worker(AT, values, port=network.port(worker_address(0)))
    worker.begin(vector(values))
    assert worker.wait(10)
    assert worker.segments == Segments(values, division)
    worker.offer(vector(values, 1), 0.0)
    network.run(network.time + 1)
    assert worker.counters.acks == division
    assert server.counters().unusable == 0


def test_a_division_too_large_for_packets_is_refused() -> None:
    network, _ = lab(divisions={"default": 1})
    port = network.port(worker_address(0))
    port.mtu = lambda peer: 1500  # type: ignore[method-assign]
    worker = Worker(AT, 9155, port=port)
    worker.begin(vector(9155))
    with pytest.raises(OtherModel, match="values: 9155"):
        worker.wait(10)


def test_a_model_too_large_for_the_slots_is_refused() -> None:
    network, server = lab(divisions={"default": 1}, slot=368)
    port = network.port(worker_address(0))
    port.mtu = lambda peer: 9000  # type: ignore[method-assign]
    worker = Worker(AT, 2000, port=port)
    worker.begin(vector(2000))
    with pytest.raises(OtherModel, match=r"too short slots.*values: 2000"):
        worker.wait(10)
    assert server.weights() is None
    small = Worker(AT, 368, port=network.port(worker_address(1)), mtu=9000)
    small.begin(vector(368))
    assert small.wait(10)


def test_scripts_and_the_second_worker_have_equal_segments() -> None:
    network, _ = lab()
    first = Worker(AT, 9155, segments=25, port=network.port(worker_address(0)))
    first.begin(vector(9155))
    assert first.wait(10)
    second = Worker(AT, 9155, port=network.port(worker_address(1)))
    second.begin(vector(9155, 1))
    assert second.wait(10)
    assert second.segments.count == 25


def passing(init: bool, segments: range) -> Tap:
    """Let the server's weights through or not, and its ACKs of these segments."""

    def pass_on(source: Address, to: Address, datagram: bytes) -> Iterable[bytes]:
        header = wire.Olaf.unpack(datagram)
        through = init if header.frame_type == wire.FrameType.INIT else header.segment in segments
        return [datagram] if source != SERVER or through else []

    return Tap(pass_on)


@pytest.mark.parametrize(
    ("init", "segments", "message"),
    [
        (False, range(0), "nothing comes back"),
        (True, range(0), "another UDP port of it than 41000"),
        (True, range(3), "no ACK for segment 3"),
    ],
)
def test_a_worker_that_hears_nothing_says_so_once_and_why(
    init: bool, segments: range, message: str, caplog: pytest.LogCaptureFixture
) -> None:
    network, _ = lab(passing(init, segments))
    worker = Worker(AT, 1000, segments=4, port=network.port(worker_address(0)))
    worker.begin(vector(1000))
    for _ in range(200):
        worker.offer(vector(1000), 0.0)
        network.run(network.time + 0.1)
    assert caplog.text.count("examines it") + caplog.text.count("no ACK for segment") == 1
    assert message in caplog.text


def test_a_worker_that_hears_the_server_says_nothing(caplog: pytest.LogCaptureFixture) -> None:
    network, _ = lab()
    worker = Worker(AT, 1000, port=network.port(worker_address(0)))
    worker.begin(vector(1000))
    for _ in range(200):
        worker.offer(vector(1000), 0.0)
        network.run(network.time + 0.1)
    network.run(network.time + 100)
    assert caplog.text == ""


def test_the_default_address_of_a_member(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OLAF_LOCAL", raising=False)
    monkeypatch.setattr("olaf.transport.udp._find_source", lambda peer: "10.0.1.1")
    assert usual(("10.0.0.254", 20300)) == ("10.0.1.1", wire.UDP_PORT)
    assert usual(("10.0.1.1", 20300)) == ("0.0.0.0", 0)  # the server is here
    monkeypatch.setenv("OLAF_LOCAL", "10.0.1.1:41001")
    assert usual(("10.0.0.254", 20300)) == ("10.0.1.1", 41001)


def test_an_unreachable_engine_is_reported() -> None:
    port = UdpPort()
    try:
        with pytest.raises(NoAnswer, match="no route leads to 255"):
            port.reachable(("255.255.255.255", 20300))
    finally:
        port.close()
