from dataclasses import replace
from functools import cache
from ipaddress import IPv4Address

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from olafctl.targets.interface import TimedFrame
from olafctl.testbed.model import Testbed
from olafctl.wire.layouts import TIMES, FrameType
from olaflab.training.replay.frames import collect_receptions, encode_updates, values_in
from olaflab.training.replay.trace import GradientBlocks, ReplayLoad, schedule_updates
from olafswitch.errors import BadInput, OlafError
from olaftest.frames import OlafFrame
from tests.lab.training.replay import small

NEAR = st.tuples(st.integers(0, 2**62), st.integers(-TIMES // 2 + 1, TIMES // 2 - 1))
"""A time of generation, and one of reception less than 39 hours apart."""


@cache
def first() -> tuple[Testbed, OlafFrame]:
    """Provide a testbed, and the first update that its workers send."""
    testbed, trace = small.small_testbed("laptop"), small.small_trace()
    sent = next(
        encode_updates(
            testbed,
            trace,
            schedule_updates(trace, np.arange(2), ReplayLoad(1e9, 1e15, 76)),
            GradientBlocks(3, 3),
        )
    )
    return testbed, OlafFrame.decode(sent.frame)


def test_a_scheduled_update_becomes_its_workers_frame() -> None:
    testbed, trace = small.small_testbed("laptop"), small.small_trace()
    plan = schedule_updates(trace, np.arange(2), ReplayLoad(1e9, 1e15, 76))
    sent = list(encode_updates(testbed, trace, plan, GradientBlocks(3, 3)))
    assert [frame.time for frame in sent] == plan.time.tolist()
    for index, timed in enumerate(sent):
        frame = OlafFrame.decode(timed.frame)
        worker = testbed.workers[plan.worker[index]]
        assert timed.port == worker.port
        assert (frame.source.ip, frame.source.mac) == (worker.ip, worker.mac)
        assert frame.destination.ip == testbed.parameter_servers[0].ip
        assert frame.destination.port == testbed.udp_port
        assert (frame.frame_type, frame.count, frame.flags) == (FrameType.UPDATE, 1, 0)
        assert (frame.seq, frame.gen_time) == (plan.seq[index], plan.time[index])
        assert frame.reward == trace.reward[plan.source[index], plan.update[index]]
        expected = trace.gradients(plan.source[index : index + 1], plan.update[index : index + 1], 3)[0]
        assert frame.gradient.tobytes() == expected.tobytes()
        assert frame.encode() == timed.frame


def test_negative_rewards_and_whole_models_travel() -> None:
    testbed, trace = small.small_testbed("laptop"), small.small_trace()
    trace = replace(trace, reward=-1.5 * trace.reward - np.float32(0.1))
    plan = schedule_updates(trace, np.arange(2), ReplayLoad(1e9, 1e15, 76))
    for index, timed in enumerate(encode_updates(testbed, trace, plan, GradientBlocks(3, 3))):
        assert OlafFrame.decode(timed.frame).reward == trace.reward[plan.source[index], plan.update[index]]


def test_receptions_are_what_reached_the_servers_port() -> None:
    testbed = small.small_testbed("nine-clusters")
    plan = schedule_updates(small.small_trace(), np.arange(27), ReplayLoad(1e9, 1e15, 76))
    sent = list(encode_updates(testbed, small.small_trace(), plan, GradientBlocks(3, 3)))
    port = testbed.parameter_servers[0].port
    merged = replace(OlafFrame.decode(sent[9].frame), count=7, flags=1).encode()
    leaving = [
        TimedFrame(50, port, sent[0].frame),
        TimedFrame(60, port + 1, b"something else"),
        TimedFrame(70, port, merged),
    ]
    seen = collect_receptions(testbed, leaving)
    assert seen.time.tolist() == [50, 70]
    assert seen.count.tolist() == [1, 7]
    clusters = [testbed.clusters[number].name for number in seen.cluster]
    assert clusters == [testbed.workers[plan.worker[index]].cluster for index in (0, 9)]
    assert seen.generated.tolist() == [plan.time[0], plan.time[9]]


@given(st.lists(NEAR, max_size=6))
def test_a_generation_time_is_the_one_nearest_to_its_reception(times: list[tuple[int, int]]) -> None:
    testbed, frame = first()
    port = testbed.parameter_servers[0].port
    leaving = [TimedFrame(time + age, port, replace(frame, gen_time=time).encode()) for time, age in times]
    assert collect_receptions(testbed, leaving).generated.tolist() == [time for time, _ in times]


def test_nothing_received_is_empty() -> None:
    assert len(collect_receptions(small.small_testbed("laptop"), []).time) == 0


def test_a_stranger_at_the_server_is_reported() -> None:
    testbed, frame = first()
    stranger = replace(frame, source=replace(frame.source, ip=IPv4Address("192.0.2.1"))).encode()
    with pytest.raises(OlafError, match="no worker, reached the server"):
        collect_receptions(testbed, [TimedFrame(0, testbed.parameter_servers[0].port, stranger)])


@pytest.mark.parametrize(("size", "values"), [(68, 1), (76, 3)])
def test_frame_sizes_hold_whole_values(size: int, values: int) -> None:
    assert values_in(size, small.small_trace()) == values


@pytest.mark.parametrize("size", [-4, 0, 64, 69, 80])
def test_other_frame_sizes_are_refused(size: int) -> None:
    with pytest.raises(BadInput, match=r"use 68 … 76, in steps of 4"):
        values_in(size, small.small_trace())
