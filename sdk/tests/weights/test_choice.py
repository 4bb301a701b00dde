"""Players hold the publisher's bits, whichever codec a version travels by."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from olaf.transport.wire import Codec
from olaf.weights import Publisher, Subscriber, streams
from olaf.weights.choice import Choice, WayDown
from olaf.weights.codecs import BadFrame
from tests.weights.fan import Fan, sha
from tests.weights.test_codecs import ROOM, bits, changed

pytest.importorskip("zstandard", reason="needs zstandard: pip install './sdk[zstd]'")
SIZES = {Codec.ULP: 9e4, Codec.ALL: 1e5, Codec.DEFLATED: 5e4, Codec.FULL: 2e5}


@given(
    st.sampled_from([1, 2, 4, 8]),
    st.lists(st.integers(1, 2000), min_size=1, max_size=4),
    st.sampled_from([0.01, 0.5, 1.0]),
    st.integers(0, 2**16),
)
def test_a_stream_gives_back_the_new_bits(width: int, blocks: list[int], share: float, seed: int) -> None:
    old = bits(seed, sum(blocks), width)
    new = changed(old, share, seed)
    ends = np.cumsum(blocks)
    packed = [streams.pack_block(old[end - n : end], new[end - n : end]) for n, end in zip(blocks, ends)]
    parts = list(streams.cut_stream(packed, ROOM))
    assert [len(part.payload) for part in parts[:-1]] == [ROOM] * (len(parts) - 1)
    state = old.copy()
    payloads = [memoryview(part.payload.ljust(ROOM, b"\0")) for part in parts]
    for patch in streams.decode_stream(payloads, width, len(old)):
        state[patch.where] = patch.apply_to(state[patch.where])
    assert np.array_equal(state, new)


@given(st.integers(0, 2**16), st.binary(min_size=1, max_size=12), st.integers(1, 2**62))
def test_a_damaged_stream_is_refused_or_fits(seed: int, damage: bytes, length: int) -> None:
    old = bits(seed, 500, 2)
    stream = bytearray(streams.pack_block(old, changed(old, 0.5, seed)))
    place = seed % len(stream)
    stream[place : place + len(damage)] = damage
    for elements in (500, length):
        try:
            for patch in streams.decode_stream([memoryview(stream)], 2, elements):
                assert patch.apply_to(old[patch.where]).shape == old[patch.where].shape
        except BadFrame:
            continue


@pytest.mark.parametrize("seed", range(12))
def test_players_with_and_without_zstd_hold_every_version_by_any_codec(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    random = np.random.default_rng(seed)
    chosen = []

    def choose(
        self: Choice, sizes: dict[Codec, float], old: Any, new: Any, room: int, link: WayDown
    ) -> Codec:
        chosen.append(random.choice([*sizes, Codec.ZSTD] if link.zstd else [*sizes]))
        return Codec(chosen[-1])

    monkeypatch.setattr(Choice, "choose_codec", choose)
    loss, spread = (0.0, 0.02, 0.1)[seed % 3], (0.0, 0.005)[seed % 2]
    fan = Fan(1 + seed % 3, values=20 * int(random.integers(2, 400)), loss=loss, spread=spread, seed=seed)
    fan.share = float(random.choice([0.01, 0.3, 1.0]))
    for version in range(24):
        if version in (8, 16):  # from the first on not all have zstd
            fan.join()._inbox.decodes = int(version == 16)
        fan.publish()
        fan.run_fan(float(random.choice([0.01, 0.1, 1.0])))
        for number in range(len(fan.players)):
            fan.adopt(number)
    fan.settle()
    assert Codec.ZSTD in chosen and chosen[-4:].count(Codec.ZSTD) == 0
    assert [one["zstd"] for one in fan.publisher.players].count(False) == 1


def test_a_player_without_zstd_costs_one_whole_version_and_is_named() -> None:
    fan = Fan(2, values=40_000)
    fan.share = 0.5
    fan.deliver()
    fan.players[0]._inbox.decodes = 0
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Choice, "choose_codec", lambda *_: Codec.ZSTD)
        fan.deliver()
    assert fan.players[0].counts["zstd"] > 0 and fan.players[1].counts["zstd"] == 0
    before = fan.players[0].counts["zstd"]
    for _ in range(3):
        fan.deliver()
    assert fan.players[0].counts["zstd"] == before
    assert sorted(one["zstd"] for one in fan.publisher.players) == [False, True]


@pytest.mark.parametrize("share", [0.05, 0.9])
def test_the_slower_the_link_the_fewer_bytes_are_sent(share: float) -> None:
    old = bits(0, 100_000, 2)
    new = changed(old, share, 0, far=0.01)
    choice, sizes = Choice(), []
    for seconds in (1e-15, 1e-10, 1e-9, 1e-8, 1e-6, 1e-3):
        codec = choice.choose_codec(SIZES, old, new, 1400, WayDown(seconds, True, True))
        packed = sum(len(part.payload) for part in streams.cut_stream([streams.pack_block(old, new)], 1400))
        sizes.append(SIZES.get(codec, packed))
    assert sizes == sorted(sizes, reverse=True)
    assert sizes[-1] == min(packed, *SIZES.values())


@pytest.mark.parametrize(("elements", "timed"), [(100_000, False), (1000, True)])
def test_where_no_sample_is_taken_the_fewest_bytes_are_sent(elements: int, timed: bool) -> None:
    old = bits(0, elements, 2)
    assert Choice().choose_codec(SIZES, old, old + 1, 1400, WayDown(1e-12, True, timed)) == Codec.DEFLATED


@pytest.mark.parametrize("zstd", [False, True])
def test_zstd_is_chosen_only_where_all_players_have_it(zstd: bool) -> None:
    old = bits(0, 100_000, 2)
    choice = Choice()
    found = {
        choice.choose_codec({Codec.FULL: 2e5}, old, old + np.uint16(1), 1400, WayDown(1e-6, allowed, True))
        for allowed in (True, zstd)
    }
    assert found == ({Codec.ZSTD} if zstd else {Codec.ZSTD, Codec.FULL})


WITHOUT = """
import sys, hashlib
sys.modules["zstandard"] = None
import numpy as np, olaf
model = {"w": np.zeros(100_000, np.uint16)}
with olaf.Subscriber(sys.argv[1], model) as player:
    for version in map(int, sys.stdin):
        assert player.await_version(version, 300)
        player.adopt()
        print(hashlib.sha256(model["w"].tobytes()).hexdigest(), flush=True)
"""


def test_a_process_without_the_library_holds_what_one_with_it_does() -> None:
    model = {"w": np.zeros(100_000, np.uint16)}
    with Publisher("127.0.0.1", model, multicast=False) as publisher:
        there = {"w": model["w"].copy()}
        line = [sys.executable, "-c", WITHOUT, publisher.address]
        with (
            Subscriber(publisher.address, there) as player,
            subprocess.Popen(line, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process,
        ):
            assert process.stdin is not None
            assert process.stdout is not None
            for number in range(6):
                model["w"][:] = changed(model["w"], 0.9, number, far=0.01)
                version = publisher.publish()
                process.stdin.write(f"{version}\n")
                process.stdin.flush()
                assert process.stdout.readline().strip() == sha(model)
                assert player.await_version(version, 300)
                player.adopt()
                assert sha(there) == sha(model)
            assert sorted(one["zstd"] for one in publisher.players) == [False, True]
            process.stdin.close()
