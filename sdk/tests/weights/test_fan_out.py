"""Versions reach every player, exact and whole, whatever the network loses."""

from __future__ import annotations

import json
import logging
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from olaf.server import ParameterServer
from olaf.transport import wire
from olaf.transport.virtual import VirtualNetwork
from olaf.weights import Publisher, Subscriber, TooStale
from olaf.weights.models import model_of
from olaf.worker import Worker
from tests.weights.fan import PUBLISHER, Engine, Fan, player_address, sha


def test_every_version_reaches_every_player() -> None:
    fan = Fan(4)
    for _ in range(5):
        fan.deliver(2.0)
    assert fan.publisher.counters.issued == 5
    assert all(player.lag == 0 and player.age < 2.0 for player in fan.players)


@pytest.mark.parametrize("seed", range(8))
def test_loss_doubling_and_reordering_change_no_bit(seed: int) -> None:
    loss, spread = (0.01, 0.05, 0.2)[seed % 3], (0.0, 0.002, 0.02)[seed // 3]
    fan = Fan(1 + seed, loss=loss, repeat=0.05, spread=spread, seed=seed)
    for version in range(30):
        fan.publish()
        fan.run_fan(0.05 if version % 3 else 0.5)
        for number in range(len(fan.players)):
            fan.adopt(number)
    fan.settle()


def test_a_version_that_changes_nothing_is_a_manifest() -> None:
    fan = Fan(2)
    fan.deliver()
    before = fan.engine.up
    fan.publisher.publish()
    fan.digests[2] = sha(fan.model)
    fan.settle(0.2)
    assert fan.engine.up - before < 500


def test_the_publishers_bytes_do_not_grow_with_players() -> None:
    sent = []
    for players in (2, 32):
        fan = Fan(players)
        fan.deliver()
        fan.run_fan(1.0)
        before = fan.engine.up
        for _ in range(4):
            fan.deliver(1.0)
        sent.append(fan.engine.up - before)
    assert sent[1] <= 1.05 * sent[0]


def test_a_late_player_takes_the_whole_and_disturbs_no_other() -> None:
    joins = []
    for versions in (3, 150):
        fan = Fan(2, values=100_000)
        for _ in range(versions):
            fan.publish()
            fan.run_fan(0.02)
        fan.settle()
        before, wants = fan.engine.up, fan.publisher.counters.wants
        fan.join()
        fan.settle(5.0, [2])
        joins.append(fan.engine.up - before)
        assert fan.publisher.counters.wants - wants <= 2
    assert joins[1] == pytest.approx(joins[0], rel=0.1)


def test_a_player_silent_for_fifty_versions_returns_by_a_set() -> None:
    fan = Fan(3, values=100_000)
    fan.deliver()
    fan.engine.down = {player_address(2)}
    for _ in range(50):
        fan.deliver(1.0, [0, 1])
    fan.engine.down = set()
    before = fan.engine.up
    fan.settle(10.0)
    assert fan.engine.up - before < 0.8 * 2 * 100_000 * 1.1


def test_a_player_that_was_killed_goes_on_from_its_file(tmp_path: Path) -> None:
    fan, path = Fan(1, values=100_000), tmp_path / "policy.safetensors"
    head, end = {}, 0
    for name, array in fan.model.items():
        head[name] = {"dtype": "U16", "shape": array.shape, "data_offsets": [end, end + array.nbytes]}
        end += array.nbytes
    text = json.dumps(head).encode()
    path.write_bytes(len(text).to_bytes(8, "little") + text + bytes(end))
    fan.engine.members.append(player_address(1))

    def begin() -> Subscriber:
        port = fan.network.port(player_address(1))
        return Subscriber(f"{PUBLISHER[0]}:{PUBLISHER[1]}", path, port=port)

    player = begin()
    fan.deliver()
    assert fan.run_fan(5.0, lambda: player.have == 1) and player.adopt() == 1
    player._port.close()
    for _ in range(50):
        fan.deliver(1.0)
    before, again = fan.engine.up, begin()
    assert again.version == 1
    assert fan.run_fan(10.0, lambda: again.have == 51)
    assert again.adopt() == 51
    assert fan.engine.up - before < 0.8 * 2 * 100_000 * 1.1
    assert again.counts["digest"] == 0
    assert sha({"w": model_of(path, None).read()[2]}) == fan.digests[51]


def test_a_player_too_far_behind_takes_the_whole() -> None:
    fan = Fan(2, values=2000)
    fan.deliver()
    fan.engine.down = {player_address(1)}
    for _ in range(400):
        fan.publish()
        fan.run_fan(0.02)
    fan.engine.down = set()
    fan.settle(10.0)


def test_versions_published_during_sending_supersede_another() -> None:
    fan = Fan(2, values=200_000)
    fan.apart = 20  # the same elements move again and again, as in training
    fan.replace_publisher(rate=20_000)
    fan.deliver(60.0)
    fan.publish()
    began = fan.publisher.sent.bytes
    fan.run_fan(5.0)
    one = fan.publisher.sent.bytes - began
    fan.publish()
    began = fan.publisher.sent.bytes
    for _ in range(16):
        fan.publish()
    fan.settle(60.0)
    assert fan.publisher.counters.issued == 4
    assert fan.publisher.sent.bytes - began - one < 0.6 * 16 * one


def test_a_publisher_that_returns_with_equal_weights_is_quiet() -> None:
    fan = Fan(3, values=100_000)
    for _ in range(3):
        fan.publish()
    fan.settle()
    fan.publisher.close()
    fan.run_fan(3.0)
    before = fan.engine.up
    fan.publisher = fan.publish_with(version=3)
    fan.digests[fan.publisher.publish()] = sha(fan.model)
    fan.settle(5.0)
    assert fan.engine.up - before < 10_000
    fan.deliver(1.0)
    assert [player.version for player in fan.players] == [5] * 3


@pytest.mark.parametrize("frames", [1, 5, 20, 60])
def test_no_version_has_two_states_if_the_publisher_dies(frames: int) -> None:
    fan = Fan(3, values=60_000, loss=0.05, seed=frames)
    fan.deliver()
    fan.engine.frames = 0
    fan.publish()
    fan.run_fan(1.0, lambda: fan.engine.frames >= frames)
    fan.publisher.close()
    fan.run_fan(3.0)
    for number in range(3):
        fan.adopt(number)  # checks the bits against what was published
    fan.publisher = fan.publish_with(version=2)
    fan.deliver(20.0)


def test_dead_and_slow_players_are_named_and_delay_no_other(caplog: pytest.LogCaptureFixture) -> None:
    def commits(disturbed: bool) -> float:
        fan = Fan(6, values=100_000)
        fan.deliver()
        if disturbed:
            fan.engine.down = {player_address(4)}
            fan.engine.late = {player_address(5): 0.99}
        total = 0.0
        for _ in range(40):
            fan.run_fan(0.3)
            began = fan.network.time
            fan.deliver(2.0, [0, 1, 2, 3])
            total += fan.network.time - began
        return total

    quiet = commits(False)
    with caplog.at_level(logging.WARNING, "olaf"):
        assert commits(True) < 1.1 * quiet
    assert "player 10.0.1.5:20300 has been silent" in caplog.text
    assert "player 10.0.1.6:20300 is" in caplog.text
    assert "versions behind" in caplog.text


def test_adopt_raises_where_the_newest_is_too_far_ahead() -> None:
    fan = Fan(1)
    player = fan.join(max_lag=2)
    fan.deliver()
    fan.engine.down = {player_address(1)}
    for _ in range(6):
        fan.publish()
        fan.run_fan(0.01)
    assert player.adopt() is None
    fan.engine.down = set()
    fan.run_fan(1.0, lambda: player.lag == 6)
    with pytest.raises(TooStale, match="version 1 is installed and version 7 is published"):
        player.adopt()
    fan.settle()
    assert player.lag == 0


@pytest.mark.parametrize("versions", [0, 1])
def test_adopt_raises_where_the_publisher_is_silent(versions: int, caplog: pytest.LogCaptureFixture) -> None:
    fan = Fan(0)
    player = fan.join(max_lag=2)
    for _ in range(versions):
        fan.deliver()
    fan.engine.down = {player_address(0)}
    fan.run_fan(4.0)
    assert "nothing came from 10.0.0.254:20300 for " in caplog.text
    assert player.adopt() is None
    fan.run_fan(7.0)
    with pytest.raises(TooStale, match="nothing came from"):
        player.adopt()


@pytest.mark.parametrize(
    ("publisher", "player", "cause"),
    [
        ({"key": "aa"}, {"key": "bb"}, "have the same key"),
        ({"key": "aa"}, {}, "have the same key"),
        ({}, {"key": "bb"}, "have the same key"),
        ({"epoch": 3}, {}, "its frames are of epoch 3, this player's is 0"),
        ({}, {"publisher": "10.0.0.9:20300"}, "frames come from 10.0.0.254:20300"),
    ],
)
def test_both_ends_say_why_a_player_hears_nothing(
    publisher: dict[str, Any], player: dict[str, Any], cause: str, caplog: pytest.LogCaptureFixture
) -> None:
    fan = Fan(0)
    fan.replace_publisher(**publisher)
    if "publisher" in player:  # another player has the right address, and the engine copies to both
        fan.join()
    one = fan.join(max_lag=2, **player)
    fan.publish()
    fan.run_fan(12.0)
    assert cause in caplog.text
    if "key" in cause:
        assert "has another MAC; give it and the publisher the same key" in caplog.text
        assert "no player has been heard in 10 s" in caplog.text
    with pytest.raises(TooStale, match="nothing is installed and nothing came from"):
        one.adopt()


@pytest.mark.parametrize("rate", [20_000, 1e9])
def test_max_lag_bounds_what_is_played_however_fast_versions_are_published(rate: float) -> None:
    fan = Fan(0, values=200_000, mtu=600)
    fan.replace_publisher(rate=rate)
    player = fan.join(max_lag=2)
    fan.deliver(60.0)
    played = refused = 0
    for number in range(120):
        fan.publish()
        fan.run_fan(0.1 if number % 3 else 0.3)
        try:
            player.adopt()
        except TooStale:
            refused += 1
        else:
            played += 1
            assert fan.publisher.version - player.version <= 2
            assert player.lag == fan.publisher.version - player.version
    assert refused if rate < 1e6 else played == 120


def test_a_publisher_that_returns_with_other_weights_of_the_same_number_is_adopted() -> None:
    fan = Fan(2)
    for _ in range(5):
        fan.publish()
    fan.settle()
    line = fan.publisher.line
    fan.publisher.close()
    fan.publisher = fan.publish_with(version=4)  # within the same second
    assert fan.publisher.line != line
    assert fan.publish() == 5
    fan.run_fan(0.5)
    with pytest.raises(TooStale, match="version 5 of an earlier run is installed and version 5 is published"):
        fan.players[0]._max_lag = 2
        fan.players[0]._inbox.have, have = 0, fan.players[0]._inbox.have
        fan.players[0].adopt()
    fan.players[0]._inbox.have = have
    assert not fan.players[0].await_version(5, 0.0, line)
    assert fan.players[0].await_version(5, 0.0, fan.publisher.line)
    fan.settle()
    assert [fan.adopt(number) for number in range(2)] == [None, None]
    assert all(sha(model) == fan.digests[5] for model in fan.models)
    fan.run_fan(2.0)
    assert [player["adopted"] for player in fan.publisher.players] == [5, 5]


def test_two_runs_of_one_line_are_told_apart_by_their_digests() -> None:
    fan = Fan(1)
    for _ in range(3):
        fan.publish()
    fan.settle()
    line = fan.publisher.line
    fan.publisher.close()
    fan.run_fan(1.0)
    fan.publisher = fan.publish_with(version=2)
    fan.publisher.line = line  # as after a clock was set back
    fan.publish()
    fan.run_fan(3.0)
    assert fan.adopt(0) == 3
    assert sha(fan.models[0]) == fan.digests[3]


@pytest.mark.parametrize(
    ("options", "what"),
    [({"rate": 0}, "rate is 0"), ({"rate": float("nan")}, "rate is nan"), ({"mtu": 10}, "mtu is 10; give"),
     ({"version": -1}, "version is -1"), ({"epoch": 16}, "epoch is 16"), ({"max_lag": -1}, "max_lag is -1")],
)  # fmt: skip
def test_arguments_that_nothing_can_be_done_with_are_refused(options: dict[str, Any], what: str) -> None:
    with pytest.raises(ValueError, match=what):
        Publisher("10.0.0.1", {"w": np.zeros(3)}, **options)


def test_calls_after_close_are_refused() -> None:
    fan = Fan(1)
    for end in (fan.publisher, fan.players[0]):
        end.close()
        end.close()
    with pytest.raises(RuntimeError, match="publisher is closed"):
        fan.publisher.publish()
    with pytest.raises(RuntimeError, match="player is closed"):
        fan.players[0].adopt()


def test_outside_changes_of_the_model_are_undone() -> None:
    fan = Fan(1)
    for version in range(40):
        fan.publish()
        fan.run_fan(0.2)
        if version == 5:
            fan.share = 0.0
            fan.adopt(0)
            fan.models[0]["head"][7] += 1
        else:
            fan.players[0].adopt()
    assert fan.players[0].counts["overwritten"] == 1
    assert sha(fan.models[0]) == sha(fan.model)


@pytest.mark.parametrize(("players", "loss", "most"), [(64, 0.01, 1.3), (32, 0.001, 1.06)])
def test_few_repairs_are_sent_to_many_players(players: int, loss: float, most: float) -> None:
    fan = Fan(players, values=40_000, share=0.2, loss=loss, mtu=300)
    fan.deliver()
    sent, wants, frames = fan.publisher.sent.frames, fan.publisher.counters.wants, 0
    for _ in range(3):
        fan.publish()
        issue = fan.publisher._sender.issue
        assert issue is not None
        frames += issue.count
        fan.settle(5.0)
    beacons = 6
    assert fan.publisher.sent.frames - sent <= most * frames + beacons  # one by one: 1.5 times to 64
    assert fan.publisher.counters.wants - wants <= 3 * players * 3
    assert all(player._quiet < 0.1 for player in fan.players)  # what others lacked makes none patient


def test_publish_returns_while_the_network_is_busy() -> None:
    with Publisher("127.0.0.1:9", {"w": np.zeros(1000, np.uint16)}, local="127.0.0.1:0") as publisher:
        done = threading.Event()

        def publish() -> None:
            publisher.publish()
            done.set()

        with publisher._port.lock:  # whatever the port's thread does for slow players
            thread = threading.Thread(target=publish)
            thread.start()
            assert done.wait(30.0)
        thread.join()


@pytest.mark.parametrize(("mtu", "most"), [(1500, 1.6), (9000, 1.5)])
def test_a_changed_element_takes_few_bytes_with_all_headers(mtu: int, most: float) -> None:
    fan = Fan(2, values=2_000_000, mtu=mtu)
    fan.deliver()
    before = {name: array.copy() for name, array in fan.model.items()}
    counters = fan.publisher.counters
    frames, size = counters.frames, counters.bytes
    fan.deliver()
    changed = sum(int((before[name] != array).sum()) for name, array in fan.model.items())
    ethernet = 14
    headers = (wire.IP_UDP_BYTES + ethernet + wire.OLAF_STATUS_BYTES) * (counters.frames - frames)
    assert (counters.bytes - size + headers) / changed < most


def test_dense_changes_choose_their_codec_and_random_ones_cost_no_more_than_all() -> None:
    costs = []
    for share, far in ((0.7, False), (1.0, True)):
        fan = Fan(1, values=200_000, share=share)
        fan.deliver()
        before = fan.publisher.counters.bytes
        if far:
            for array in fan.model.values():
                array[...] = fan.random.integers(0, 2**16, array.shape, np.uint16)
            fan.share = 0.0
        fan.deliver()
        costs.append((fan.publisher.counters.bytes - before) / 400_000)
    assert costs[0] <= 0.6
    assert costs[1] <= 1.06  # a header takes 54 of 1500 bytes


def test_publishing_faster_than_the_link_leaves_players_two_issues_behind_at_most() -> None:
    fan = Fan(2, values=200_000)
    fan.replace_publisher(rate=20_000)
    fan.deliver(60.0)
    issued: list[int] = []
    for _ in range(60):
        version = fan.publish()
        fan.run_fan(0.05)  # a delta takes four times as long
        newest = fan.publisher._sender.issue
        assert newest is not None
        issued = [*issued[-5:], newest.version]
        assert all(sum(one > player.have for one in set(issued)) <= 2 for player in fan.players)
    assert fan.publisher.counters.issued < version / 2
    fan.settle(60.0)


def test_nothing_on_the_way_up_changes_its_bytes() -> None:
    def sent(players: bool) -> list[bytes]:
        engine = Engine()
        engine.seen = []
        network = VirtualNetwork(engine, epoch=10**18)
        where = ("10.0.9.1", wire.UDP_PORT)
        server = ParameterServer(policy="plain", port=network.port(("10.0.9.2", wire.UDP_PORT)))
        worker = Worker(f"10.0.9.2:{wire.UDP_PORT}", 700, seed=1, port=network.port(where))
        worker.begin(np.zeros(700, np.float32))
        if players:
            model, played = {"w": np.arange(999, dtype=np.uint16)}, {"w": np.zeros(999, np.uint16)}
            publisher = Publisher("10.0.1.1:20300", model, mtu=1500, port=network.port(PUBLISHER))
            engine.members.append(player_address(0))
            port = network.port(player_address(0))
            player = Subscriber(f"{PUBLISHER[0]}:20300", played, port=port)
            publisher.publish()
        network.run(1.0)
        for step in range(3):
            worker.offer(np.full(700, step, np.float32), 1.0)
            network.run(network.time + 1.0)
        assert not players or player.adopt() == 1
        assert server.counters().applied
        return [datagram for source, _, datagram in engine.seen if source == where]

    assert sent(True) == sent(False) != []


PEER = f"{player_address(0)[0]}:{wire.UDP_PORT}"


@pytest.mark.parametrize("loss", [0.0, 0.05])
def test_a_late_player_takes_the_whole_from_another_one_while_versions_go_on(loss: float) -> None:
    fan = Fan(2, values=100_000, loss=loss)
    for _ in range(3):
        fan.deliver(5.0)
    before, deltas = fan.engine.up, fan.publisher.counters.bytes
    fan.join(peer=PEER)
    for _ in range(5):
        fan.publish()
        fan.run_fan(0.001)
    fan.settle(20.0)
    assert fan.engine.up - before < 2 * (fan.publisher.counters.bytes - deltas) + 40_000
    assert fan.players[2].counts["digest"] == 0


@pytest.mark.parametrize("fault", ["silent", "wrong", "key"])
def test_the_publisher_gives_the_whole_where_the_peer_does_not(fault: str) -> None:
    fan = Fan(2, values=100_000)
    fan.deliver()
    if fault == "silent":
        fan.engine.down = {player_address(0)}
    if fault == "wrong":
        fan.players[0]._inbox.state[2][7] ^= 1  # as a player does that lies
    if fault == "key":
        fan.players[0]._place.key = b"another"
    fan.join(peer=PEER)
    fan.settle(20.0, [1, 2])
    assert fan.players[2].counts["digest"] == (fault == "wrong")
    assert fan.players[0].counts["fetch"] == 7 * (fault == "key")
