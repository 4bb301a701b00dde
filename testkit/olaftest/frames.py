"""Olaf frames in Python, with gradients as numpy arrays: what experiments send and judge."""

from dataclasses import dataclass, field
from typing import Self

import numpy as np
import numpy.typing as npt

from olafctl.membership.model import Host
from olafctl.wire import layouts
from olafctl.wire.frames import Datagram, Endpoint, Values, bits_float, float_bits, pack_header, unpack_header
from olafctl.wire.layouts import FrameType

Gradient = npt.NDArray[np.float32]


def endpoint_of(host: Host) -> Endpoint:
    """Return where a host sends from and is reached."""
    return Endpoint(host.mac, host.ip, host.udp_port)


@dataclass(frozen=True)
class OlafFrame:
    """An Olaf frame with its addresses; ``gradient`` (an ACK's weights) has shape (n,), binary32."""

    source: Endpoint
    destination: Endpoint
    frame_type: FrameType
    flags: int = 0
    count: int = 1
    seq: int = 0
    reward: float = 0.0
    gen_time: int = 0
    """ns; on the wire modulo 2^48."""
    gradient: Gradient = field(default_factory=lambda: np.empty(0, np.float32))
    status: Values | None = None
    epoch: int = 0
    segment: int = 0
    weights_version: int = 0

    def encode(self) -> bytes:
        """Encode the whole Ethernet frame."""
        payload = self.gradient.astype("<f4", copy=False).tobytes()
        status = b"" if self.status is None else pack_header(layouts.STATUS, self.status)
        olaf = {
            "version": layouts.VERSION,
            "frame_type": int(self.frame_type),
            "epoch": self.epoch,
            "flags": self.flags,
            "count": self.count,
            "seq": self.seq,
            "reward": float_bits(self.reward),
            "gen_time": self.gen_time % layouts.TIMES,
            "segment": self.segment,
            "weights_version": self.weights_version,
        }
        body = pack_header(layouts.OLAF, olaf) + status + payload
        return Datagram(self.source, self.destination, body).encode()

    @classmethod
    def decode(cls, frame: bytes) -> Self:
        """Decode an Olaf frame from its bytes.

        Raises ValueError when the frame is not IPv4/UDP/Olaf or shorter than its header states.
        """
        datagram = Datagram.decode(frame)
        olaf = unpack_header(layouts.OLAF, datagram.body)
        if olaf["version"] != layouts.VERSION:
            raise ValueError(f"Olaf version {olaf['version']}, not {layouts.VERSION}")
        start = layouts.OLAF.size
        status = None
        if olaf["flags"] & layouts.Flag.STATUS:
            status = unpack_header(layouts.STATUS, datagram.body[start:])
            start += layouts.STATUS.size
        if len(datagram.body[start:]) % 4:
            raise ValueError(f"{len(datagram.body)} bytes do not hold a whole gradient")
        return cls(
            source=datagram.source,
            destination=datagram.destination,
            frame_type=FrameType(olaf["frame_type"]),
            flags=olaf["flags"],
            count=olaf["count"],
            seq=olaf["seq"],
            reward=bits_float(olaf["reward"]),
            gen_time=olaf["gen_time"],
            gradient=np.frombuffer(datagram.body[start:], "<f4"),
            status=status,
            epoch=olaf["epoch"],
            segment=olaf["segment"],
            weights_version=olaf["weights_version"],
        )
