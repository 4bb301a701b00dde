"""Queues in C++ as shards of one, whose indices move: what leaves is what leaves one queue."""

import json
from pathlib import Path

import pytest

from olafctl.queue.software import build_software_queue
from olafctl.queue.verilate import build_queue
from olafctl.wire.geometry import Geometry
from olafswitch.errors import BadInput
from olaftest.queue.conform import GEOMETRIES
from olaftest.queue.in_cpp import run, run_seed
from olaftest.queue.model import QueueModel


@pytest.mark.parametrize(
    ("geometry", "seed", "frames", "shards"),
    [
        *((GEOMETRIES[0], each, 600, each) for each in (1, 2, 4)),
        pytest.param(GEOMETRIES[3], 58, 1000, 4, marks=pytest.mark.slow),
    ],
)
def test_shards_are_one_queue_while_indices_move(
    geometry: Geometry, seed: int, frames: int, shards: int
) -> None:
    """In the last one an index moves on while several of its updates leave."""
    with QueueModel(build_queue(geometry)) as model:
        moves = run_seed(model, build_software_queue(geometry), geometry, seed, frames, shards)
    assert moves > 0 or shards == 1


def test_a_run_goes_on_where_it_was_ended(tmp_path: Path) -> None:
    """Its seeds are those of a run in one piece."""
    kept = tmp_path / "run.json"
    run(60, 2, lambda done: None, kept)
    ended = json.loads(kept.read_text())
    assert (ended["frames"], ended["seeds"]) == (60, 1)
    begun: list[int] = []
    whole = run(100, 2, lambda done: begun.append(done.seeds), kept)
    assert (whole.frames, whole.seeds, begun) == (100, 2, [2])
    with pytest.raises(BadInput, match=r"run\.json.* does not hold a run of these queues and options"):
        run(100, 3, lambda done: None, kept)
    kept.write_text("{")
    with pytest.raises(BadInput, match="does not hold"):
        run(100, 2, lambda done: None, kept)
