"""Who may publish: what is forged, replayed, changed or of another run is counted and never committed."""

from __future__ import annotations

import logging
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from olaf.transport import wire
from olaf.transport.port import Address
from olaf.weights import Subscriber
from olaf.weights.issues import HEADERS
from tests.testnet import of
from tests.weights.fan import PUBLISHER, Fan, player_address, sha

KEY = "00112233445566778899aabbccddeeff"


def keyed() -> Fan:
    """Provide a fan of one player under a key, at version 3; what was sent is kept."""
    fan = Fan(0, values=4000)
    fan.publisher.close()
    fan.engine.seen = []
    fan.publisher = fan.publish_with(key=KEY)
    fan.join(key=KEY)
    for _ in range(3):
        fan.deliver(2.0)
    return fan


def frames(fan: Fan) -> list[bytes]:
    """Return what the publisher sent."""
    assert fan.engine.seen is not None
    return [datagram for source, _, datagram in fan.engine.seen if source == PUBLISHER]


def give(player: Subscriber, datagram: bytes, source: Address = PUBLISHER) -> None:
    player.receive(of(datagram), source)
    player.tick()


def signed_by(fan: Fan, key: str) -> list[bytes]:
    """Make an issue of version 4 as a publisher with this key makes it."""
    other = Fan(0, values=4000)
    other.publisher.close()
    other.engine.seen = []
    other.publisher = other.publish_with(key=key, version=3)
    other.publisher.line = fan.publisher.line + 1
    other.join(key=key)
    other.publish()
    other.run_fan(2.0)
    return frames(other)


def test_replayed_frames_of_every_version_change_nothing() -> None:
    fan = keyed()
    player, before = fan.players[0], sha(fan.models[0])
    for datagram in frames(fan):
        give(player, datagram)
    assert (player._inbox.have, player.counts["committed"]) == (3, 3)
    assert player.counts["late"] >= len(frames(fan)) - 3
    assert sha(fan.models[0]) == before


def test_another_source_epoch_line_or_key_is_refused() -> None:
    fan = keyed()
    player = fan.players[0]
    good = frames(fan)
    for datagram in good:
        give(player, datagram, ("10.9.9.9", wire.UDP_PORT))
        give(player, datagram, (PUBLISHER[0], 9))
        give(player, datagram[:1] + bytes([datagram[1] ^ 0x50]) + datagram[2:])
    assert player.counts["source"] == 2 * len(good)
    assert player.counts["epoch"] == len(good)
    for key in ("ff" * 16, ""):
        for datagram in signed_by(fan, key):
            give(player, datagram)
    assert player.counts["mac"] >= 2
    assert player.counts["line"] > 0
    assert player._inbox.line == fan.publisher.line
    assert (player._inbox.have, player.counts["committed"]) == (3, 3)


def test_the_right_key_begins_a_new_line() -> None:
    fan = keyed()
    for datagram in signed_by(fan, KEY):
        give(fan.players[0], datagram)
    assert fan.players[0]._inbox.line == fan.publisher.line + 1


def test_frames_that_were_changed_or_cut_are_never_committed() -> None:
    fan = keyed()
    fan.engine.down = {("10.0.1.1", wire.UDP_PORT)}
    fan.publish()
    fan.run_fan(1.0)
    player, random = fan.players[0], Random(1)
    fresh = [one for one in frames(fan) if wire.Delta.unpack(one, wire.OLAF_BYTES).version == 4]
    for _ in range(2000):
        datagram = random.choice(fresh)
        place = random.randrange(4, len(datagram))
        wrong = bytes([datagram[place] ^ 1 << random.randrange(8)])
        give(player, datagram[:place] + (wrong + datagram[place + 1 :]) * (random.random() < 0.7))
    assert player.counts["frame"] == 2000
    assert player._inbox.have == 3
    for datagram in fresh:
        give(player, datagram)
    assert player._inbox.have == 4


def test_a_version_with_a_wrong_digest_is_reverted_and_resent() -> None:
    fan = Fan(1)
    fan.deliver()
    fan.players[0]._inbox.state[2][5] += 1  # as a broken memory does
    fan.share = 0.0
    fan.model["embed"][0, 5] += 3
    fan.deliver()
    assert fan.players[0].counts["digest"] == 1


@settings(max_examples=50)
@given(st.binary(max_size=120), st.booleans())
def test_any_datagram_leaves_both_ends_working(data: bytes, framed: bool) -> None:
    fan = Fan(1, values=100)
    head = wire.Olaf(1, wire.FrameType.ACK, 0, wire.Flag.DELTA, 1, 0, 0.0, 0, 0, 0).pack() if framed else b""
    give(fan.players[0], head + data)
    fan.publisher.receive(of(data), ("10.0.1.1", 20300))
    fan.deliver()


@pytest.mark.parametrize("key", ["", "ff" * 16])
def test_a_players_message_without_the_key_is_refused(key: str) -> None:
    fan = keyed()
    fan.join(key=key)
    before = fan.publisher.sent.frames
    fan.run_fan(3.0)
    assert fan.publisher.counters.refused >= 2
    assert len(fan.publisher.players) == 1
    assert fan.publisher.sent.frames - before < 20
    assert HEADERS == 54


@pytest.mark.parametrize("multicast", [True, False])
def test_messages_replayed_from_thousands_of_addresses_make_no_player(
    multicast: bool, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "olaf")
    fan = Fan(2, values=4000)
    fan.replace_publisher(multicast=multicast)
    fan.engine.seen = []
    for _ in range(3):
        fan.deliver(2.0)
    wants = [data for source, to, data in fan.engine.seen if to == PUBLISHER and data[0] == wire.WANT_ACTION]
    fan.deliver(2.0)
    fan.run_fan(6.0)  # versions before this one prove nothing now
    real = {f"{host}:{port}" for host, port in map(player_address, range(2))}
    before = fan.publisher.sent.frames
    caplog.clear()
    for number in range(5065):
        address = (f"10.{10 + number // 60000}.{number // 250}.{number % 250}", 20300)
        fan.publisher.receive(of(Random(number).choice(wants)), address)
        if number % 1000 == 0:
            fan.deliver(2.0)
    assert {player["name"] for player in fan.publisher.players} == real
    fan.run_fan(12.0)
    assert fan.publisher.sent.frames - before < 1.2 * 5065
    assert not caplog.messages
    fan.join()  # a real one is proven by what it hears
    fan.deliver(2.0)
    assert len(fan.publisher.players) == 3


def test_messages_of_the_newest_version_make_a_thousand_players_at_most(
    caplog: pytest.LogCaptureFixture,
) -> None:
    fan = Fan(1, values=400)
    fan.engine.seen = []
    fan.deliver(2.0)
    fan.run_fan(2.0)
    want = [data for _, to, data in fan.engine.seen if to == PUBLISHER and data[0] == wire.WANT_ACTION][-1]
    for number in range(2000):
        fan.publisher.receive(of(want), (f"10.9.{number // 250}.{number % 250}", 20300))
    assert len(fan.publisher.players) == 1024
    fan.run_fan(12.0)
    assert len(caplog.messages) < 20
    fan.deliver(2.0)
