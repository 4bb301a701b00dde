"""Models of any size as runs of segments, and serial numbers that wrap."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from olaf.serial import distance, newer
from olaf.server.model import Replay
from olaf.transport.segments import JUMBO_MTU, STANDARD_MTU, Segments, finite, payload, values_of
from olaf.transport.wire import packet_values


@pytest.mark.parametrize(
    ("values", "jumbo", "standard"), [(2205, 1, 7), (9797, 5, 28), (137_477, 62, 382), (1, 1, 1)]
)
def test_known_models_take_these_many_frames(values: int, jumbo: int, standard: int) -> None:
    assert Segments.of(values, JUMBO_MTU).count == jumbo
    assert Segments.of(values, STANDARD_MTU).count == standard


def test_frames_fit_the_mtu_also_with_a_status_header() -> None:
    assert (
        20 + 8 + 22 + 8 + 4 * packet_values(STANDARD_MTU)
        <= STANDARD_MTU
        < 20 + 8 + 22 + 8 + 4 * packet_values(1504)
    )


@given(values=st.integers(1, 200_000), mtu=st.sampled_from([576, STANDARD_MTU, 4000, JUMBO_MTU]))
def test_segments_cover_the_model_once_in_order(values: int, mtu: int) -> None:
    segments = Segments.of(values, mtu)
    places = [segments.slice(s) for s in range(segments.count)]
    assert places[0].start == 0
    assert places[-1].stop == values
    assert all(a.stop == b.start for a, b in zip(places, places[1:]))
    assert all(0 < segments.length(s) <= packet_values(mtu) for s in range(segments.count))
    assert Segments(values, segments.count) == segments


@pytest.mark.parametrize(("values", "count"), [(0, 1), (3, 4), (6, 4), (5, 0), (70_000, 65_536)])
def test_impossible_divisions_are_refused(values: int, count: int) -> None:
    with pytest.raises(ValueError, match="cannot be divided"):
        Segments(values, count)


def test_there_is_no_segment_beyond_the_last() -> None:
    with pytest.raises(IndexError, match="segment 2 of 2"):
        Segments(10, 2).slice(2)


def test_values_travel_little_endian() -> None:
    data = payload(np.array([1.0], np.float32))
    assert bytes(data) == b"\x00\x00\x80\x3f"
    assert values_of(data).tolist() == [1.0]


@given(a=st.integers(0, 2**16 - 1), step=st.integers(1, 2**15 - 1))
def test_newer_survives_wrapping(a: int, step: int) -> None:
    assert newer((a + step) % 2**16, a, 16)
    assert not newer(a, (a + step) % 2**16, 16)
    assert distance((a + step) % 2**16, a, 16) == step
    assert not newer(a, a, 16)


@given(start=st.integers(0, 2**32 - 1), order=st.permutations(range(40)), again=st.integers(0, 39))
def test_every_number_counts_once_in_any_order(start: int, order: list[int], again: int) -> None:
    replay = Replay()
    assert all(first(replay, (start + offset) % 2**32) for offset in order)
    assert not first(replay, (start + again) % 2**32)


def test_a_sender_that_starts_again_elsewhere_is_heard() -> None:
    replay = Replay()
    assert first(replay, 1_000_000)
    assert first(replay, 5)
    assert first(replay, 6)
    assert not first(replay, 5)


def first(replay: Replay, seq: int) -> bool:
    ((new, _),) = replay.first(seq)
    return new


def test_a_segment_fits_any_ipv4_packet_whatever_the_mtu() -> None:
    assert Segments.of(40_000, 1_000_000) == Segments.of(40_000, 65_535)


@pytest.mark.parametrize("last", [1.0, float(np.finfo(np.float32).max), -np.inf, np.inf, np.nan])
@pytest.mark.parametrize("others", [1.0, float(np.finfo(np.float32).max), np.inf])
def test_a_value_that_is_not_finite_is_found(others: float, last: float) -> None:
    values = np.array([others] * 99 + [last], np.float32)
    assert finite(values) == bool(np.isfinite(values).all())
    assert finite(np.frombuffer(bytes(2) + values.tobytes(), np.uint8)[2:].view("<f4")) == finite(values)


def test_a_model_of_too_many_segments_needs_jumbo_frames() -> None:
    with pytest.raises(ValueError, match=r"83334 segments .* 65535 .*mtu=9022"):
        Segments.of(30_000_000, STANDARD_MTU)
    assert Segments.of(30_000_000, JUMBO_MTU).count == 13387
