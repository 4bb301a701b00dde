"""Every configured name × kind of frame × front port: no target passes a frame that the rule refuses."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv4Network

from olafctl.membership import limits
from olafctl.membership.model import Host, Member
from olafctl.testbed.topology import Topology
from olafctl.wire import layouts
from olafctl.wire.frames import Datagram, Endpoint, pack_header
from olafctl.wire.layouts import FrameType, Refusal
from tests.packets.live import STRANGER_MAC, Live
from tests.packets.rule import UPDATES, Fate, Name, RuleFrame, Verdict, verdict

BATCH = 24
"""The frames between two reads of arrivals: BMv2 drops frames to a port at which 64 wait."""
UNKNOWN = IPv4Address("203.0.113.7")
BETWEEN = IPv4Network("240.0.0.0/8")
MARK = 4
"""The bytes at the end of a probe by which it is recognised."""


_OLAF_FIELDS = {field.name for field in layouts.OLAF.fields}


@dataclass(frozen=True)
class Probe:
    """A frame that comes in by a front port, and its expected fate."""

    port: int
    frame: bytes
    verdict: Verdict
    reaches: Sequence[int] = ()
    """The front ports by which it must leave, once each."""


def test_no_frame_passes_that_the_rule_refuses(live: Live) -> None:
    _hold(live)


def test_no_frame_passes_a_tree_that_the_rule_refuses(tree: Live) -> None:
    _hold(tree)


def _hold(live: Live) -> None:
    probes = Probes(live)
    every = list(probes)
    assert len({each.frame[-MARK:] for each in every}) == len(every)
    updates = [each for each in every if each.verdict is Fate.QUEUE]
    others = [each for each in every if each.verdict is not Fate.QUEUE]

    refused, queued, arrived = _send(live, others)
    for probe in others:
        assert sorted(arrived.pop(probe.frame[-MARK:], ())) == sorted(probe.reaches), probe
    assert not arrived
    assert refused == Counter(each.verdict for each in others if isinstance(each.verdict, Refusal))
    assert not any(queued.values())

    refused, queued, _ = _send(live, updates)
    came = Counter(probes.topology.engine_at[each.port] for each in updates)
    assert not refused
    assert {name: min(queued[name], count) for name, count in came.items()} == came


def _send(
    live: Live, probes: Sequence[Probe]
) -> tuple[Counter[Refusal], Mapping[str, int], dict[bytes, list[int]]]:
    """Return how many probes were refused for each reason and came to each queue, and the ports at which each
    arrived."""
    arrived: dict[bytes, list[int]] = {}
    with ExitStack() as inside:
        refused = [inside.enter_context(live.refusing(name)) for name in live.queues]
        counted = {name: inside.enter_context(live.counting(name)) for name in live.queues}
        for first in range(0, len(probes), BATCH):
            for probe in probes[first : first + BATCH]:
                live.send_at(probe.port, probe.frame)
            for port, frames in live.arrivals().items():
                for frame in frames:
                    arrived.setdefault(frame[-MARK:], []).append(port)
    queued = {name: grown["in_updates"] for name, grown in counted.items()}
    return sum(refused, Counter()), queued, arrived


class Probes:
    """The probes of a testbed: all that the table has, and updates with each of their parts wrong."""

    def __init__(self, live: Live) -> None:
        self.testbed, self._server, self._ports = live.testbed, live.server, live.ports
        self.topology = Topology(live.testbed)
        self._made = 0

    def __iter__(self) -> Iterator[Probe]:
        for name, source in self._names():
            for port in self._ports:
                for kind, frame, to, wrong in self._frames(source):
                    fate = verdict(name, port == source.port, kind)
                    if fate is Fate.QUEUE and wrong is not None:
                        fate = wrong
                    yield Probe(port, frame, fate, self._reached(fate, to))

    def _names(self) -> Iterator[tuple[Name, Host]]:
        """Yield the names that a frame may bear: a worker of each cluster, and all addresses of engines."""
        bed = self.testbed
        yield from ((Name.WORKER, cluster.workers[0]) for cluster in bed.clusters if cluster.workers)
        yield from ((Name.SERVER, server) for server in bed.parameter_servers)
        yield from ((Name.HOST, host) for host in bed.hosts[:1])
        if bed.engine_host is not None:
            yield Name.ENGINE, bed.engine_host
        used = {cluster.number << 8 | nth for cluster in bed.clusters for nth in range(len(bed.engines))}
        if len(bed.engines) == 1:
            used = set()
        for number in sorted({*used, 0, 0x0909, 0xFFFFFE}):
            name = Name.BETWEEN if number in used else Name.UNUSED
            yield name, Host("between", 0, STRANGER_MAC, BETWEEN[number], bed.udp_port)
        yield Name.UNKNOWN, Host("unknown", 0, STRANGER_MAC, UNKNOWN, 41000)

    def _frames(self, source: Host) -> Iterator[tuple[RuleFrame, bytes, Host, Refusal | None]]:
        """Yield frames of each kind with that source, with their destination and their fault at its port."""
        bed = self.testbed
        cluster = bed.cluster_of(source) if isinstance(source, Member) else bed.clusters[0]
        wrongs = [(each.reason, fields) for each in UPDATES for fields in each.fields]
        servers = [self._server] if bed.engine_host is None else [self._server, bed.engine_host]
        for to in servers:
            for wrong, fields in (*wrongs, (None, {})):
                epoch = (cluster.epoch + int(fields.get("later", 0))) % limits.EPOCHS
                frame = self._olaf(source, to, FrameType.UPDATE, {"epoch": epoch, **fields})
                yield RuleFrame.UPDATE, frame, to, wrong
        for kind in (FrameType.ACK, FrameType.RESULT):
            for to in cluster.workers[:2]:
                yield RuleFrame.ANSWER, self._olaf(source, to, kind, {"epoch": cluster.epoch}), to, None
        datagram = self._datagram(source, self._server, 53, b"")
        yield RuleFrame.OTHER, datagram, self._server, None
        datagram = self._datagram(source, self._server, bed.udp_port, bytes(60))
        flags = layouts.ETHERNET.size + layouts.IPV4.offset("flags") // 8
        yield RuleFrame.OTHER, datagram[:flags] + b"\x20\x00" + datagram[flags + 2 :], self._server, None
        yield RuleFrame.OTHER, self._olaf(source, self._server, FrameType.INIT, {}), self._server, None

    def _olaf(self, source: Host, to: Host, kind: FrameType, fields: Mapping[str, int | str]) -> bytes:
        """Return an Olaf frame with these fields of its header, or with another ``mac`` or ``dport`` than
        ``to`` has."""
        header = {"version": layouts.VERSION, "frame_type": int(kind), "count": 1, "seq": self._made + 1}
        header |= {name: int(value) for name, value in fields.items() if name in _OLAF_FIELDS}
        port = int(fields.get("dport", self.testbed.udp_port if isinstance(to, Member) else to.udp_port))
        return self._datagram(
            source, to, port, pack_header(layouts.OLAF, header), str(fields.get("mac", to.mac))
        )

    def _datagram(self, source: Host, to: Host, port: int, body: bytes, mac: str = "") -> bytes:
        self._made += 1
        origin = Endpoint(STRANGER_MAC, source.ip, self.testbed.udp_port)
        mark = self._made.to_bytes(MARK, "big")
        return Datagram(origin, Endpoint(mac or to.mac, to.ip, port), body + mark).encode()

    def _reached(self, fate: Verdict, to: Host) -> Sequence[int]:
        match fate:
            case Fate.MEMBERS:
                assert isinstance(to, Member)
                return [each.port for each in self.testbed.cluster_of(to).workers]
            case Fate.PASSES if to.port:
                return [to.port]
            case Fate.PASSES:
                routes = [each for each in self.testbed.routes if to.ip in each.prefix]
                longest = sorted(routes, key=lambda each: each.prefix.prefixlen)[-1:]
                return [each.port for each in longest]
            case _:
                return []
