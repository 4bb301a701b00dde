"""FIFO mode (OLAF §8.1): the classical queue that does no aggregation, in the same memory."""

import pytest

from olafctl.queue.registers import rate_word
from olafctl.wire.modes import Mode
from tests.packets.conftest import need_slots
from tests.packets.frames import gradient, update
from tests.packets.live import Live

PACED = 8_000_000
"""The rate in bit/s: a few thousand of these updates a second."""


def test_fifo_appends_every_update_and_drops_when_full(live: Live) -> None:
    """It neither merges nor replaces: updates that fit leave unchanged in order, the rest is dropped."""
    slots = live.slots
    workers = live.cluster(2).workers[:2]
    sent = [
        (workers[nth % 2], update(live, workers[nth % 2], gradient(nth), seq=nth)) for nth in range(slots + 3)
    ]
    # They go one after the other: a port of BMv2 at which 64 frames wait loses further frames.
    with live.configured(mode=Mode.FIFO), live.settings(rate=rate_word(PACED)):
        with live.counting() as counted, live.held():
            live.exchange(*sent)
        assert live.arrivals() == {live.server.port: [bytes(frame) for _, frame in sent[:slots]]}
    assert (counted["appended"], counted["merged"], counted["replaced_worker"]) == (slots, 0, 0)
    assert counted["dropped_full"] == 3


def test_fifo_ignores_the_reward_rule(live: Live) -> None:
    need_slots(live, 2)
    first, second = live.cluster(2).workers[:2]
    sent = [update(live, first, gradient(1), reward=100.0), update(live, second, gradient(2), reward=-100.0)]
    with live.configured(mode=Mode.FIFO, reward_enable=1, reward_threshold=0):
        with live.held():
            live.exchange((first, sent[0]), (second, sent[1]))
        assert live.arrivals() == {live.server.port: [bytes(frame) for frame in sent]}


def test_a_cluster_of_mode_fifo_merges_nothing(live: Live) -> None:
    """Other clusters merge at the same time: the mode is each cluster's own."""
    need_slots(live, 2)
    clusters = [each for each in live.served if live.testbed.mode_of(each) is Mode.FIFO]
    workers = next((each.workers[:2] for each in clusters if len(each.workers) > 1), None)
    if workers is None:
        pytest.skip("needs a cluster of mode fifo with 2 workers")
    sent = [(worker, update(live, worker, gradient(nth))) for nth, worker in enumerate(workers)]
    with live.held():
        live.exchange(*sent)
    assert live.arrivals() == {live.server.port: [bytes(frame) for _, frame in sent]}


def test_back_in_olaf_mode_updates_merge_again(live: Live) -> None:
    first, second = live.cluster(2).workers[:2]
    with live.configured(mode=Mode.FIFO):
        live.exchange((first, update(live, first, gradient(1))))
    with live.counting() as counted, live.held():
        live.exchange((first, update(live, first, gradient(1))), (second, update(live, second, gradient(2))))
    live.arrivals()
    assert counted["merged"] == 1
