"""Hostile input, a little: refused, counted, and nothing is changed."""

import pytest

from olafctl.targets import registry
from olaflab.daemon import hostile


@pytest.mark.slow
def test_hostile_messages_and_calls_change_nothing() -> None:
    if missing := registry.get("twin").missing():
        pytest.skip(f"needs {', '.join(missing)}")
    report = hostile.run(messages=100, joins=6, rate=5000, seed=2, progress=print, turn=1.0)
    assert report.messages == {
        "wrong key": 10,
        "of another address": 10,
        "truncated": 10,
        "oversized": 10,
        "unknown action": 10,
        "random": 100,
    }
    assert report.answers == {"BAD_MAC": 20, "BAD_MESSAGE": 130}
    assert report.calls == {"INVALID_ARGUMENT": 100}
    assert report.revisions == 0
    assert report.flooded > 0
    assert report.spread_flooded > 0
    assert report.spread_joins > 1
