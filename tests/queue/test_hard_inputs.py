"""Inputs at the edges: sizes at which sums wrap, holes in tkeep, rewards at the exact bound, odd accesses."""

import struct
from dataclasses import replace

import numpy as np
import pytest

from olafctl.queue.registers import BY_NAME, rate_word
from olafctl.wire.layouts import Kind
from olaflab.queue.model import QueueModel, Sidecar
from olaflab.queue.traffic import Frame, update

from .test_rules import LIMIT, bits, conserved, gradients, held, released

BYPASS_BYTES = 512 * 64
WHOLE = (1 << 64) - 1


def of_size(size: int, length: int, values: int = 1) -> Frame:
    """An update that declares a size and a UDP length that are not those of its frame."""
    sidecar, frame = update(3, 1, gradients(1, count=values), udp_length=length)
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
    assert list(queue.take()) == []


def test_an_update_of_count_0_is_refused(queue: QueueModel) -> None:
    assert held(queue, update(3, 1, gradients(1), count=0))["dropped_header"] == 1


def test_a_rate_above_the_line_rate_leaves_one_cycles_credit(queue: QueueModel) -> None:
    def send(frames: int) -> int:
        start = queue.cycle
        for _ in range(frames):
            queue.offer(*update(3, 1, gradients(1, count=1)))
            queue.settle(LIMIT)
        return queue.cycle - start

    queue.registers.write("rate", (1 << 32) - 1)
    send(40)
    queue.registers.write("rate", rate_word(1_000_000_000))
    credit, bits_per_cycle = 1 << 16, 4
    assert send(200) >= (200 * 68 * 8 - credit) / bits_per_cycle


@pytest.mark.parametrize(
    ("waiting", "reward", "disposition"),
    [
        (16777218.0, 16777220.0, "replaced_reward"),
        (16777220.0, 16777218.0, "dropped_reward"),
        (16777216.0, 16777216.0, "merged"),
        (1.0, 2.0, "merged"),
        (1.0, float(np.nextafter(np.float32(2), np.float32(3))), "replaced_reward"),
        (float(np.float32(2) ** -30), 1.0, "merged"),
        (-(2.0**-30), 1.0, "replaced_reward"),
        (2.0**-30, -1.0, "dropped_reward"),
    ],
)
def test_the_bound_of_a_reward_is_exact(
    queue: QueueModel, waiting: float, reward: float, disposition: str
) -> None:
    queue.registers.write("reward_enable", 1)
    queue.registers.write("reward_threshold", bits(1))
    shown = held(
        queue,
        update(3, 1, gradients(1), reward=bits(waiting)),
        update(3, 2, gradients(2), reward=bits(reward)),
    )
    assert shown[disposition] == 1


@pytest.mark.parametrize(("sign", "disposition"), [(1, "replaced_reward"), (-1, "dropped_reward")])
def test_a_bound_beyond_binary32_is_still_finite(queue: QueueModel, sign: int, disposition: str) -> None:
    largest = float(np.finfo(np.float32).max)
    queue.registers.write("reward_enable", 1)
    queue.registers.write("reward_threshold", bits(largest))
    shown = held(
        queue,
        update(3, 1, gradients(1), reward=bits(sign * largest)),
        update(3, 2, gradients(2), reward=bits(sign * float("inf"))),
    )
    assert shown[disposition] == 1


def test_a_merge_leaves_with_no_udp_checksum(queue: QueueModel) -> None:
    headers = bytes(40) + b"\x12\x34"
    held(queue, *(update(3, worker, gradients(1), headers=headers) for worker in (1, 2)))
    (left,) = released(queue)
    assert left.frame[40:42] == bytes(2)


def test_an_update_alone_keeps_its_udp_checksum(queue: QueueModel) -> None:
    queue.offer(*update(3, 1, gradients(1), headers=bytes(40) + b"\x12\x34"))
    queue.settle(LIMIT)
    (left,) = queue.take()
    assert left.frame[40:42] == b"\x12\x34"


@pytest.mark.parametrize("beat", [0, 1, 2])
def test_a_hole_inside_a_frame_makes_it_a_bad_one(queue: QueueModel, beat: int) -> None:
    sidecar, frame = update(3, 1, gradients(1, count=48))
    keeps = [WHOLE] * 4
    keeps[beat] &= ~(1 << 17)
    queue.registers.write("hold", 1)
    queue.offer(sidecar, frame, 0, keeps)
    queue.settle(LIMIT)
    shown = queue.registers.read_all()
    assert (shown["dropped_truncated"], shown["occupancy"]) == (1, 0)


def test_only_the_gradients_in_a_hole_are_missing(queue: QueueModel) -> None:
    sidecar, frame = update(3, 1, gradients(1, 2, 3, count=359))
    keeps = [WHOLE] * 23 + [(1 << len(frame) % 64) - 1]
    keeps[20] &= ~(1 << 17)
    queue.offer(sidecar, frame.ljust(24 * 64, b"\0"), 0, keeps)
    queue.settle(LIMIT)
    (left,) = queue.take()
    at = 20 * 64 + 16
    assert left.frame == frame[:at] + bytes(4) + frame[at + 4 :]
    assert queue.registers.read("repaired") == 1


@pytest.mark.parametrize(("size", "admitted"), [(BYPASS_BYTES, True), (BYPASS_BYTES + 1, False)])
def test_a_frame_that_fits_the_bypass_exactly_is_let_in(queue: QueueModel, size: int, admitted: bool) -> None:
    queue.offer(Sidecar(size, kind=Kind.BYPASS), bytes(60))
    queue.settle(LIMIT)
    shown = queue.registers.read_all()
    assert (shown["out_bypass"], shown["dropped_bypass"]) == (int(admitted), int(not admitted))


def test_traffic_and_updates_wait_for_one_frame_of_each_other(
    queue: QueueModel,
) -> None:
    queue.block(True)
    for index in range(8):
        queue.offer(*update(index, 1, gradients(1)))
        queue.offer(Sidecar(224, kind=Kind.BYPASS), bytes(224))
    for _ in range(60):
        queue.offer(Sidecar(224, kind=Kind.BYPASS), bytes(224))
    queue.run(queue.cycle + 1000)
    queue.block(False)
    queue.settle(LIMIT)
    kinds = [left.sidecar.kind for left in queue.take()]
    between = np.diff([at for at, kind in enumerate(kinds) if kind == Kind.UPDATE])
    assert len(between) == 7
    assert max(between) <= 2


@pytest.mark.parametrize("strobe", range(16))
@pytest.mark.parametrize("low", range(4))
def test_a_write_changes_the_bytes_of_its_strobe(queue: QueueModel, strobe: int, low: int) -> None:
    address = BY_NAME["active_window"].offset
    queue.access(True, address, 0x11223344)
    assert queue.access(True, address + low, 0xAABBCCDD, strobe)[0] == 0
    old, new = struct.pack("<I", 0x11223344), struct.pack("<I", 0xAABBCCDD)
    expected = bytes(new[byte] if strobe >> byte & 1 else old[byte] for byte in range(4))
    assert queue.access(False, address + low) == (0, struct.unpack("<I", expected)[0])


@pytest.mark.parametrize(("write", "address"), [(True, 0x000), (True, 0x100), (False, 0xFFC), (True, 0xFFC)])
def test_an_access_that_cannot_be_answers_slverr(queue: QueueModel, write: bool, address: int) -> None:
    before = queue.registers.read_all()
    assert queue.access(write, address, 1)[0] == 2
    after = queue.registers.read_all()
    assert {name: before[name] for name in ("id", "rate", "hold")} == {
        name: after[name] for name in ("id", "rate", "hold")
    }
