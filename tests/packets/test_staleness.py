"""The staleness rule: updates of older weights weigh less, and updates beyond a bound are dropped."""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

import numpy as np
import pytest

from olafctl.membership.model import Member
from olafctl.targets.settings import configured
from olafctl.wire.layouts import Flag
from tests.packets.frames import ack, at, gradient, update
from tests.packets.live import Live
from tests.packets.test_sources import other_ports

NEWEST, BOUND = 100, 8
SHIFTS = 0x0000_2100
"""The weights: 1/2 for a staleness of 2 or 3 versions, 1/4 for 4 to 7, and 1 for all others."""


@contextmanager
def ruled(live: Live) -> Iterator[None]:
    """Turn the rule on for all clusters without rounds inside the context, before it has learnt a version."""
    with live.settings(stale_shifts_low=SHIFTS), live.configured(stale_enable=1, stale_bound=BOUND):
        yield


def inform(live: Live, worker: Member, **fields: int) -> None:
    """Pass an ACK of the parameter server."""
    assert live.exchange((live.server, ack(live, worker, gradient(1), **fields)))


@pytest.mark.parametrize(
    ("behind", "weight"), [(-3, 1), (0, 1), (1, 1), (2, 0.5), (3, 0.5), (4, 0.25), (8, 1)]
)
def test_an_update_weighs_by_its_staleness(live: Live, behind: int, weight: float) -> None:
    """Only the flag of weighing shows a receiver that the update weighs less."""
    worker = live.cluster(1).workers[0]
    with ruled(live):
        inform(live, worker, weights_version=NEWEST)
        [got] = at(
            live.exchange((worker, update(live, worker, gradient(2), weights_version=NEWEST - behind))),
            live.server,
        )
    assert got.values.tobytes() == (gradient(2) * np.float32(weight)).tobytes()
    assert (got.olaf.flags, got.olaf.count, got.olaf.weights_version) == (Flag.AGGREGATED, 1, NEWEST - behind)


def test_an_update_beyond_the_bound_is_dropped_and_counted(live: Live) -> None:
    worker = live.cluster(1).workers[0]
    with ruled(live):
        inform(live, worker, weights_version=NEWEST)
        with live.counting() as counted:
            assert (
                live.exchange((worker, update(live, worker, gradient(2), weights_version=NEWEST - BOUND - 1)))
                == {}
            )
    assert counted["dropped_stale"] == 1


def test_updates_are_weighed_before_they_are_added(live: Live) -> None:
    first, second = live.cluster(2).workers[:2]
    with ruled(live):
        inform(live, first, weights_version=NEWEST)
        with live.held():
            live.exchange(
                (first, update(live, first, gradient(3), weights_version=NEWEST - 5)),
                (second, update(live, second, gradient(4), weights_version=NEWEST - 2)),
            )
        [got] = at(live.arrivals(), live.server)
    weighed = gradient(3) * np.float32(0.25) + gradient(4) * np.float32(0.5)
    assert (got.olaf.count, got.values.tobytes()) == (2, weighed.tobytes())


def test_what_an_engine_has_weighed_is_not_weighed_again(tree: Live) -> None:
    """Nor do the engines on its way to the server drop it."""
    worker = next(each for each in tree.testbed.workers if each.parent != tree.testbed.root.name)
    if worker not in tree.cluster(1).workers:
        pytest.skip("needs a worker behind an engine that is not the root")
    cluster = tree.testbed.cluster_of(worker)
    names = [engine.name for engine in tree.testbed.engines]
    with tree.settings(*names, stale_shifts_low=SHIFTS), ExitStack() as stack:
        for name in names:
            ruled = {"stale_enable": 1, "stale_bound": 6 if name != names[0] else 2}
            stack.enter_context(configured(tree.queues[name], [(cluster.first,) * 2], **ruled))
        inform(tree, worker, weights_version=NEWEST)
        sent = update(tree, worker, gradient(2), weights_version=NEWEST - 5)
        [got] = at(tree.exchange((worker, sent)), tree.server)
    assert got.values.tobytes() == (gradient(2) * np.float32(0.25)).tobytes()


def test_each_segment_has_versions_of_its_own(live: Live) -> None:
    cluster = next((each for each in live.merging if each.segments > 1), None)
    if cluster is None:
        pytest.skip("needs a cluster of several segments")
    worker = cluster.workers[0]
    with ruled(live):
        inform(live, worker, weights_version=NEWEST, segment=1)
        frames = [
            update(live, worker, gradient(2), weights_version=NEWEST - 20, segment=each) for each in (0, 1)
        ]
        with live.counting() as counted:
            [got] = at(live.exchange(*((worker, frame) for frame in frames)), live.server)
    assert (got.olaf.segment, counted["dropped_stale"]) == (0, 1)


@pytest.mark.parametrize("forgery", ["port", "epoch"])
def test_a_forged_ack_teaches_no_version(live: Live, forgery: str) -> None:
    """The ACK comes from a worker's port, or from another job: updates would be dropped for it."""
    worker = live.cluster(1).workers[0]
    with ruled(live):
        inform(live, worker, weights_version=NEWEST)
        forged = {"weights_version": NEWEST + 5000}
        if forgery == "port":
            for port in other_ports(live, live.server.port):
                live.send_at(port, ack(live, worker, gradient(6), **forged))
        else:
            other = (live.testbed.cluster_of(worker).epoch + 1) % 16
            live.send(live.server, ack(live, worker, gradient(6), epoch=other, **forged))
        assert live.arrivals() == {}
        with live.counting() as counted:
            [got] = at(
                live.exchange((worker, update(live, worker, gradient(2), weights_version=NEWEST))),
                live.server,
            )
    assert (got.values.tobytes(), counted["dropped_stale"]) == (gradient(2).tobytes(), 0)


def test_after_silence_updates_pass_again(live: Live) -> None:
    """A restarted server has older weights; updates that are dropped for this are not answered."""
    worker = live.cluster(1).workers[0]
    with ruled(live):
        inform(live, worker, weights_version=NEWEST)
        for seq in range(16):
            stale = update(live, worker, gradient(2), seq=seq, weights_version=NEWEST - 50)
            assert live.exchange((worker, stale)) == {}
        again = update(live, worker, gradient(2), seq=17, weights_version=NEWEST - 50)
        [got] = at(live.exchange((worker, again)), live.server)
    assert got.values.tobytes() == gradient(2).tobytes()
