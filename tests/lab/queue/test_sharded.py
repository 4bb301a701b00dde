"""Queues in C++ as shards of one, whose indices move: what leaves is what leaves one queue."""

import pytest

from olafctl.queue.software import build_software_queue
from olafctl.queue.verilate import build_queue
from olaflab.queue.conform import GEOMETRIES
from olaflab.queue.model import QueueModel
from olaflab.queue.sharded import run_seed


@pytest.mark.parametrize("shards", [1, 2, 4])
def test_shards_are_one_queue_while_indices_move(shards: int) -> None:
    geometry = GEOMETRIES[0]
    with QueueModel(build_queue(geometry)) as model:
        moves = run_seed(model, build_software_queue(geometry), geometry, shards, 600, shards)
    assert moves > 0 or shards == 1
