"""Hostile input to a daemon that keeps a twin: damaged and forged control messages, mutated calls, and a
flood from one source, and from thousands at one port, while another joins honestly."""

import itertools
import random
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from ipaddress import IPv4Address

import grpc
import psutil

from olafctl.daemon.api import olaf_pb2
from olafctl.daemon.api.client import Client
from olafctl.daemon.api.schema import SERVICE
from olafctl.membership.model import default_mac
from olafctl.wire import control, layouts
from olafctl.wire.authentication import signed
from olafctl.wire.control import Action, Reason
from olafctl.wire.frames import Datagram, Endpoint, pack, unpack
from olaflab.daemon.kept_twin import kept_twin
from olafswitch.errors import OlafError, Problem
from olafswitch.ports.host import HostPort, open_host_port
from olaftest.daemon.daemon_process import TIMEOUT, until

_TESTBED = """
name: hostile
engine: {indices: 4, slots: 2, beats: 4}
ports:
  - {number: 1, name: ps, transport: unix}
  - {numbers: 2-3, name: w, transport: unix}
parameter_servers: [{name: ps, port: ps, ip: 10.0.0.254}]
clusters: []
"""
_HONEST, _HOSTILE = 2, 3
_KEY = "5e" * 32
_UDP_PORT = 41000
_SERVER = Endpoint(default_mac(IPv4Address("10.0.0.254")), IPv4Address("10.0.0.254"), 20300)
_RESEND = 1.0
_TURN = 0.01
_WORKERS = 200
"""Honest ones: the daemon keeps a nonce of each."""
_SPREAD = 2000
"""Sources of the flood from many."""
_ROUNDS = 4
"""Turns of calm and flood, so that both meet the same machine."""
_HEADERS = layouts.ETHERNET.size + layouts.IPV4.size + layouts.UDP.size


@dataclass(frozen=True)
class Report:
    """Times in seconds, memory in bytes."""

    messages: dict[str, int]
    """Hostile control messages sent, by kind."""
    answers: dict[str, int]
    """What they were answered, by reason; what is beyond a source's or a port's rate is not answered."""
    calls: dict[str, int]
    """Mutated calls of the API, by gRPC status."""
    revisions: int
    """Changes of the membership by all of these."""
    joins: int
    """Honest ones, calm and under the flood each."""
    calm_median: float
    calm_p99: float
    flood_median: float
    flood_p99: float
    flooded: int
    """Messages of the flood."""
    flood_rate: float
    """Sent a second."""
    memory_before: int
    """After the calm joins."""
    memory_flooded: int
    """Halfway through the flood."""
    memory_after: int
    """At the flood's end."""
    processor: float
    """Processor time of the daemon under the flood, in seconds a second."""
    spread_sources: int
    """The flood from many sources at one port."""
    spread_flooded: int
    """Messages of that flood."""
    spread_calm: float
    """Honest joins a second in the calm turns between."""
    spread_joins: float
    """Honest joins a second meanwhile, at another port."""
    spread_processor: float
    """Processor time of the daemon meanwhile, in seconds a second."""

    @property
    def kept(self) -> float:
        """The part of their calm rate that honest joins keep under a flood from many sources."""
        return self.spread_joins / self.spread_calm if self.spread_calm else 0.0


def run(
    messages: int, joins: int, rate: int, seed: int, progress: Callable[[str], None], turn: float = 7.0
) -> Report:
    """Send ``messages`` of the random kind and a tenth as many of each other, as many mutated calls, a flood
    of ``rate`` a second from one source during ``joins`` honest joins, and one from many sources in turns of
    ``turn`` seconds. Raises OlafError."""
    progress("deploying")
    with kept_twin(_TESTBED) as twin, Client(twin.daemon.address) as client:
        until(lambda: _created(client))
        hosts = {each.number: open_host_port(each) for each in twin.running().attachments}
        process = psutil.Process(twin.daemon.pid)
        honest = _Honest(hosts[_HONEST])
        progress(f"{joins} honest joins")
        calm = honest.joins(joins)
        before, memory = _revision(client), process.memory_info().rss
        progress(f"{messages} random control messages, and others")
        sent, answers = _send_all(hosts[_HOSTILE], messages, random.Random(seed))
        progress(f"{messages} mutated calls")
        calls = _mutated_calls(twin.daemon.address, messages, random.Random(seed))
        changed = _revision(client) - before
        progress(f"{joins} honest joins under a flood of {rate} messages a second")
        busy, began = _cpu(process), time.perf_counter()
        with _flooding(hosts[_HOSTILE], rate, 1) as flood:
            pressed = honest.joins(joins // 2)
            halfway = process.memory_info().rss
            pressed = sorted(pressed + honest.joins(joins - joins // 2))
        seconds = time.perf_counter() - began
        after, busy = process.memory_info().rss, _cpu(process) - busy
        progress(f"honest joins, {_ROUNDS} turns of {turn:g} s calm and under {_SPREAD} sources")
        spread = _spread(honest, hosts[_HOSTILE], rate, turn, process)
        for host in hosts.values():
            host.close()
    return Report(
        messages=sent,
        answers=answers,
        calls=calls,
        revisions=changed,
        joins=joins,
        calm_median=_part(calm, 0.5),
        calm_p99=_part(calm, 0.99),
        flood_median=_part(pressed, 0.5),
        flood_p99=_part(pressed, 0.99),
        flooded=flood.sent,
        flood_rate=flood.sent / seconds,
        memory_before=memory,
        memory_flooded=halfway,
        memory_after=after,
        processor=busy / seconds,
        spread_sources=_SPREAD,
        spread_flooded=spread.sent,
        spread_calm=spread.calm / (_ROUNDS * turn),
        spread_joins=spread.pressed / (_ROUNDS * turn),
        spread_processor=spread.processor / (_ROUNDS * turn),
    )


@dataclass
class _Spread:
    """What happened in all turns together."""

    sent: int = 0
    calm: int = 0
    pressed: int = 0
    processor: float = 0.0


def _spread(honest: "_Honest", host: HostPort, rate: int, turn: float, process: psutil.Process) -> _Spread:
    found = _Spread()
    for _ in range(_ROUNDS):
        found.calm += honest.joins_within(turn)
        busy = _cpu(process)
        with _flooding(host, rate, _SPREAD) as flood:
            found.pressed += honest.joins_within(turn)
        found.processor += _cpu(process) - busy
        found.sent += flood.sent
    return found


class _Honest:
    """Workers that join and leave in turn, each at an address of its own."""

    def __init__(self, host: HostPort) -> None:
        self._host = host
        self._numbers = itertools.count()

    def joins(self, count: int) -> list[float]:
        """The seconds that each join took, sorted. Raises OlafError."""
        taken = []
        for _ in range(count):
            ip = IPv4Address("10.1.0.0") + next(self._numbers) % _WORKERS
            taken.append(self._ask(ip, Action.JOIN))
            self._ask(ip, Action.LEAVE)
        return sorted(taken)

    def joins_within(self, seconds: float) -> int:
        """How many workers joined and left again in that time. Raises OlafError."""
        end, done = time.perf_counter() + seconds, 0
        while True:
            ip = IPv4Address("10.1.0.0") + next(self._numbers) % _WORKERS
            for action in (Action.JOIN, Action.LEAVE):
                if self._answered(ip, action, end) is None:
                    return done
            done += 1

    def _ask(self, ip: IPv4Address, action: Action) -> float:
        taken = self._answered(ip, action, time.perf_counter() + TIMEOUT)
        if taken is None:
            raise OlafError(Problem(f"{action.name} was not answered in {TIMEOUT:g} s", str(ip)))
        return taken

    def _answered(self, ip: IPv4Address, action: Action, deadline: float) -> float | None:
        """The seconds until the answer; None when there is none by ``deadline``."""
        nonce, began = time.time_ns(), time.perf_counter()
        frame = _frame(ip, _message(action, nonce, ip))
        while time.perf_counter() < deadline:
            self._host.send(frame)
            end = min(time.perf_counter() + _RESEND, deadline)
            while (left := end - time.perf_counter()) > 0:
                answer = _answer(self._host.receive(left))
                if answer and answer["nonce"] == nonce:
                    if answer["reason"] != Reason.OK:
                        raise OlafError(Problem(f"{action.name} was refused: {answer['reason']}", str(ip)))
                    return time.perf_counter() - began
        return None


def _send_all(host: HostPort, count: int, chance: random.Random) -> tuple[dict[str, int], dict[str, int]]:
    """What was sent, and what was answered. Each message comes from a source of its own: the rate of one
    source is the flood's matter."""
    sent: Counter[str] = Counter()
    answers: Counter[str] = Counter()
    for number, (kind, payload) in enumerate(_hostile(count, chance)):
        host.send(_frame(IPv4Address("10.2.0.0") + number % 60000, payload))
        sent[kind] += 1
        while answer := _answer(host.receive(0)):
            answers[Reason(answer["reason"]).name] += 1
    while answer := _answer(host.receive(_RESEND)):
        answers[Reason(answer["reason"]).name] += 1
    return dict(sent), dict(answers)


def _hostile(count: int, chance: random.Random) -> Iterator[tuple[str, bytes]]:
    victim = IPv4Address("10.1.0.1")
    good = _message(Action.JOIN, time.time_ns(), victim)
    for _ in range(count // 10):
        yield "wrong key", _message(Action.JOIN, time.time_ns(), victim, "00" * 32)
        yield "of another address", good
        yield "truncated", good[: chance.randrange(1, len(good))]
        yield "oversized", good + chance.randbytes(chance.randrange(1, 200))
        yield "unknown action", bytes([chance.randrange(9, 256)]) + good[1:]
    for _ in range(count):
        yield "random", chance.randbytes(chance.randrange(1, 200))


def _mutated_calls(address: str, count: int, chance: random.Random) -> dict[str, int]:
    """gRPC statuses of calls with damaged messages, about what does not exist."""
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


class _Flood:
    def __init__(self, host: HostPort, rate: int, sources: int) -> None:
        self.sent = 0
        self._host = host
        places = (IPv4Address("10.3.0.1") + number for number in range(sources))
        self._frames = [_frame(ip, _message(Action.JOIN, 1, ip, "00" * 32)) for ip in places]
        self._rate = rate
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def end(self) -> None:
        self._ended.set()
        self._thread.join()

    def _run(self) -> None:
        began = time.perf_counter()
        while not self._ended.wait(_TURN):
            while self.sent < (time.perf_counter() - began) * self._rate and not self._ended.is_set():
                self._host.send(self._frames[self.sent % len(self._frames)])
                self.sent += 1
            with suppress(OlafError):
                while self._host.receive(0) is not None:
                    pass


@contextmanager
def _flooding(host: HostPort, rate: int, sources: int) -> Iterator[_Flood]:
    flood = _Flood(host, rate, sources)
    try:
        yield flood
    finally:
        flood.end()


def _created(client: Client) -> bool:
    with suppress(OlafError):
        client.call("CreateCluster", name="red", key=_KEY)
        return True
    return False


def _message(action: Action, nonce: int, ip: IPv4Address, key: str = _KEY) -> bytes:
    layout = control.JOIN if action is Action.JOIN else control.LEAVE
    name = int.from_bytes(b"red".ljust(32, b"\0"), "big")
    return signed(layout, {"action": action, "cluster": name, "nonce": nonce}, key, ip, _UDP_PORT)


def _frame(ip: IPv4Address, payload: bytes) -> bytes:
    return Datagram(Endpoint(default_mac(ip), ip, _UDP_PORT), _SERVER, payload, layouts.CONTROL_TOS).encode()


def _answer(frame: bytes | None) -> dict[str, int] | None:
    """The answer to a control message; None when there is no frame."""
    if frame is None:
        return None
    return unpack(control.ACK, frame[_HEADERS : _HEADERS + len(pack(control.ACK, {"action": Action.ACK}))])


def _revision(client: Client) -> int:
    [status] = client.call("GetStatus", summary=True).deployments
    return int(status.resume_token)


def _cpu(process: psutil.Process) -> float:
    times = process.cpu_times()
    return float(times.user + times.system)


def _part(ordered: list[float], part: float) -> float:
    return ordered[min(int(len(ordered) * part), len(ordered) - 1)]


def lines(report: Report) -> Iterator[str]:
    """The report for people."""
    yield f"control messages sent: {_counts(report.messages)}"
    yield f"  answered: {_counts(report.answers)}"
    yield f"mutated calls: {_counts(report.calls)}"
    yield f"changes of the membership by all of these: {report.revisions}"
    for name, median, p99 in (
        ("calm", report.calm_median, report.calm_p99),
        ("flooded", report.flood_median, report.flood_p99),
    ):
        yield f"join, {name}: median {median * 1e3:.1f} ms, 99th percentile {p99 * 1e3:.1f} ms"
    yield (
        f"  under {report.flooded} messages of one source, {report.flood_rate:.0f}/s; "
        f"{report.processor:.2f} s of the daemon's processor time a second"
    )
    yield (
        f"memory: {report.memory_before / 1e6:.1f} MB before, {report.memory_flooded / 1e6:.1f} MB halfway "
        f"through the flood, {report.memory_after / 1e6:.1f} MB at its end"
    )
    yield (
        f"valid joins: {report.spread_calm:.1f}/s calm, {report.spread_joins:.1f}/s while "
        f"{report.spread_sources} sources at another port flood: {report.kept:.0%}"
    )
    yield (
        f"  under {report.spread_flooded} messages; {report.spread_processor:.2f} s of the daemon's "
        "processor time a second"
    )


def _counts(counted: dict[str, int]) -> str:
    return ", ".join(f"{count} {name}" for name, count in sorted(counted.items())) or "none"
