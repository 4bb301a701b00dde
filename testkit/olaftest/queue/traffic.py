"""Random traffic for the queue: every kind of update and of other frame, good ones and all sorts of bad."""

import random
from collections.abc import Callable, Iterator
from dataclasses import replace

import numpy as np

from olafctl.wire import layouts
from olafctl.wire.frames import pack_header
from olafctl.wire.geometry import Geometry
from olafctl.wire.layouts import BEAT_BYTES, GRADIENT_OFFSET, Flag, FrameKind, FrameType
from olaftest.queue.model import Sidecar

_NOT_FINITE = tuple(map(float, ("inf", "-inf", "nan")))
_REWARDS = (
    0.0,
    -0.0,
    1.0,
    -1.0,
    1.0000001,
    2.5,
    -7.0,
    1e-42,
    3e38,
    -3e38,
    3.4028234e38,
    -3.4028234e38,
    *_NOT_FINITE,
)
_LEAST = (0.0, -0.0, 1e-45, -1e-45)
"""Both zeros and their neighbours: a comparison that is off by one confuses them."""
_THRESHOLDS = (0.0, 0.5, 2.0, float("inf"))
_LARGEST = float(np.finfo(np.float32).max)
_EXTREME = (_LARGEST, -_LARGEST, 3e38, -3e38, *_NOT_FINITE[:2])
_LARGE_THRESHOLDS = (_LARGEST, _LARGEST, 3e38, 1e38)
"""Bounds of extreme rewards with these are beyond binary32's range: only an infinity is further out."""
_WORDS = (0x00000000, 0x80000000, 0x00000001, 0x007FFFFF, 0x7F800000, 0xFF800000, 0x7F800001, 0xFFC00001)
_LENGTHS = (0, 1, 15, 16, 17, 32, 48, 64, 100, 359, 367)

_BYPASS_BYTES = 512 * BEAT_BYTES
_WHOLE = (1 << BEAT_BYTES) - 1

_UDP_END = GRADIENT_OFFSET - layouts.OLAF.size
_BEFORE_UDP = _UDP_END - layouts.UDP.size

Frame = tuple[Sidecar, bytes]


def make_update(
    index: int,
    worker: int,
    gradients: bytes,
    *,
    seq: int = 1,
    reward: int = 0,
    gen_time: int = 1,
    count: int = 1,
    flags: int = 0,
    version: int = layouts.VERSION,
    kind: int = FrameType.UPDATE,
    epoch: int = 0,
    segment: int = 0,
    weights_version: int = 0,
    member: int = 0,
    cluster: int = 0,
    udp_length: int | None = None,
    src: int = 1,
    dst: int = 2,
    headers: bytes = bytes(_UDP_END),
) -> Frame:
    """Make an update's sidecar and bytes; ``reward`` as binary32 bits, ``gradients`` little-endian binary32.

    ``headers`` are the bytes before the Olaf header; their UDP length becomes ``udp_length``, else the true.
    """
    olaf = pack_header(
        layouts.OLAF,
        {
            **{"version": version, "frame_type": kind, "epoch": epoch, "flags": flags, "count": count},
            **{
                "seq": seq,
                "reward": reward,
                "gen_time": gen_time,
                "segment": segment,
                "weights_version": weights_version,
            },
        },
    )
    true_length = layouts.UDP.size + len(olaf) + len(gradients)
    length = (true_length if udp_length is None else udp_length).to_bytes(2, "big")
    frame = headers[: _UDP_END - 4] + length + headers[_UDP_END - 2 :] + olaf + gradients
    return Sidecar(len(frame), src, dst, FrameKind.UPDATE, cluster, index, member, worker), frame


class Traffic:
    """An endless supply of frames from a seed, for one geometry."""

    def __init__(
        self,
        seed: int,
        geometry: Geometry,
        indices: int,
        longest: int,
        *,
        extreme: bool = False,
        numbered: bool = False,
        acks: float | None = None,
        behind: int = 0,
    ) -> None:
        """``indices`` take part; no update is longer than ``longest`` gradients, except on purpose.

        With ``extreme``, half of the rewards are at the ends of binary32's range, and so are the thresholds.
        With ``numbered``, members number their updates themselves; else their numbers are rounds.
        With ``acks``, that part of the frames are ACKs, and most updates are a few versions and ``behind``
        behind them.
        """
        self._random = pick = random.Random(seed)
        self._geometry = geometry
        self.indices = pick.sample(range(geometry.indices), indices)
        fitting = [length for length in (*_LENGTHS, longest) if length <= longest]
        self._lengths = {index: pick.choice(fitting) for index in self.indices}
        self._fitting = fitting
        # Times, rounds and versions are compared as serial numbers: some start where they soon wrap.
        self._time = pick.choice((1000, (1 << 48) - 100, 1 << 47))
        self._policy = pick.choice((5, 65530, 32760))
        # The server may begin again, with older weights or from no weights at all.
        self._acks = pick.choice((0.02, 0.02, 0.1, 0.4))
        self._begins_again = pick.choice((0.0, 0.0, 0.03))
        self._behind = pick.choice((0, 1, 40, 30_000))
        if acks is not None:
            self._acks, self._behind = acks, behind
        self._rounds = {index: pick.choice((0, 1, (1 << 31) - 2, (1 << 32) - 2)) for index in self.indices}
        self._numbered = numbered
        self._numbers: dict[tuple[int, int], int] = {}
        self._members = pick.choice((1, 2, 3, 5))
        self._summing = pick.choice((0.0, 0.0, 0.5, 1.0))
        rewards = pick.choice((_REWARDS, _REWARDS, _LEAST))
        self._rewards = _EXTREME if extreme else rewards
        self.thresholds = _LARGE_THRESHOLDS if extreme else _THRESHOLDS
        """Thresholds at which the reward rule acts on these rewards."""
        self._last_reward = 0.0
        self._bad: tuple[tuple[int, Callable[[], Frame]], ...] = (
            (3, self._draw_mismatched),
            (1, self._of_no_version),
            (1, self._of_wrong_length),
            (1, self._draw_oversize),
            (1, self._of_unknown_index),
            (1, self._of_boundary_size),
            (4, self._draw_truncated),
            (4, self._draw_overlong),
        )

    def next_frame(self) -> Frame:
        """Return the next frame."""
        draw = self._random.random()
        if self._random.random() < self._acks:
            return self._draw_ack()
        if draw < 0.15:
            return self._draw_other()
        if draw < 0.23:
            weights = [weight for weight, _ in self._bad]
            return self._random.choices([make for _, make in self._bad], weights)[0]()
        return self._draw_update()

    def begin_again(self, acks: int) -> Iterator[Frame]:
        """Begin the server again, with older weights: yield so many ACKs of the first index in a row."""
        self._policy -= self._random.choice((20, 300, 20_000))
        for number in range(acks):
            yield self._ack_of(self.indices[0], self._policy + number // 8)

    def next_beats(self) -> tuple[Sidecar, bytes, list[int] | None]:
        """Return the next frame, now and then as whole beats with holes in their tkeep."""
        sidecar, frame = self.next_frame()
        if self._random.random() > 0.08:
            return sidecar, frame, None
        count = -(-len(frame) // BEAT_BYTES)
        keeps = [_WHOLE] * (count - 1) + [(1 << len(frame) - BEAT_BYTES * (count - 1)) - 1]
        # One far from both ends is easily forgotten by the end of the frame.
        inner = count >= 4 and self._random.random() < 0.5
        for _ in range(1 if inner else self._random.choice((1, 1, 2, 5))):
            at = self._random.randrange(1, count - 2) if inner else self._random.randrange(count)
            hole = self._random.choice((1, 0xF, 1 << 63, 0xF0, 0xFF << 40, 1 << self._random.randrange(64)))
            keeps[at] = keeps[at] & ~hole or 1
        return sidecar, frame.ljust(count * BEAT_BYTES, b"\0"), keeps

    def fill_bypass(self) -> list[Frame]:
        """Return frames that fill the bypass to its last beat, and more; none is a beat longer than it
        declares."""
        pick = self._random
        sizes = [9036] * 3 + [60] * 120
        frames = [(Sidecar(size, src=pick.getrandbits(16)), pick.randbytes(size)) for size in sizes]
        for at in range(100, len(frames), 5):
            frames[at] = (replace(frames[at][0], size=0), frames[at][1])
        for _ in range(20):
            frames.insert(pick.randrange(len(frames)), self._draw_update())
        return frames

    def _draw_update(self, length: int | None = None, index: int | None = None, **fields: int) -> Frame:
        pick = self._random
        self._time += pick.randrange(3)
        self._policy += pick.random() < 0.1
        of = pick.choice(self.indices) if index is None else index
        aggregated = pick.random() < 0.06
        member = self._draw_member()
        chosen = {
            "seq": self._draw_number(of, member) if self._numbered else self._draw_round(of),
            "reward": self._draw_reward(),
            "gen_time": (self._time - pick.choice((0, 0, 0, 1, 5, 1 << 40, 1 << 47))) % (1 << 48),
            "weights_version": self._draw_version(),
            "count": pick.choice((0, 2, 2, 7, 30000, 65535)) if pick.random() < 0.1 else 1,
            "flags": (Flag.AGGREGATED if aggregated else 0)
            | (pick.choice((0, 8)) if aggregated else 0)
            | (Flag.SUMMED if pick.random() < self._summing else 0),
            "epoch": pick.getrandbits(4),
            "segment": pick.getrandbits(16),
            "cluster": pick.getrandbits(16),
            "member": member,
            "src": pick.getrandbits(16),
            "dst": pick.getrandbits(16),
        }
        size = self._lengths[of] if length is None and of in self._lengths else length or 0
        return make_update(
            of,
            _worker_id(of * 8 + member % 8),
            self._draw_gradients(size),
            headers=pick.randbytes(_UDP_END),
            **{**chosen, **fields},
        )

    def _draw_version(self) -> int:
        """Draw a version, mostly of some versions ago; now and then far from the newest, or yet to come."""
        pick = self._random
        ago = pick.choice((0, 0, 1, 2, 3, pick.getrandbits(4), pick.getrandbits(15), 1 << 15, -1))
        return (self._policy - self._behind - ago) % (1 << 16)

    def _draw_ack(self) -> Frame:
        """Draw an ACK of an index that takes part: the weights have moved on."""
        pick = self._random
        if pick.random() < self._begins_again:
            self._policy -= pick.choice((1, 20, 300, 20_000))
        self._policy += pick.choice((0, 1, 1, 2, 5))
        shown = self._policy - pick.choice((0, 0, 0, 0, 1, 1 << 15))
        # Mostly of one index, so that many come in a row.
        every = (*self.indices, self._geometry.indices, 65535)
        sidecar, frame = self._ack_of(pick.choice(every) if pick.random() < 0.4 else self.indices[0], shown)
        short = pick.random() < 0.02
        return replace(sidecar, src=pick.getrandbits(16)), frame[:-1] if short else frame

    def _ack_of(self, index: int, version: int) -> Frame:
        pick = self._random
        sidecar, frame = make_update(
            *(index, pick.getrandbits(32), pick.randbytes(pick.choice((0, 0, 4, 400)))),
            kind=FrameType.ACK,
            weights_version=version % (1 << 16),
            headers=pick.randbytes(_UDP_END),
        )
        return replace(sidecar, kind=FrameKind.ACK), frame

    def _draw_round(self, index: int) -> int:
        """Draw mostly the round at hand; now and then one that is over, or far from it, or the next."""
        pick = self._random
        if index not in self._rounds:
            return pick.getrandbits(32)
        if pick.random() < 0.5 / self._members:
            self._rounds[index] += 1
        away = pick.choice((-1, -2, 1, 1 << 31, pick.getrandbits(32))) if pick.random() < 0.12 else 0
        return (self._rounds[index] + away) % (1 << 32)

    def _draw_number(self, index: int, member: int) -> int:
        """Draw mostly the member's next number; now and then one of before, or one further ahead or far from
        it."""
        pick = self._random
        start = pick.choice((0, (1 << 31) - 9, (1 << 32) - 9))
        newest = self._numbers.setdefault((index, member), start)
        draw = pick.random()
        if draw < 0.6:
            away = pick.choice((1, 1, 1, 2, 3))
        elif draw < 0.8:
            away = -pick.choice((0, 0, 1, 2, 3, 7, 14, 15, 16, 17, 31, 32))
        elif draw < 0.9:
            away = pick.choice((4, 8, 15, 16, 17, 18, 31, 32, 33, 48))
        else:
            away = pick.choice((1 << 31, (1 << 31) - 1, -(1 << 31) + 16, 1 << 16, pick.getrandbits(32)))
        if 0 < away < 1 << 8:
            self._numbers[index, member] = (newest + away) % (1 << 32)
        return (newest + away) % (1 << 32)

    def _draw_member(self) -> int:
        pick = self._random
        if pick.random() < 0.04:
            return pick.choice((self._geometry.members - 1, self._geometry.members, 63, 64, 255))
        return pick.randrange(self._members) % self._geometry.members

    def _draw_reward(self) -> int:
        pick = self._random
        draw = pick.random()
        if draw < 0.5:
            value = pick.choice(self._rewards)
        elif draw < 0.6:  # exactly at a bound, when the last update is the one that waits
            value = self._last_reward + pick.choice((1, -1)) * pick.choice(self.thresholds)
        else:
            value = pick.gauss(0, 2)
        with np.errstate(over="ignore"):  # beyond the range is an infinity
            reward = np.float32(value)
        self._last_reward = float(reward)
        return int(reward.view(np.uint32))

    def _draw_gradients(self, count: int) -> bytes:
        draw = self._random.random()
        if draw < 0.3:
            return self._random.randbytes(4 * count)
        if draw < 0.4:
            return b"".join(self._random.choice(_WORDS).to_bytes(4, "little") for _ in range(count))
        seeded = np.random.default_rng(self._random.getrandbits(32))
        values = seeded.standard_normal(count, dtype=np.float32)
        if draw < 0.7:  # of few different magnitudes, so that sums cancel to their last bits
            values = np.float32(1) + seeded.integers(0, 1 << 23, count) * np.float32(2) ** -23
            values = np.where(seeded.random(count) < 0.8, np.float32(1.5), values)
            values += seeded.integers(-3, 4, count) * np.float32(2) ** -seeded.integers(2, 24, count)
            values = np.where(seeded.random(count) < 0.5, -values, values)
        return values.astype("<f4").tobytes()

    def _draw_mismatched(self) -> Frame:
        return self._draw_update(length=self._random.choice(self._fitting))

    def _of_no_version(self) -> Frame:
        if self._random.random() < 0.5:
            return self._draw_update(version=self._random.choice((0, 2, 15)))
        return self._draw_update(
            kind=self._random.choice((0, FrameType.ACK, FrameType.CONTROL, FrameType.RESULT, 9))
        )

    def _of_wrong_length(self) -> Frame:
        draw = self._random.random()
        if draw < 0.3:
            return self._draw_update(length=5)[0], self._draw_update(length=3)[1]
        sidecar, frame = self._draw_update()
        if draw < 0.6:  # both agree, but the gradients are not whole
            more = self._random.choice((1, 2, 3))
            frame = _with_udp_length(frame, sidecar.size + more - _BEFORE_UDP) + bytes(more)
            return replace(sidecar, size=sidecar.size + more), frame
        wrong = (sidecar.size - _BEFORE_UDP) ^ 1 << self._random.randrange(16)
        return sidecar, _with_udp_length(frame, wrong)

    def _of_boundary_size(self) -> Frame:
        """Draw a frame of a size at the edge of what its UDP length can hold, where a sum or product of few
        bits wraps."""
        pick = self._random
        size = pick.choice((0, 1, 30, 33, 34, 60, 63, 64, 68, 127, 128, 65532, 65535))
        length = pick.choice((size - _BEFORE_UDP, size, 65535, 0, 30, 26)) % (1 << 16)
        sidecar, frame = self._draw_update(length=pick.choice((0, 1, 16, 40)))
        return replace(sidecar, size=size), _with_udp_length(frame, length)

    def _draw_oversize(self) -> Frame:
        fits = (self._geometry.beats * BEAT_BYTES - GRADIENT_OFFSET) // 4
        return self._draw_update(length=fits + self._random.choice((1, 16, 40)))

    def _of_unknown_index(self) -> Frame:
        return self._draw_update(index=self._random.choice((self._geometry.indices, 65535)), length=16)

    def _draw_truncated(self) -> Frame:
        sidecar, frame = self._draw_update()
        cut = self._random.choice((1, 4, 64, len(frame) - 1, self._random.randrange(1, len(frame))))
        return sidecar, frame[: max(1, len(frame) - cut)]

    def _draw_overlong(self) -> Frame:
        sidecar, frame = self._draw_update()
        return sidecar, frame + self._random.randbytes(self._random.choice((1, 4, 20, 64, 300)))

    def _draw_other(self) -> Frame:
        pick = self._random
        size = pick.choice((1, 60, 64, 65, 128, 300, 1500, 9036) if pick.random() < 0.3 else (60, 64, 86))
        kind = pick.choice((FrameKind.BYPASS, FrameKind.ACK, FrameKind.ACK, FrameKind.RESULT, 4, 255))
        # The last two are all the room there is, and a byte more.
        unlike = (0, 1, 64, 40000, _BYPASS_BYTES, _BYPASS_BYTES + 1)
        claimed = pick.choice(unlike) if pick.random() < 0.12 else size
        frame = pick.randbytes(size)
        if kind == FrameKind.RESULT and size >= GRADIENT_OFFSET:
            frame = make_update(0, 0, frame[GRADIENT_OFFSET:], kind=FrameType.RESULT)[1]
        sidecar = Sidecar(
            claimed,
            pick.getrandbits(16),
            pick.getrandbits(16),
            kind,
            pick.getrandbits(16),
            pick.getrandbits(16),
            pick.getrandbits(8),
            pick.getrandbits(32),
        )
        return sidecar, frame


def _with_udp_length(frame: bytes, length: int) -> bytes:
    return frame[: _UDP_END - 4] + length.to_bytes(2, "big") + frame[_UDP_END - 2 :]


def _worker_id(number: int) -> int:
    """Return an id with one bit of 32, or none: a comparison that leaves a bit out takes it for another's."""
    return (1 << number % 33) >> 1
