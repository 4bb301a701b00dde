"""Inputs at the edges: sizes at which sums wrap, holes in tkeep, rewards at the exact bound, odd accesses."""

import struct
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest

from olafctl.queue.registers import BY_NAME
from olafctl.wire.layouts import FrameKind
from olaftest.queue.model import Departure, QueueModel, Sidecar
from olaftest.queue.traffic import Frame, make_update

from .test_rules import LIMIT, bits, conserved, gradients, held

BYPASS_BYTES = 512 * 64
WHOLE = (1 << 64) - 1


def of_size(size: int, length: int, values: int = 1) -> Frame:
    """Return an update that declares another size and UDP length than those of its frame."""
    sidecar, frame = make_update(3, 1, gradients(1, count=values), udp_length=length)
    return replace(sidecar, size=size), frame


@pytest.mark.parametrize("hold", [0, 1])
@pytest.mark.parametrize(
    ("size", "length"),
    [
        *(
            (size, (size - 34) % (1 << 16))
            for size in (0, 1, 33, 34, 60, 63, 65, 66, 67, 65533, 65534, 65535)
        ),
        *((64, 0), (64, 31), (68, 65535), (0, 0), (0, 65535), (64, 30 + 4096)),
    ],
)
def test_a_size_that_is_not_that_of_its_length_is_refused(
    queue: QueueModel, size: int, length: int, hold: int
) -> None:
    queue.registers.write("hold", hold)
    queue.offer(*of_size(size, length))
    queue.settle(LIMIT)
    shown = queue.registers.read_all()
    assert (shown["dropped_length"], shown["appended"], shown["occupancy"]) == (1, 0, 0)
    assert conserved(shown)
    assert list(queue.take_departures()) == []


@pytest.mark.parametrize("beat", [0, 1, 2])
def test_a_hole_inside_a_frame_makes_it_a_bad_one(queue: QueueModel, beat: int) -> None:
    sidecar, frame = make_update(3, 1, gradients(1, count=48))
    keeps = [WHOLE] * 4
    keeps[beat] &= ~(1 << 17)
    queue.registers.write("hold", 1)
    queue.offer(sidecar, frame, 0, keeps)
    queue.settle(LIMIT)
    shown = queue.registers.read_all()
    assert (shown["dropped_truncated"], shown["occupancy"]) == (1, 0)


def test_only_the_gradients_in_a_hole_are_missing(queue: QueueModel) -> None:
    sidecar, frame = make_update(3, 1, gradients(1, 2, 3, count=359))
    keeps = [WHOLE] * 23 + [(1 << len(frame) % 64) - 1]
    keeps[20] &= ~(1 << 17)
    queue.offer(sidecar, frame.ljust(24 * 64, b"\0"), 0, keeps)
    queue.settle(LIMIT)
    (left,) = queue.take_departures()
    at = 20 * 64 + 16
    assert left.frame == frame[:at] + bytes(4) + frame[at + 4 :]
    assert queue.registers.read("repaired") == 1


@pytest.mark.parametrize(("size", "admitted"), [(BYPASS_BYTES, True), (BYPASS_BYTES + 1, False)])
def test_a_frame_that_fits_the_bypass_exactly_is_let_in(queue: QueueModel, size: int, admitted: bool) -> None:
    queue.offer(Sidecar(size, kind=FrameKind.BYPASS), bytes(60))
    queue.settle(LIMIT)
    shown = queue.registers.read_all()
    assert (shown["out_bypass"], shown["dropped_bypass"]) == (int(admitted), int(not admitted))


def test_traffic_and_updates_wait_for_one_frame_of_each_other(
    queue: QueueModel,
) -> None:
    queue.block(True)
    for index in range(8):
        queue.offer(*make_update(index, 1, gradients(1)))
        queue.offer(Sidecar(224, kind=FrameKind.BYPASS), bytes(224))
    for _ in range(60):
        queue.offer(Sidecar(224, kind=FrameKind.BYPASS), bytes(224))
    queue.run(queue.cycle + 1000)
    queue.block(False)
    queue.settle(LIMIT)
    kinds = [left.sidecar.kind for left in queue.take_departures()]
    between = np.diff([at for at, kind in enumerate(kinds) if kind == FrameKind.UPDATE])
    assert len(between) == 7
    assert max(between) <= 2


@pytest.mark.parametrize("strobe", range(16))
@pytest.mark.parametrize("low", range(4))
def test_a_write_changes_the_bytes_of_its_strobe(queue: QueueModel, strobe: int, low: int) -> None:
    address = BY_NAME["active_window"].offset
    queue.access(True, address, 0x11223344)
    refused = strobe & (1 << low) - 1  # these bytes are below the address
    assert queue.access(True, address + low, 0xAABBCCDD, strobe)[0] == (2 if refused else 0)
    old, new = struct.pack("<I", 0x11223344), struct.pack("<I", 0xAABBCCDD)
    written = 0 if refused else strobe
    expected = bytes(new[byte] if written >> byte & 1 else old[byte] for byte in range(4))
    assert queue.access(False, address + low) == (0, struct.unpack("<I", expected)[0])


@pytest.mark.parametrize(("write", "address"), [(True, 0x000), (True, 0x100), (False, 0xFFC), (True, 0xFFC)])
def test_an_access_that_cannot_be_answers_slverr(queue: QueueModel, write: bool, address: int) -> None:
    before = queue.registers.read_all()
    assert queue.access(write, address, 1)[0] == 2
    after = queue.registers.read_all()
    assert {name: before[name] for name in ("id", "rate", "hold")} == {
        name: after[name] for name in ("id", "rate", "hold")
    }


LARGEST = float(np.finfo(np.float32).max)


@pytest.mark.parametrize(
    ("waiting", "reward", "threshold", "disposition"),
    [
        (16777218.0, 16777220.0, 1, "replaced_reward"),
        (16777220.0, 16777218.0, 1, "dropped_reward"),
        (16777216.0, 16777216.0, 1, "merged"),
        (1.0, 2.0, 1, "merged"),
        (1.0, float(np.nextafter(np.float32(2), np.float32(3))), 1, "replaced_reward"),
        (float(np.float32(2) ** -30), 1.0, 1, "merged"),
        (-(2.0**-30), 1.0, 1, "replaced_reward"),
        (2.0**-30, -1.0, 1, "dropped_reward"),
        (3.4e38, LARGEST, 3e38, "merged"),
        (1e-45, 4.2e-45, 1e-45, "replaced_reward"),
        (1.0, 1.0, 1e-45, "merged"),
        (LARGEST, float("inf"), LARGEST, "replaced_reward"),
        (-LARGEST, -float("inf"), LARGEST, "dropped_reward"),
    ],
)
def test_the_bound_of_a_reward_is_exact(
    queue: QueueModel, waiting: float, reward: float, threshold: float, disposition: str
) -> None:
    queue.registers.write("reward_enable", 1)
    queue.registers.write("reward_threshold", bits(threshold))
    shown = held(
        queue,
        make_update(3, 1, gradients(1), reward=bits(waiting)),
        make_update(3, 2, gradients(2), reward=bits(reward)),
    )
    assert shown[disposition] == 1


@pytest.mark.parametrize("kept", [0, 1, 30, 43, 63])
def test_headers_that_did_not_come_are_not_looked_at(queue: QueueModel, kept: int) -> None:
    sidecar, frame = make_update(3, 1, gradients(1))
    beats = frame.ljust(4 * 64, b"\0")
    wrong = bytearray(beats)
    wrong[kept:64] = b"\xff" * (64 - kept)
    queue.offer(sidecar, bytes(wrong), keeps=[(1 << kept) - 1, WHOLE, WHOLE, (1 << 32) - 1])
    queue.offer(sidecar, bytes(wrong[:64]), keeps=[(1 << kept) - 1])
    queue.settle(LIMIT)
    assert list(queue.take_departures()) == []
    shown = queue.registers.read_all()
    assert (shown["dropped_truncated"], shown["dropped_header"]) == (2, 0)


@pytest.mark.parametrize("at_once", [1, 8])
def test_a_rate_above_the_line_gathers_no_credit(queue: QueueModel, at_once: int) -> None:
    """Many updates below one cycle's worth of the rate are followed by a slow rate: none may leave early.

    An update alone leaves as it comes, several leave from their slots.
    """

    def leave(values: int, number: int) -> list[Departure]:
        left: list[Departure] = []
        for begin in range(0, number, at_once):
            queue.registers.write("hold", int(at_once > 1))
            for index in range(begin, begin + at_once):
                queue.offer(*make_update(index % 16, index, gradients(1, count=values)))
            if at_once > 1:
                queue.settle(LIMIT)
                queue.registers.write("hold", 0)
            queue.settle(LIMIT)
            left += queue.take_departures()
        assert len(left) == number
        return left

    queue.registers.write("rate", 0xFFFFFFFF)
    leave(0, 304)
    queue.registers.write("rate", 16 << 16)
    left = leave(360, 8)
    size = len(left[0].frame)
    # The credit of the fast rate is at most one cycle's, which is worth 65,536 bits.
    starts = [one.first for one in left][65536 // (8 * size) + 1 :]
    assert len(starts) >= 2
    assert all(later - earlier >= 8 * size // 16 for earlier, later in pairwise(starts))
