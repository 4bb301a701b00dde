"""Models of several segments (OLAF §10): each is combined alone; frames of other jobs are refused."""

import pytest
from scapy.layers.l2 import Ether

from olafctl.membership.model import Cluster
from olafctl.wire.layouts import TIMES, Refusal
from tests.packets.frames import at, gradient, update
from tests.packets.live import Live


def test_each_segment_is_merged_by_itself(live: Live) -> None:
    cluster = _wide(live)
    first, second = cluster.workers[:2]
    values = {(w, s): gradient(10 * w + s, 60) for w in (0, 1) for s in (0, 1)}
    frames = [
        (worker, update(live, worker, values[number, segment], segment=segment, weights_version=40 - number))
        for segment in (0, 1)
        for number, worker in enumerate((first, second))
    ]
    with live.counting() as counted, live.held():
        assert live.exchange(*frames) == {}
    got = at(live.arrivals(), live.server)
    assert [frame.olaf.segment for frame in got] == [0, 1]
    for segment, frame in enumerate(got):
        assert frame.values.tobytes() == (values[0, segment] + values[1, segment]).tobytes()
        assert (frame.olaf.count, frame.olaf.epoch) == (2, cluster.epoch)
        assert frame.olaf.weights_version == 39  # the oldest constituent's
    assert (counted["appended"], counted["merged"]) == (2, 2)


def test_a_lost_segment_leaves_the_others_as_they_are(live: Live) -> None:
    """Every block has its own count, so its mean is exact."""
    cluster = _wide(live)
    first, second = cluster.workers[:2]
    frames = [
        (first, update(live, first, gradient(1), segment=0)),
        (first, update(live, first, gradient(2), segment=1)),
        (second, update(live, second, gradient(3), segment=0)),  # its segment 1 was lost
    ]
    with live.held():
        live.exchange(*frames)
    counts = {frame.olaf.segment: frame.olaf.count for frame in at(live.arrivals(), live.server)}
    assert counts == {0: 2, 1: 1}


def test_generation_times_are_compared_across_their_wrap(live: Live) -> None:
    """0 follows 2^48 - 1 ns."""
    first, second = live.cluster(2).workers[:2]
    frames = [
        (first, update(live, first, gradient(1), gen_time=5, seq=70)),
        (second, update(live, second, gradient(2), gen_time=TIMES - 5, seq=60)),
    ]
    with live.held():
        live.exchange(*frames)
    [got] = at(live.arrivals(), live.server)
    assert (got.olaf.gen_time, got.olaf.seq) == (5, 70)


@pytest.mark.parametrize(
    ("reason", "fields"),
    [(Refusal.SEGMENT, {"segment": 2}), (Refusal.SEGMENT, {"segment": 65535}), (Refusal.EPOCH, {"epoch": 6})],
)
def test_what_is_not_part_of_the_job_is_refused_and_counted(
    live: Live, reason: Refusal, fields: dict[str, int]
) -> None:
    """One frame has a segment beyond the model, another is from an earlier run on the same address."""
    worker = _wide(live).workers[0]
    with live.counting() as counted, live.refusing() as refused:
        assert live.exchange((worker, update(live, worker, gradient(1), **fields))) == {}
    assert (counted["in_updates"], refused) == (0, {reason: 1})


def test_segments_of_different_length_fit_different_indices(live: Live) -> None:
    """The last segment is shorter than the others."""
    cluster = _wide(live)
    worker = cluster.workers[0]
    sent = [
        update(live, worker, gradient(1, 80), segment=0),
        update(live, worker, gradient(2, 7), segment=1),
    ]
    with live.held():
        live.exchange(*((worker, frame) for frame in sent))
    assert live.arrivals() == {live.server.port: [bytes(Ether(bytes(frame))) for frame in sent]}


def _wide(live: Live) -> Cluster:
    for cluster in live.merging:
        if cluster.segments == 2 and len(cluster.workers) >= 2:
            return cluster
    pytest.skip("needs a cluster of mode olaf with 2 workers and 2 segments")
