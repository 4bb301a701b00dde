"""Moves at full rate, a few: every frame is accounted for, and no ACK reaches a group that was left."""

import pytest

from olafctl.targets import registry
from olaflab.daemon import moves


def test_moves_lose_no_frame_and_leave_no_stale_group() -> None:
    if missing := registry.get_target("twin").missing():
        pytest.skip(f"needs {', '.join(missing)}")
    report = moves.run_moves(10, seed=3, progress=print)
    assert report.problems == []
    assert (report.moves, report.marks, report.stale) == (10, 20, 0)
    assert report.sent == report.entered > 100
