"""Codecs: every frame decodes alone, to exactly the bits that were encoded."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from olaf.transport.wire import Codec
from olaf.weights import codecs
from olaf.weights.codecs import BadFrame, Bits, Digest, Part

ROOM = 300


def bits(seed: int, count: int, width: int) -> Bits:
    return np.random.default_rng(seed).integers(0, 2 ** (8 * width), count, dtype=np.dtype(f"<u{width}"))


def changed(old: Bits, share: float, seed: int, far: float = 0.1) -> Bits:
    """Make a version in which this share of elements moved, most by one, some by up to 100, some anywhere."""
    random = np.random.default_rng(seed)
    new = old.copy()
    where = np.flatnonzero(random.random(len(old)) < share)
    steps = random.choice([1, -1], len(where))
    wide = random.random(len(where)) < far
    steps[wide] = random.integers(-100, 100, int(wide.sum()))
    new[where] += steps.astype(old.dtype)
    anywhere = where[random.random(len(where)) < far]
    new[anywhere] = bits(seed, len(anywhere), old.itemsize)
    return new


def applied(parts: Iterable[Part], start: Bits, order: int = 0) -> Bits:
    """Return the elements after all frames, in any order."""
    state = start.copy()
    frames = list(parts)
    for number in np.random.default_rng(order).permutation(len(frames)):
        part = frames[number]
        padded = memoryview(part.payload + bytes(5))
        patch = codecs.decode_payload(part.codec, part.first, part.n, start.itemsize, padded, len(start))
        state[patch.where] = patch.apply_to(state[patch.where])
    return state


@given(
    st.sampled_from([1, 2, 4, 8]),
    st.integers(1, 3000),
    st.sampled_from([0.0005, 0.01, 0.2, 0.9, 1.0]),
    st.integers(0, 2**16),
)
def test_every_codec_gives_back_the_new_bits(width: int, count: int, share: float, seed: int) -> None:
    old = bits(seed, count, width)
    new = changed(old, share, seed)
    where = np.flatnonzero(old != new)
    ways = [
        codecs.encode_full(new, ROOM),
        codecs.encode_all(old, new, ROOM),
        codecs.encode_deflated(old, new, ROOM),
    ]
    if len(where):
        ways.append(codecs.encode_set(where, new[where], ROOM))
        ways.append(codecs.encode_ulps(where, new[where] - old[where], ROOM))
    for parts in map(list, ways):
        assert all(len(part.payload) <= ROOM and part.n >= 1 for part in parts)
        assert np.array_equal(applied(parts, old, seed), new)


def test_gaps_of_any_length_are_kept() -> None:
    where = np.cumsum([3, 1, 254, 255, 256, 255 + 65534, 255 + 65535, 255 + 65536, 3 * 65535, 10**6])
    old = np.zeros(int(where[-1]) + 1, np.uint16)
    new = old.copy()
    new[where] = 7
    for room in (12, 40, 8000):
        assert np.array_equal(applied(codecs.encode_set(where, new[where], room), old), new)


def test_a_set_may_be_applied_twice_and_in_between() -> None:
    states = [bits(0, 2000, 2)]
    for number in range(3):
        states.append(changed(states[-1], 0.05, number))
    touched = np.flatnonzero(np.any([a != b for a, b in zip(states, states[1:])], axis=0))
    for have in states:
        once = applied(codecs.encode_set(touched, states[-1][touched], ROOM), have)
        assert np.array_equal(once, states[-1])
        assert np.array_equal(applied(codecs.encode_set(touched, states[-1][touched], ROOM), once), once)


@given(st.binary(max_size=80), st.integers(0, 8), st.integers(0, 2000), st.integers(0, 500))
def test_any_payload_is_a_patch_within_the_shard_or_refused(
    payload: bytes, codec: int, first: int, n: int
) -> None:
    old = np.zeros(1000, np.uint16)
    try:
        patch = codecs.decode_payload(codec, first, n, 2, memoryview(payload), len(old))
    except BadFrame:
        return
    assert patch.apply_to(old[patch.where]).shape == old[patch.where].shape == (n,)


@given(st.sampled_from([1, 2, 4, 8]), st.integers(0, 100), st.integers(0, 10**12))
def test_a_digest_follows_changes_and_tells_states_apart(width: int, seed: int, start: int) -> None:
    digest, other = Digest(b"key"), Digest(b"another")
    old = bits(seed, 500, width)
    new = changed(old, 0.1, seed)
    where = np.flatnonzero(old != new)
    before, after = digest.sum_of(old, start), digest.sum_of(new, start)
    assert (before + digest.sum_change(where, old[where], new[where], start)) % 2**64 == after
    assert (before != after) == bool(len(where))
    assert digest.sum_of(old, start + 1) != before
    assert other.sum_of(old, start) != before


def test_elements_that_change_places_have_another_digest() -> None:
    digest = Digest()
    assert digest.sum_of(np.array([1, 2], np.uint16)) != digest.sum_of(np.array([2, 1], np.uint16))


@pytest.mark.parametrize("width", [0, 3, 16])
def test_no_other_widths_are_decoded(width: int) -> None:
    with pytest.raises(BadFrame, match="bytes"):
        codecs.decode_payload(Codec.FULL, 0, 1, width, memoryview(bytes(16)), 10)
