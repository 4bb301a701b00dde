"""The layouts that the bench compares hold the same rows; cache misses are as reproducible as claimed."""

import shutil

import numpy as np
import pytest

from olaflab.papers.marl.figure8 import BATCH, WAYS, draw_rows, measure_costs
from olaflab.papers.marl.misses import count_misses
from olaflab.papers.marl.stacks import Arrays, Game, Joint, Lists, make_filled


def test_observations_have_the_papers_sizes() -> None:
    """MARL §VI: 16 and 14 values with 3 predators, 98 and 96 with 24; the rows' bytes of both follow."""
    assert Game(3).observations == [16] * 3 + [14] and Game(3).row_bytes == 608
    assert Game(24).observations == [98] * 24 + [96] * 8 and Game(24).row_bytes == 25_856
    assert [Game(n).observations[0] for n in (6, 12, 48)] == [26, 50, 194]
    assert Game(12, navigation=True).observations == [72] * 12


def test_all_layouts_give_the_same_batches_bit_for_bit() -> None:
    game = Game(3)
    stacks = [make_filled(kind, game, 5, 3000) for kind in (Lists, Arrays, Joint)]
    indices = draw_rows(np.random.default_rng(2), 3000, 16)
    lists, arrays, joint = (stack.gather(indices) for stack in stacks)
    for agent in range(game.agents):
        for mine, others, ring in zip(lists[agent], arrays[agent], joint[agent], strict=True):
            expected = mine.astype(np.float32).reshape(others.shape).tobytes()
            assert others.tobytes() == ring.tobytes() == expected


def test_a_batch_of_runs_has_as_many_rows() -> None:
    random = np.random.default_rng(1)
    for run in WAYS.values():
        rows = draw_rows(random, 2000, run)
        assert len(rows) == BATCH and rows.min() >= 0 and rows.max() < 2000
        assert (np.diff(rows.reshape(-1, run), axis=1) == 1).all()


def test_each_layout_is_measured_in_each_way() -> None:
    measured = list(measure_costs((3,), 2, 0.01, lambda step: None))
    assert [(each.layout, each.way) for each in measured] == [
        *((layout, way) for layout in ("lists", "arrays", "joint rows") for way in WAYS),
        ("joint rows", "contiguous copy"),
    ]
    assert all(each.seconds > 0 for each in measured)


@pytest.mark.skipif(shutil.which("valgrind") is None, reason="valgrind is not installed")
def test_runs_and_joint_rows_miss_the_cache_less() -> None:
    """Runs of 16 in arrays at most half of uniform's; joint rows, uniformly, 1.3 times the values' lines."""
    counted = {(each.layout, each.way): each for each in count_misses(3, 1_000_000, 4, lambda step: None)}
    uniform = counted["arrays", "uniform"].misses
    assert counted["arrays", "n=16, ref=64"].misses <= 0.5 * uniform
    assert counted["joint rows", "uniform"].over_compulsory <= 1.3
