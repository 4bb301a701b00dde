"""Updates, ACKs and their expected outputs, as Scapy packets."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scapy.layers.inet import IP, UDP
from scapy.layers.l2 import Ether
from scapy.packet import Packet, Raw

from olafctl.membership.model import Host, Member
from olafctl.wire.layouts import OLAF, STATUS, Flag, FrameType
from olafctl.wire.scapy_layers import Olaf, OlafStatus
from tests.packets.live import Live, udp

Gradient = npt.NDArray[np.float32]


def gradient(seed: int, values: int = 40) -> Gradient:
    """Return values of many magnitudes and both signs, of which few sums are exact."""
    random = np.random.default_rng(seed)
    return (random.standard_normal(values) * 10.0 ** random.integers(-3, 4, values)).astype(np.float32)


def update(
    live: Live,
    worker: Member,
    values: Gradient,
    *,
    seq: int = 1,
    reward: float = 0.0,
    gen_time: int = 1_000,
    **fields: int,
) -> Packet:
    """Return a worker's update to the parameter server, of its cluster's epoch unless ``fields`` name
    another."""
    epoch = live.testbed.cluster_of(worker).epoch
    header = Olaf(frame_type=FrameType.UPDATE, seq=seq, reward=reward, gen_time=gen_time)
    for name, value in {"epoch": epoch, **fields}.items():
        header.setfieldval(name, value)
    payload = Raw(values.astype("<f4").tobytes())
    return whole(udp(worker, live.server, live.testbed.udp_port) / header / payload)


def contribution(
    live: Live, worker: Member, values: Gradient, round_: int, segment: int = 0, **fields: Any
) -> Packet:
    """Return a worker's contribution to a round, sent to the engine."""
    frame = update(live, worker, values, seq=round_, segment=segment, **fields)
    frame[Ether].dst, frame[IP].dst = live.engine.mac, str(live.engine.ip)
    del frame[IP].chksum
    return whole(frame)


def ack(live: Live, worker: Member, values: Gradient, *, seq: int = 1, **fields: int) -> Packet:
    """Return the parameter server's ACK for an update of ``worker``, of its epoch unless ``fields`` name
    another."""
    epoch = live.testbed.cluster_of(worker).epoch
    header = Olaf(frame_type=FrameType.ACK, seq=seq, gen_time=2_000)
    for name, value in {"epoch": epoch, **fields}.items():
        header.setfieldval(name, value)
    frame = udp(live.server, worker, worker.udp_port, sport=live.testbed.udp_port)
    return whole(frame / header / Raw(values.astype("<f4").tobytes()))


def whole(packet: Packet) -> Packet:
    """Return the packet with every length and checksum filled in."""
    return Ether(bytes(packet))


def delivered(frame: Packet, member: Member, status: OlafStatus) -> Packet:
    """Return the copy of an ACK for ``member``: its own addresses, and the status after the Olaf header."""
    expected = Ether(bytes(frame))
    expected[Ether].dst = member.mac
    expected[IP].dst = str(member.ip)
    expected[UDP].dport = member.udp_port
    body = bytes(expected[UDP].payload)
    header, rest = Olaf(body[:22]), body[22:]
    header.flags = int(header.flags) | Flag.STATUS
    expected[UDP].remove_payload()
    for layer, fields in ((IP, ("len", "chksum")), (UDP, ("len",))):
        for field in fields:
            delattr(expected[layer], field)
    return whole(expected / Raw(bytes(header) + bytes(status) + rest))


@dataclass(frozen=True)
class Got:
    """An Olaf frame that arrived, decoded without relying on its UDP port."""

    frame: bytes

    @property
    def ether(self) -> Packet:
        return Ether(self.frame)

    @property
    def olaf(self) -> Packet:
        return Olaf(bytes(self.ether[UDP].payload))

    @property
    def values(self) -> Gradient:
        body = bytes(self.ether[UDP].payload)
        start = OLAF.size + (STATUS.size if int(self.olaf.flags) & Flag.STATUS else 0)
        return np.frombuffer(body[start:], "<f4")

    @property
    def status(self) -> OlafStatus:
        return OlafStatus(bytes(self.ether[UDP].payload)[OLAF.size : OLAF.size + STATUS.size])


def at(arrived: dict[int, list[bytes]], host: Host) -> list[Got]:
    """Return the Olaf frames that arrived for ``host`` at its port."""
    return [Got(frame) for frame in arrived.get(host.port, []) if Ether(frame).dst == host.mac]
