"""Single rules, each where it is easiest to see; the random traffic covers their combinations."""

import numpy as np
import pytest

from olafctl.queue.registers import DISPOSITIONS, REGISTERS, Access, rate_word
from olafctl.wire import layouts
from olafctl.wire.frames import unpack
from olafctl.wire.geometry import Geometry
from olafctl.wire.layouts import Flag, Kind, StatusFlag
from olaflab.queue.model import Departure, QueueModel, Sidecar, without_status
from olaflab.queue.traffic import Frame, update
from olafswitch.errors import BadInput

from .conftest import NewQueue

LIMIT = 100_000


def bits(value: float) -> int:
    return int(np.float32(value).view(np.uint32))


def gradients(*values: float, count: int = 40) -> bytes:
    return np.resize(np.array(values, dtype="<f4"), count).tobytes()


def held(queue: QueueModel, *frames: Frame) -> dict[str, int]:
    """Send frames while nothing may leave; the registers after."""
    queue.registers.write("hold", 1)
    for sidecar, frame in frames:
        queue.offer(sidecar, frame)
    queue.settle(LIMIT)
    return queue.registers.read_all()


def released(queue: QueueModel) -> list[Departure]:
    queue.registers.write("hold", 0)
    queue.settle(LIMIT)
    return list(queue.take())


def olaf(frame: bytes) -> dict[str, int]:
    return unpack(layouts.OLAF, frame[42:64])


def conserved(shown: dict[str, int]) -> bool:
    dispositions = sum(shown[name] for name in (*DISPOSITIONS, "out_updates", "merged", "resident_updates"))
    others = shown["out_bypass"] + shown["dropped_bypass"] + shown["resident_bypass"]
    return shown["in_updates"] == dispositions and shown["in_bypass"] == others


def test_two_workers_of_a_cluster_are_summed(queue: QueueModel) -> None:
    shown = held(
        queue,
        update(3, 1, gradients(1.5, -2), seq=7, gen_time=90, reward=bits(4), src=11),
        update(3, 2, gradients(0.25, 8), seq=9, gen_time=80, reward=bits(5), src=12),
    )
    assert (shown["appended"], shown["merged"], shown["occupancy"]) == (1, 1, 1)
    (left,) = released(queue)
    assert left.frame[64:] == gradients(1.75, 6)
    assert olaf(left.frame) == {
        **{"version": 1, "frame_type": 1, "epoch": 0, "flags": Flag.AGGREGATED, "count": 2, "seq": 7},
        **{"gen_time": 90, "reward": bits(5), "segment": 0, "weights_version": 0},
    }
    assert left.sidecar.src == 11


def test_a_newer_update_of_the_same_worker_replaces(queue: QueueModel) -> None:
    first = update(3, 1, gradients(1), seq=1)
    second = update(3, 1, gradients(2), seq=2)
    assert held(queue, first, second)["replaced_worker"] == 1
    (left,) = released(queue)
    assert left.frame == second[1]


def test_after_a_merge_the_same_worker_no_longer_replaces(queue: QueueModel) -> None:
    frames = (update(3, 1, gradients(1)), update(3, 2, gradients(2)), update(3, 2, gradients(4)))
    assert held(queue, *frames)["merged"] == 2
    (left,) = released(queue)
    assert (left.frame[64:], olaf(left.frame)["count"]) == (gradients(7), 3)


@pytest.mark.parametrize(
    ("reward", "disposition"),
    [(3.0, "merged"), (3.1, "replaced_reward"), (1.0, "merged"), (0.9, "dropped_reward")],
)
def test_the_reward_rule(queue: QueueModel, reward: float, disposition: str) -> None:
    queue.registers.write("reward_enable", 1)
    queue.registers.write("reward_threshold", bits(1))
    waiting = update(3, 1, gradients(1), reward=bits(2))
    shown = held(queue, waiting, update(3, 2, gradients(2), reward=bits(reward)))
    assert shown[disposition] == 1
    expected = {"merged": 3, "replaced_reward": 2, "dropped_reward": 1}[disposition]
    (left,) = released(queue)
    assert left.frame[64:] == gradients(expected)


def test_full_drops_another_cluster_but_merges_one_that_waits(queue: QueueModel) -> None:
    slots = queue.registers.read("slots")
    frames = [update(cluster, 1, gradients(cluster)) for cluster in range(slots + 1)]
    shown = held(queue, *frames, update(0, 2, gradients(1)))
    assert (shown["appended"], shown["dropped_full"], shown["merged"]) == (slots, 1, 1)
    queue.offer(Sidecar(64, kind=Kind.ACK), bytes(64))
    queue.settle(LIMIT)
    (ack,) = queue.take()
    assert (ack.sidecar.occupancy, ack.sidecar.slots, ack.sidecar.active_clusters) == (
        slots,
        slots,
        slots + 1,
    )
    assert ack.sidecar.status_flags == StatusFlag.FULL | StatusFlag.CONGESTED
    assert [left.frame for left in released(queue)][1:] == [frame for _, frame in frames[1:slots]]


def test_the_leaving_head_is_locked_and_a_second_waits_behind(queue: QueueModel) -> None:
    queue.block(True)
    first = update(3, 1, gradients(1, count=300))
    queue.offer(*first)
    queue.run(queue.cycle + 100)
    second = update(3, 2, gradients(2, count=300))
    queue.offer(*second)
    queue.run(queue.cycle + 100)
    shown = queue.registers.read_all()
    assert (shown["occupancy"], shown["locked_appends"], shown["merged"]) == (2, 1, 0)
    queue.block(False)
    queue.settle(LIMIT)
    assert [left.frame for left in queue.take()] == [first[1], second[1]]


def test_a_blocked_output_never_holds_up_the_input(queue: QueueModel) -> None:
    queue.block(True)
    for index in range(500):
        queue.offer(*update(index % 16, index, gradients(1, count=359)))
    queue.offer(Sidecar(1500, kind=Kind.BYPASS), bytes(1500))
    queue.drain(LIMIT)
    shown = queue.registers.read_all()
    assert (shown["input_stalls"], shown["out_updates"]) == (0, 0)
    assert shown["merged"] > 200 and shown["dropped_full"] > 200
    assert conserved(shown)


def test_other_traffic_passes_a_held_queue_in_order(queue: QueueModel) -> None:
    held(queue, update(3, 1, gradients(1)))
    others = [
        (Sidecar(60 + index, src=index, dst=9, kind=kind, index=3, worker=1), bytes([index]) * (60 + index))
        for index, kind in enumerate((Kind.BYPASS, Kind.ACK, 7, Kind.ACK, 255))
    ]
    for sidecar, frame in others:
        queue.offer(sidecar, frame)
    queue.settle(LIMIT)
    assert [(without_status(left.sidecar), left.frame) for left in queue.take()] == others


@pytest.mark.parametrize(
    ("cause", "bad"),
    [
        ("dropped_header", update(3, 2, gradients(5), version=2)),
        ("dropped_header", update(3, 2, gradients(5), kind=2)),
        ("dropped_length", update(3, 2, gradients(5), udp_length=186)),
        ("dropped_oversize", update(3, 2, gradients(5, count=369))),
        ("dropped_index", update(16, 2, gradients(5))),
        ("dropped_mismatch", update(3, 2, gradients(5, count=41))),
        ("dropped_truncated", (lambda it: (it[0], it[1][:100]))(update(3, 2, gradients(5)))),
        ("dropped_truncated", (lambda it: (it[0], it[1][:30]))(update(3, 2, gradients(5), version=1))),
        ("dropped_overlong", (lambda it: (it[0], it[1] + bytes(4)))(update(3, 2, gradients(5)))),
        ("dropped_overlong", (lambda it: (it[0], it[1] + bytes(20_000)))(update(3, 2, gradients(5)))),
    ],
)
def test_a_bad_update_is_dropped_without_a_trace(queue: QueueModel, cause: str, bad: Frame) -> None:
    waiting, after = update(3, 1, gradients(1)), update(3, 3, gradients(2))
    shown = held(queue, waiting, bad, after)
    assert (shown[cause], shown["merged"], shown["in_updates"]) == (1, 1, 3)
    assert conserved(shown)
    (left,) = released(queue)
    assert left.frame[64:] == gradients(3)


@pytest.mark.parametrize("cut", [64, 100, 200])
def test_an_update_that_breaks_off_while_leaving_leaves_whole(queue: QueueModel, cut: int) -> None:
    sidecar, frame = update(3, 1, gradients(1, 2, 3, count=359))
    for piece in (1, 2):
        queue.offer(sidecar, frame[: -cut * piece])
        queue.settle(LIMIT)
        (left,) = queue.take()
        whole = (len(frame) - cut * piece) // 4 * 4
        assert left.frame == frame[:whole].ljust(len(frame), b"\0")
    assert queue.registers.read("repaired") == 2


def test_count_stops_at_its_limit(queue: QueueModel) -> None:
    frames = (update(3, 1, gradients(1), count=65530), update(3, 2, gradients(1), count=10))
    assert held(queue, *frames)["saturations"] == 1
    (left,) = released(queue)
    assert olaf(left.frame)["count"] == 65535


def test_fifo_mode_appends_everything(queue: QueueModel) -> None:
    queue.registers.write("mode", 1)
    frames = [update(3, 1, gradients(index)) for index in range(10)]
    shown = held(queue, *frames)
    assert (shown["appended"], shown["dropped_full"], shown["merged"]) == (8, 2, 0)
    assert [left.frame for left in released(queue)] == [frame for _, frame in frames[:8]]


def test_conservation_holds_when_counters_are_cleared(queue: QueueModel) -> None:
    held(queue, *(update(cluster, 1, gradients(1)) for cluster in range(5)))
    queue.registers.write("clear", 1)
    shown = queue.registers.read_all()
    assert (shown["in_updates"], shown["appended"]) == (5, 0)
    assert conserved(shown)
    released(queue)
    shown = queue.registers.read_all()
    assert (shown["out_updates"], shown["resident_updates"]) == (5, 0)
    assert conserved(shown)


def test_conservation_holds_at_every_instant(queue: QueueModel) -> None:
    queue.registers.write("rate", rate_word(5_000_000_000))
    for index in range(300):
        queue.offer(*update(index % 12, index % 5, gradients(1, count=100)))
    for _ in range(200):
        queue.run(queue.cycle + 7)
        shown = queue.registers.read_all()
        assert conserved(shown)
    assert shown["merged"] > 0


def test_time_that_is_skipped_passes_all_the_same(new_queue: NewQueue) -> None:
    def activity(step: int) -> list[tuple[int, int]]:
        queue = new_queue(Geometry())
        queue.registers.write("active_window", 5_000)
        for cluster in range(6):
            queue.offer(*update(cluster, 1, gradients(1)), cycle=1_000 * cluster + 100)
        for time in range(0, 30_000, 700):
            queue.offer(Sidecar(64, kind=Kind.ACK), bytes(64), 6_000 + time)
        while queue.cycle < 40_000:
            queue.run(queue.cycle + step)
        acks = [left for left in queue.take() if left.sidecar.kind == Kind.ACK]
        return [(left.first, left.sidecar.active_clusters) for left in acks]

    assert activity(40_000) == activity(1)
    assert len({active for _, active in activity(40_000)}) > 3


def test_registers_answer_as_the_map_says(queue: QueueModel) -> None:
    for register in REGISTERS:
        if register.access in (Access.FIXED, Access.SETTING) and register.reset is not None:
            assert queue.registers.read(register.name) == register.reset, register.name
        if register.access is Access.SETTING:
            queue.registers.write(register.name, 0x12345678)
            assert queue.registers.read(register.name) == 0x12345678
    assert [queue.registers.read(name) for name in ("indices", "slots", "beats", "lanes")] == [16, 8, 24, 16]
    offsets = [register.offset + 4 * word for register in REGISTERS for word in range(register.words)]
    assert len(set(offsets)) == len(offsets)


@pytest.mark.parametrize(("name", "value"), [("merged", 0), ("rate", 1 << 32), ("rate", -1), ("nonsense", 1)])
def test_a_register_that_cannot_be_written_says_so(queue: QueueModel, name: str, value: int) -> None:
    with pytest.raises(BadInput):
        queue.registers.write(name, value)


@pytest.mark.parametrize("geometry", [{"indices": 0}, {"indices": 4097}, {"slots": 0}, {"beats": 1}])
def test_parameters_out_of_range_are_refused(geometry: dict[str, int]) -> None:
    with pytest.raises(BadInput):
        Geometry(**geometry)
