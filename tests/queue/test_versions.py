"""What a merged update says of its constituents' versions: their sum where all ask for it, or the oldest."""

import random

import pytest

from olafctl.queue.registers import IndexSettings
from olafctl.wire.layouts import Flag
from olafctl.wire.modes import Mode
from olaflab.queue.conform import GEOMETRIES
from olaflab.queue.model import QueueModel
from olaflab.queue.traffic import update

from .conftest import NewQueue
from .test_rules import LIMIT, gradients, olaf

SMALL = GEOMETRIES[4]


def merged(queue: QueueModel, constituents: list[tuple[int, int]]) -> dict[str, int]:
    """The header of the frame that updates of these versions and flags become."""
    queue.registers.write("hold", 1)
    for worker, (version, flags) in enumerate(constituents):
        queue.offer(
            *update(0, worker, gradients(1), weights_version=version, flags=flags, gen_time=worker * 7 % 5)
        )
    queue.settle(LIMIT)
    queue.registers.write("hold", 0)
    queue.settle(LIMIT)
    (left,) = queue.take()
    return olaf(left.frame)


def test_staleness_follows_exactly_from_the_sum(new_queue: NewQueue) -> None:
    queue, pick = new_queue(SMALL), random.Random(4)
    for now in (3, 40_000, 65_535, 0, 20):
        lags = [pick.randrange(200) for _ in range(pick.randrange(2, 40))]
        got = merged(queue, [((now - lag) % 65536, Flag.SUMMED) for lag in lags])
        assert got["flags"] == Flag.SUMMED | Flag.AGGREGATED
        assert (got["count"] * now - got["weights_version"]) % 65536 == sum(lags)


@pytest.mark.parametrize("bit", range(16))
def test_the_sum_keeps_every_bit(new_queue: NewQueue, bit: int) -> None:
    queue = new_queue(SMALL)
    for versions in ([1 << bit, 0], [(1 << bit) - 1, 1], [65535, 1 << bit]):
        got = merged(queue, [(version, Flag.SUMMED) for version in versions])
        assert got["weights_version"] == sum(versions) % 65536


def test_a_sum_and_an_oldest_version_are_not_added(new_queue: NewQueue) -> None:
    queue = new_queue(SMALL)
    for constituents in ([(9, Flag.SUMMED), (7, 0)], [(7, 0), (9, Flag.SUMMED)], [(7, 0), (9, 0)]):
        got = merged(queue, constituents)
        assert (got["weights_version"], got["flags"]) == (7, Flag.AGGREGATED)


def test_rounds_add_versions_too(new_queue: NewQueue) -> None:
    queue = new_queue(SMALL)
    queue.registers.configure(0, 0, IndexSettings(Mode.ISWITCH, threshold=3))
    for member, version in enumerate((65535, 4, 7)):
        queue.offer(
            *update(0, member, gradients(1), member=member, weights_version=version, flags=Flag.SUMMED)
        )
    queue.settle(LIMIT)
    (left,) = queue.take()
    header = olaf(left.frame)
    assert (header["weights_version"], header["flags"]) == (10, Flag.SUMMED | Flag.AGGREGATED)
