"""Numbered sums over links that lose, double and reorder frames; the run itself checks every result.

The long run is ``olaflab bench conform --lossy 100000``.
"""

from pathlib import Path

import pytest

from olafctl.queue.registers import Command
from olafctl.queue.verilate import build_queue
from olaflab.queue import numbered
from olafswitch.errors import OlafError
from olaftest.queue.model import QueueModel


@pytest.fixture(scope="module")
def library() -> Path:
    return build_queue(numbered.GEOMETRY)


@pytest.mark.parametrize("racks", [0, 2])
def test_without_loss_every_contribution_is_in_one_result(library: Path, racks: int) -> None:
    done = numbered.run(library, 4, racks, 1000, 0.0, seed=1)
    late = done.counters.get("dropped_late", 0)
    assert (done.lost, done.doubled, done.helped, done.void) == (0, 0, 0, 0)
    assert done.taken >= done.contributions - late
    assert done.results >= done.taken // 4


@pytest.mark.parametrize("racks", [0, 2])
def test_every_result_is_exact_and_no_number_is_missing(library: Path, racks: int) -> None:
    done = numbered.run(library, 4, racks, 3000, 0.05, seed=2)
    assert min(done.lost, done.doubled, done.helped) > 0
    assert min(done.counters["dropped_duplicate"], done.counters["dropped_late"]) > 0
    assert done.taken > 0.8 * done.contributions


def test_a_number_that_begins_again_is_found(library: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As after an unrequested RESET."""
    settle, seen = QueueModel.settle, 0

    def disturbed(self: QueueModel, limit: int) -> int:
        nonlocal seen
        seen += 1
        if seen == 30:
            self.registers.command(Command.RESET, 0, numbered.SEGMENTS - 1)
        return settle(self, limit)

    monkeypatch.setattr(QueueModel, "settle", disturbed)
    with pytest.raises(OlafError, match="comes after result"):
        numbered.run(library, 4, 0, 1000, 0.0, seed=1)
