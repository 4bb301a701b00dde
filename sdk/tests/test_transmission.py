"""OLAF §5: workers send with P_s, from the queue's state in ACKs."""

from __future__ import annotations

import math
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from olaf.transport.wire import OlafStatus
from olaf.worker.transmission import TransmissionControl, send_probability, tightest


def status(active: int, slots: int) -> OlafStatus:
    return OlafStatus(0, active, slots, 0)


def test_before_the_first_ack_everything_is_sent() -> None:
    control = TransmissionControl()
    assert control.probability(1e6) == 1


def test_with_fresh_feedback_p_s_is_q_max_over_n() -> None:
    control = TransmissionControl(v=2.5, delta_t=0.4)
    control.acknowledged(10.0, status(32, 8))
    assert control.probability(10.0) == control.probability(10.375) == 0.25


def test_switched_off_everything_is_sent_whatever_acks_say() -> None:
    control = TransmissionControl(v=2.5, delta_t=0.4, on=False)
    control.acknowledged(10.0, status(32, 8))
    assert control.probability(10.0) == 1
    assert all(control.draw(10.0) for _ in range(100))


def test_obsolete_feedback_raises_p_s_with_slope_v() -> None:
    control = TransmissionControl(v=2.5, delta_t=0.4)
    control.acknowledged(10.0, status(32, 8))
    assert control.probability(10.5) == pytest.approx(0.25 + 2.5 * 0.1)
    assert control.probability(11.0) == 1


def test_without_congestion_workers_send_at_will() -> None:
    control = TransmissionControl()
    control.acknowledged(0.0, status(8, 8))
    assert control.probability(0.1) == 1


def test_the_tightest_of_several_engines_counts() -> None:
    assert tightest([status(16, 8), status(40, 5), status(0, 8)]) == 5 / 40
    assert tightest([]) == tightest([status(0, 4)]) == 1


def test_an_ack_without_status_is_heard_but_tells_nothing() -> None:
    control = TransmissionControl(v=1.0, delta_t=0.4)
    control.acknowledged(0.0, status(32, 8))
    control.acknowledged(5.0)
    assert control.probability(5.0) == 0.25


@given(share=st.floats(0, 1), silence=st.floats(0, 100), v=st.floats(0, 10), delta_t=st.floats(0.01, 10))
def test_p_s_is_a_probability_that_never_falls_with_silence(
    share: float, silence: float, v: float, delta_t: float
) -> None:
    chance = send_probability(share, silence, v, delta_t)
    assert share <= chance <= 1
    assert send_probability(share, silence + 1, v, delta_t) >= chance


def test_the_share_of_updates_sent_is_p_s() -> None:
    control = TransmissionControl(random=Random(1))
    control.acknowledged(0.0, status(32, 8))
    sent = sum(control.draw(0.1) for _ in range(20_000))
    assert sent / 20_000 == pytest.approx(0.25, abs=0.01)


@pytest.mark.parametrize(
    ("v", "delta_t"), [(-1.0, 0.4), (1.0, 0.0), (math.nan, 0.4), (math.inf, 0.4), (1.0, math.nan)]
)
def test_impossible_arguments_are_refused(v: float, delta_t: float) -> None:
    with pytest.raises(ValueError, match="delta_t"):
        TransmissionControl(v, delta_t)
