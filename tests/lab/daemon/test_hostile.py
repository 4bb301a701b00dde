"""Hostile input to a daemon that keeps a twin: refused, counted, and nothing is changed.

Damaged and forged control messages, mutated calls, and floods from one source and from thousands at one
port, while others join honestly.
"""

import itertools
import random
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from ipaddress import IPv4Address

import grpc
import psutil
import pytest

from olafctl.daemon.api import olaf_pb2
from olafctl.daemon.api.client import DaemonClient
from olafctl.daemon.api.schema import SERVICE
from olafctl.membership.model import default_mac
from olafctl.targets import registry
from olafctl.wire import control, layouts
from olafctl.wire.authentication import sign_message
from olafctl.wire.control import ControlAction, Reason
from olafctl.wire.frames import Datagram, Endpoint, pack_header, unpack_header
from olaflab.daemon.chaos import create_cluster
from olaflab.daemon.kept_twin import KeptTwin, kept_twin
from olafswitch.errors import OlafError
from olafswitch.ports.host import HostPort
from olaftest.daemon.daemon_process import TIMEOUT, wait_until
from olaftest.deployment import open_hosts

pytestmark = pytest.mark.slow
TESTBED = """
name: hostile
engine: {indices: 4, slots: 2, beats: 4}
ports:
  - {number: 1, name: ps, transport: unix}
  - {numbers: 2-3, name: w, transport: unix}
parameter_servers: [{name: ps, port: ps, ip: 10.0.0.254}]
clusters: []
"""
HONEST, HOSTILE = 2, 3
KEY = "5e" * 32
UDP_PORT = 41000
SERVER = Endpoint(default_mac(IPv4Address("10.0.0.254")), IPv4Address("10.0.0.254"), 20300)
HEADERS = layouts.ETHERNET.size + layouts.IPV4.size + layouts.UDP.size
FLOOD = 5000
"""Messages a second."""
JOINS = 10


@pytest.fixture(scope="module")
def twin() -> Iterator[KeptTwin]:
    if missing := registry.get_target("twin").missing():
        pytest.skip(f"needs {', '.join(missing)}")
    with kept_twin(TESTBED) as twin, DaemonClient(twin.daemon.address) as client:
        wait_until(lambda: create_cluster([client], "red", key=KEY))
        yield twin


@pytest.fixture(scope="module")
def hosts(twin: KeptTwin) -> Iterator[dict[int, HostPort]]:
    with open_hosts(twin.running()) as found:
        yield found


def test_hostile_messages_change_nothing(twin: KeptTwin, hosts: dict[int, HostPort]) -> None:
    """Each from a source of its own: the rate of one source is the flood's matter."""
    before, answers = read_revision(twin), Counter[str]()
    for number, payload in enumerate(make_hostile(100, random.Random(2))):
        hosts[HOSTILE].send(make_frame(IPv4Address("10.2.0.0") + number, payload))
        while found := read_answer(hosts[HOSTILE].receive(0)):
            answers[Reason(found["reason"]).name] += 1
    while answers.total() < 150:
        found = read_answer(hosts[HOSTILE].receive(TIMEOUT))
        assert found is not None, answers
        answers[Reason(found["reason"]).name] += 1
    assert answers == {"BAD_MAC": 20, "BAD_MESSAGE": 130}
    assert read_revision(twin) == before


def test_mutated_calls_change_nothing(twin: KeptTwin) -> None:
    before = read_revision(twin)
    assert mutated_calls(twin.daemon.address, 300, random.Random(2)) == {"INVALID_ARGUMENT": 300}
    assert read_revision(twin) == before


@pytest.mark.parametrize("sources", [1, 2000])
def test_honest_members_join_under_a_flood(twin: KeptTwin, hosts: dict[int, HostPort], sources: int) -> None:
    numbers = itertools.count()
    process = psutil.Process(twin.daemon.pid)
    with flood_daemon(hosts[HOSTILE], sources):
        for _ in range(JOINS):
            join_and_leave(hosts[HONEST], next(numbers))
        before = process.memory_info().rss
        for _ in range(JOINS):
            join_and_leave(hosts[HONEST], next(numbers))
    assert process.memory_info().rss - before < 64 << 20


def join_and_leave(host: HostPort, number: int) -> None:
    """Have a worker join and leave, each message sent again until it is answered."""
    ip = IPv4Address("10.1.0.0") + number
    for action in (ControlAction.JOIN, ControlAction.LEAVE):
        nonce = time.time_ns()

        def answered(action: ControlAction = action, nonce: int = nonce) -> bool:
            host.send(make_frame(ip, make_message(action, nonce, ip)))
            while (received := host.receive(1.0)) is not None:
                found = read_answer(received)
                if found and found["nonce"] == nonce:
                    assert found["reason"] == Reason.OK
                    return True
            return False

        wait_until(answered)


@contextmanager
def flood_daemon(host: HostPort, sources: int) -> Iterator[None]:
    """Send forged messages meanwhile, as many a second as :data:`FLOOD`."""
    places = (IPv4Address("10.3.0.1") + number for number in range(sources))
    frames = itertools.cycle(
        [make_frame(ip, make_message(ControlAction.JOIN, 1, ip, "00" * 32)) for ip in places]
    )
    ended = threading.Event()

    def flood() -> None:
        while not ended.wait(0.01):
            for _ in range(FLOOD // 100):
                host.send(next(frames))
            with suppress(OlafError):
                while host.receive(0) is not None:
                    pass

    thread = threading.Thread(target=flood)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()


def make_hostile(count: int, chance: random.Random) -> Iterator[bytes]:
    victim = IPv4Address("10.1.0.1")
    good = make_message(ControlAction.JOIN, time.time_ns(), victim)
    for _ in range(count // 10):
        yield make_message(ControlAction.JOIN, time.time_ns(), victim, "00" * 32)
        yield good
        yield good[: chance.randrange(1, len(good))]
        yield good + chance.randbytes(chance.randrange(1, 200))
        yield bytes([chance.randrange(9, 256)]) + good[1:]
    for _ in range(count):
        yield chance.randbytes(chance.randrange(1, 200))


def mutated_calls(address: str, count: int, chance: random.Random) -> dict[str, int]:
    """Count the gRPC statuses of calls with damaged messages, about what does not exist."""
    good = [
        ("Join", olaf_pb2.JoinRequest(cluster="nowhere", ip="10.9.0.1", port=2)),
        ("Leave", olaf_pb2.LeaveRequest(worker="no one")),
        ("MoveWorker", olaf_pb2.MoveWorkerRequest(worker="no one", cluster="nowhere")),
        ("SetThreshold", olaf_pb2.SetThresholdRequest(cluster="nowhere", threshold=2)),
        ("DeleteCluster", olaf_pb2.ClusterRequest(cluster="nowhere")),
    ]
    found: Counter[str] = Counter()
    with grpc.insecure_channel(address) as channel:
        for _ in range(count):
            name, message = chance.choice(good)
            data = bytearray(message.SerializeToString())
            for _ in range(chance.randrange(1, 5)):
                data[chance.randrange(len(data))] = chance.randrange(256)
            try:
                channel.unary_unary(f"/{SERVICE}/{name}")(
                    bytes(data[: chance.randrange(len(data) + 1)]), timeout=TIMEOUT
                )
                found["OK"] += 1
            except grpc.RpcError as error:
                found[error.code().name] += 1
    return dict(found)


def read_revision(twin: KeptTwin) -> int:
    with DaemonClient(twin.daemon.address) as client:
        return int(client.call("GetStatus", summary=True).deployments[0].resume_token)


def make_message(action: ControlAction, nonce: int, ip: IPv4Address, key: str = KEY) -> bytes:
    layout = control.JOIN if action is ControlAction.JOIN else control.LEAVE
    name = int.from_bytes(b"red".ljust(32, b"\0"), "big")
    return sign_message(layout, {"action": action, "cluster": name, "nonce": nonce}, key, ip, UDP_PORT)


def make_frame(ip: IPv4Address, payload: bytes) -> bytes:
    return Datagram(Endpoint(default_mac(ip), ip, UDP_PORT), SERVER, payload, layouts.CONTROL_TOS).encode()


def read_answer(received: bytes | None) -> dict[str, int] | None:
    """Return the answer to a control message; None when there is no frame."""
    if received is None:
        return None
    return unpack_header(
        control.ACK,
        received[HEADERS : HEADERS + len(pack_header(control.ACK, {"action": ControlAction.ACK}))],
    )
