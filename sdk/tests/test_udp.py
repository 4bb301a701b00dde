"""Ports on real sockets, and the package without torch."""

from __future__ import annotations

import errno
import socket
import subprocess
import sys
import threading
from functools import partial
from pathlib import Path
from typing import Callable

import numpy as np
import pytest

from olaf import ParameterServer, Worker
from olaf.policies import Plain
from olaf.transport import wire
from olaf.transport.port import Address, Frames, Run
from olaf.transport.udp import UdpPort
from tests.engines import EnginePort, QueueEngine
from tests.testnet import weights_of


class Mailbox:
    def __init__(self) -> None:
        self.received: list[tuple[bytes, Address]] = []
        self.runs: list[int] = []
        self.ticks = 0
        self.due: float | None = None

    def receive(self, run: Run, source: Address) -> None:
        self.runs.append(len(run))
        self.received += [(bytes(datagram), source) for datagram in run]

    def tick(self) -> float | None:
        self.ticks += 1
        due, self.due = self.due, None
        return due


def test_header_and_body_arrive_as_one_datagram() -> None:
    sender, receiver, box = UdpPort(("127.0.0.1", 0)), UdpPort(("127.0.0.1", 0)), Mailbox()
    try:
        receiver.serve(box)
        assert sender.send(receiver.address, b"head", np.arange(3, dtype=np.uint8).data)
        assert sender.send(receiver.address, b"control", tos=wire.CONTROL_TOS)
        assert receiver.wait(lambda: len(box.received) == 2, 10)
        assert box.received == [(b"head\0\1\2", sender.address), (b"control", sender.address)]
    finally:
        sender.close()
        receiver.close()


class Refusing(socket.socket):
    """A kernel that fails what is to be divided, from the ``after``-th time on."""

    code, after = errno.EIO, 0
    tried = 0

    def sendmsg(self, buffers, ancillary=(), flags=0, address=None):  # type: ignore[no-untyped-def]
        if any(kind == 103 for _, kind, _ in ancillary):
            Refusing.tried += 1
            if Refusing.tried > Refusing.after:
                raise OSError(Refusing.code, "refused")
        return super().sendmsg(buffers, ancillary, flags, address)


@pytest.fixture
def refusing(monkeypatch: pytest.MonkeyPatch) -> type[Refusing]:
    if sys.platform != "linux":
        pytest.skip("only Linux divides datagrams")
    monkeypatch.setattr(socket, "socket", Refusing)
    monkeypatch.setattr(Refusing, "tried", 0)
    monkeypatch.setattr(Refusing, "after", 0)
    return Refusing


def run_of(count: int, size: int, last: int) -> Run:
    data = np.random.default_rng(count).bytes((count - 1) * size + last)
    return Run(memoryview(data), size)


def frames_of(count: int, size: int, last: int) -> Frames:
    """Make the same frames in two places each."""
    return Frames([part for data in run_of(count, size, last) for part in (data[:22], data[22:])], size)


@pytest.mark.parametrize("made", [run_of, frames_of])
@pytest.mark.parametrize(
    ("count", "size", "last"), [(3, 100, 7), (62, 8894, 8738), (200, 1470, 1470), (1, 50, 50)]
)
def test_a_run_arrives_as_its_datagrams_in_order(
    made: Callable[[int, int, int], Run], count: int, size: int, last: int
) -> None:
    sender, receiver, box = UdpPort(("127.0.0.1", 0)), UdpPort(("127.0.0.1", 0)), Mailbox()
    try:
        receiver.serve(box)
        run = made(count, size, last)
        sent = sender.send_run(receiver.address, run)
        assert receiver.wait(lambda: len(box.received) >= sent, 60)
        assert [data for data, _ in box.received] == [bytes(datagram) for datagram in run][:sent]
        if sender._segmenting:
            assert sent == count
            assert len(box.runs) < count
    finally:
        sender.close()
        receiver.close()


@pytest.mark.parametrize("made", [run_of, frames_of])
@pytest.mark.parametrize("code", [errno.EIO, errno.EINVAL, errno.EOPNOTSUPP, errno.ENOPROTOOPT])
def test_datagrams_are_sent_singly_without_kernel_division(
    refusing: type[Refusing], monkeypatch: pytest.MonkeyPatch, code: int, made: Callable[[int, int, int], Run]
) -> None:
    monkeypatch.setattr(refusing, "code", code)
    sender, receiver, box = UdpPort(("127.0.0.1", 0)), UdpPort(("127.0.0.1", 0)), Mailbox()
    try:
        receiver.serve(box)
        run = made(5, 100, 60)
        assert [sender.send_run(receiver.address, run) for _ in range(2)] == [5, 5]
        assert receiver.wait(lambda: len(box.received) == 10, 60)
        assert [data for data, _ in box.received] == 2 * [bytes(datagram) for datagram in run]
        assert refusing.tried == 1
        assert sender._socket.getsockopt(socket.SOL_SOCKET, 11) == 1
    finally:
        sender.close()
        receiver.close()


def test_a_buffer_that_fills_within_a_run_leaves_the_remainder(
    refusing: type[Refusing], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(refusing, "code", errno.EAGAIN)
    monkeypatch.setattr(refusing, "after", 1)
    sender, receiver, box = UdpPort(("127.0.0.1", 0)), UdpPort(("127.0.0.1", 0)), Mailbox()
    try:
        receiver.serve(box)
        run = run_of(20, 9000, 9000)
        assert sender.send_run(receiver.address, run) == 7  # 63,000 bytes fit one IP packet
        assert receiver.wait(lambda: len(box.received) == 7, 60)
        assert sender._segmenting
    finally:
        sender.close()
        receiver.close()


def test_datagrams_of_several_senders_and_sizes_stay_apart() -> None:
    ports, box = [UdpPort(("127.0.0.1", 0)) for _ in range(3)], Mailbox()
    expected = []
    try:
        with ports[0].lock:  # all of them wait when the receiver begins
            ports[0].serve(box)
            for number, size in enumerate([0, 10, 10, 4, 10, 0, 30, 30, 31]):
                sender = ports[1 + number // 3 % 2]
                assert sender.send(ports[0].address, bytes([number] * size))
                expected.append((bytes([number] * size), sender.address))
        assert ports[0].wait(lambda: len(box.received) == len(expected), 60)
        assert box.received == expected
    finally:
        for port in ports:
            port.close()


def test_a_party_is_ticked_at_its_requested_time() -> None:
    port, box = UdpPort(("127.0.0.1", 0)), Mailbox()
    try:
        box.due = port.now()
        port.serve(box)
        assert port.wait(lambda: box.ticks >= 2, 10)
    finally:
        port.close()


def test_an_unsendable_datagram_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    port = UdpPort(("127.0.0.1", 0))
    for _ in range(2):
        assert not port.send(("127.0.0.1", 9), bytes(70_000))
    assert caplog.text.count("exceeds the MTU") == 1
    port.serve(Mailbox())
    port.close()
    port.close()
    assert all(thread.name != "olaf" for thread in threading.enumerate())


def test_a_party_that_fails_at_one_datagram_gets_the_next(caplog: pytest.LogCaptureFixture) -> None:
    class Failing(Mailbox):
        def receive(self, run: Run, source: Address) -> None:
            super().receive(run, source)
            if bytes(run.data) == b"bad":
                raise RuntimeError("a policy of one's own has failed")

    sender, receiver, box = UdpPort(("127.0.0.1", 0)), UdpPort(("127.0.0.1", 0)), Failing()
    try:
        receiver.serve(box)
        assert sender.send(receiver.address, b"bad")
        assert receiver.wait(lambda: len(box.received) == 1, 60)
        assert sender.send(receiver.address, b"good")
        assert receiver.wait(lambda: len(box.received) == 2, 60)
        assert "a policy of one's own has failed" in caplog.text
    finally:
        sender.close()
        receiver.close()


def test_workers_train_over_sockets_from_threads() -> None:
    server = ParameterServer("127.0.0.1:0", policy=partial(Plain, rate=1.0))
    updates, values = 50, 3000

    def came(worker: Worker, acks: int) -> bool:
        return worker.counters.acks >= acks

    def train(number: int) -> None:
        worker = Worker(f"127.0.0.1:{server.address[1]}", values, local="127.0.0.1:0")
        worker.begin(np.zeros(values, np.float32))
        assert worker.wait(20)
        for _ in range(updates):
            seen = worker.counters.acks + worker.segments.count
            worker.offer(np.ones(values, np.float32), 0.0)
            worker.poll()
            worker._port.wait(partial(came, worker, seen), 5)
        worker.close()

    threads = [threading.Thread(target=train, args=(number,)) for number in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    try:
        assert weights_of(server).tolist() == [3.0 * updates] * values
    finally:
        server.close()


def test_the_package_works_without_torch_and_control_plane() -> None:
    code = (
        "import sys; sys.modules['torch'] = None; sys.modules['olafctl'] = None\n"
        "import olaf; olaf.Worker('127.0.0.1:9', 10).close(); assert 'ray' not in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True, cwd=Path(__file__).parents[1])


def test_a_worker_over_sockets_notices_silence_and_joins_again() -> None:
    control, server = UdpPort(("127.0.0.1", 0)), ParameterServer("127.0.0.1:0", policy=Plain)
    engine = QueueEngine(server.address, members=1)
    EnginePort(engine, control)
    worker = Worker(f"olaf://lander@127.0.0.1:{control.address[1]}", 10, local="127.0.0.1:0")
    try:
        worker.begin(np.zeros(10, np.float32))
        assert worker.wait(20)
        assert worker._port.wait(lambda: worker._ask is None, 20)  # no timer runs any more
        server.close()
        engine.new_job(4)
        assert worker.offer(np.ones(10, np.float32), 1.0)
        assert worker._port.wait(lambda: worker.counters.joins == 2, 30)
    finally:
        worker.close()
        control.close()
