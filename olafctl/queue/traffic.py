"""Random traffic for the queue: every kind of update and of other frame, good ones and all sorts of bad."""

import random
import struct
from collections.abc import Callable
from dataclasses import replace

import numpy as np

from olafctl.queue.model import Sidecar
from olafctl.wire.geometry import Geometry
from olafctl.wire.layouts import BEAT_BYTES, GRADIENT_OFFSET, Flag, FrameType, Kind

_NOT_FINITE = tuple(map(float, ("inf", "-inf", "nan")))
_REWARDS = (0.0, -0.0, 1.0, -1.0, 1.0000001, 2.5, -7.0, 1e-42, 3e38, *_NOT_FINITE)
_WORDS = (0x00000000, 0x80000000, 0x00000001, 0x007FFFFF, 0x7F800000, 0xFF800000, 0x7F800001, 0xFFC00001)
_LENGTHS = (0, 1, 15, 16, 17, 32, 48, 64, 100, 359, 367)

_BYPASS_BYTES = 512 * BEAT_BYTES
_WHOLE = (1 << BEAT_BYTES) - 1

Frame = tuple[Sidecar, bytes]


def update(
    cluster: int,
    worker: int,
    gradients: bytes,
    *,
    seq: int = 1,
    reward: int = 0,
    gen_time: int = 1,
    count: int = 1,
    flags: int = 0,
    version: int = 1,
    kind: int = FrameType.UPDATE,
    length: int | None = None,
    src: int = 1,
    dst: int = 2,
    headers: bytes = bytes(GRADIENT_OFFSET - 22),
) -> Frame:
    """An update's sidecar and bytes; ``reward`` as binary32 bits, ``gradients`` little-endian binary32."""
    claimed = len(gradients) // 4 if length is None else length
    olaf = struct.pack(">BBHIIQH", version << 4 | kind, flags, count, seq, reward, gen_time, claimed)
    frame = headers + olaf + gradients
    sidecar = Sidecar(len(frame), src, dst, Kind.UPDATE, cluster, worker)
    return sidecar, frame


class Traffic:
    """An endless supply of frames from a seed, for one geometry."""

    def __init__(self, seed: int, geometry: Geometry, clusters: int, longest: int) -> None:
        """``clusters`` take part; no update is longer than ``longest`` gradients, except on purpose."""
        self._random = random.Random(seed)
        self._geometry = geometry
        self._clusters = self._random.sample(range(geometry.clusters), clusters)
        fitting = [length for length in (*_LENGTHS, longest) if length <= longest]
        self._lengths = {cluster: self._random.choice(fitting) for cluster in self._clusters}
        self._fitting = fitting
        self._time = 1000
        self._bad: tuple[tuple[int, Callable[[], Frame]], ...] = (
            (3, self._mismatched),
            (1, self._of_no_version),
            (1, self._of_wrong_length),
            (1, self._oversize),
            (1, self._of_unknown_cluster),
            (1, self._of_boundary_size),
            (4, self._truncated),
            (4, self._overlong),
        )

    def frame(self) -> Frame:
        """The next frame."""
        draw = self._random.random()
        if draw < 0.18:
            return self._other()
        if draw < 0.26:
            weights = [weight for weight, _ in self._bad]
            return self._random.choices([make for _, make in self._bad], weights)[0]()
        return self._update()

    def beats(self) -> tuple[Sidecar, bytes, list[int] | None]:
        """The next frame, now and then as whole beats with holes in their tkeep."""
        sidecar, frame = self.frame()
        if self._random.random() > 0.04:
            return sidecar, frame, None
        count = -(-len(frame) // BEAT_BYTES)
        keeps = [_WHOLE] * (count - 1) + [(1 << len(frame) - BEAT_BYTES * (count - 1)) - 1]
        for _ in range(self._random.choice((1, 1, 2, 5))):
            at = self._random.randrange(count)
            hole = self._random.choice((1, 0xF, 1 << 63, 0xF0, 0xFF << 40, 1 << self._random.randrange(64)))
            keeps[at] = keeps[at] & ~hole or 1
        return sidecar, frame.ljust(count * BEAT_BYTES, b"\0"), keeps

    def _update(self, length: int | None = None, cluster: int | None = None, **fields: int) -> Frame:
        pick = self._random
        self._time += pick.randrange(3)
        of = pick.choice(self._clusters) if cluster is None else cluster
        aggregated = pick.random() < 0.06
        chosen = {
            "seq": pick.getrandbits(32),
            "reward": self._reward(),
            "gen_time": max(0, self._time - pick.choice((0, 0, 0, 1, 5, 1 << 40))) % (1 << 64),
            "count": pick.choice((0, 7, 30000, 65535)) if pick.random() < 0.1 else 1,
            "flags": (Flag.AGGREGATED if aggregated else 0)
            | (pick.choice((0, 0x80, 0x40)) if aggregated else 0),
            "src": pick.getrandbits(16),
            "dst": pick.getrandbits(16),
        }
        size = self._lengths[of] if length is None and of in self._lengths else length or 0
        return update(
            of,
            of * 8 + pick.choice((1, 1, 2, 3)),
            self._gradients(size),
            headers=pick.randbytes(GRADIENT_OFFSET - 22),
            **{**chosen, **fields},
        )

    def _reward(self) -> int:
        value = self._random.choice(_REWARDS) if self._random.random() < 0.5 else self._random.gauss(0, 2)
        return int(np.float32(value).view(np.uint32))

    def _gradients(self, count: int) -> bytes:
        draw = self._random.random()
        if draw < 0.3:
            return self._random.randbytes(4 * count)
        if draw < 0.4:
            return b"".join(self._random.choice(_WORDS).to_bytes(4, "little") for _ in range(count))
        seeded = np.random.default_rng(self._random.getrandbits(32))
        return seeded.standard_normal(count, dtype=np.float32).astype("<f4").tobytes()

    def _mismatched(self) -> Frame:
        return self._update(length=self._random.choice(self._fitting))

    def _of_no_version(self) -> Frame:
        if self._random.random() < 0.5:
            return self._update(version=self._random.choice((0, 2, 15)))
        return self._update(kind=self._random.choice((0, FrameType.ACK, FrameType.CONTROL, 9)))

    def _of_wrong_length(self) -> Frame:
        if self._random.random() < 0.5:
            return self._update(length=5, **{})[0], self._update(length=3)[1]
        sidecar, frame = self._update()
        claimed = self._random.choice((0, 1, 65535, self._random.getrandbits(16)))
        return sidecar, frame[: GRADIENT_OFFSET - 2] + claimed.to_bytes(2, "big") + frame[GRADIENT_OFFSET:]

    def _oversize(self) -> Frame:
        fits = (self._geometry.beats * BEAT_BYTES - GRADIENT_OFFSET) // 4
        return self._update(length=fits + self._random.choice((1, 16, 40)))

    def _of_boundary_size(self) -> Frame:
        """A size that is none of its length, but is where a sum or product of few bits wraps."""
        size = self._random.choice((0, 1, 60, 63, 64, 68, 127, 128, 65532, 65535))
        wrapped = {0: 65520, 60: 65535, 64: 16384, 68: 16385}
        length = wrapped.get(size, self._random.choice((0, 15, 16383, 16368, 65519, 65535)))
        sidecar, frame = self._update(length=self._random.choice((0, 1, 16, 40)))
        frame = frame[: GRADIENT_OFFSET - 2] + length.to_bytes(2, "big") + frame[GRADIENT_OFFSET:]
        return replace(sidecar, size=size), frame

    def _of_unknown_cluster(self) -> Frame:
        return self._update(cluster=self._random.choice((self._geometry.clusters, 65535)), length=16)

    def _truncated(self) -> Frame:
        sidecar, frame = self._update()
        cut = self._random.choice((1, 4, 64, len(frame) - 1, self._random.randrange(1, len(frame))))
        return sidecar, frame[: max(1, len(frame) - cut)]

    def _overlong(self) -> Frame:
        sidecar, frame = self._update()
        return sidecar, frame + self._random.randbytes(self._random.choice((1, 4, 20, 64, 300)))

    def _other(self) -> Frame:
        pick = self._random
        size = pick.choice((1, 60, 64, 65, 128, 300, 1500, 9036) if pick.random() < 0.3 else (60, 64, 86))
        kind = pick.choice((Kind.BYPASS, Kind.ACK, Kind.ACK, 3, 255))
        # The last two are all the room there is, and a byte more.
        unlike = (0, 1, 64, 40000, _BYPASS_BYTES, _BYPASS_BYTES + 1)
        claimed = pick.choice(unlike) if pick.random() < 0.05 else size
        sidecar = Sidecar(
            claimed,
            pick.getrandbits(16),
            pick.getrandbits(16),
            kind,
            pick.getrandbits(16),
            pick.getrandbits(32),
        )
        return sidecar, pick.randbytes(size)
