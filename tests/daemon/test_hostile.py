"""Hostile input, a little: refused, counted, and nothing is changed."""

import pytest

from olafctl.bench import hostile
from olafctl.targets import registry


def test_hostile_messages_and_calls_are_refused_and_change_nothing() -> None:
    if missing := registry.get("twin").missing():
        pytest.skip(f"needs {', '.join(missing)}")
    report = hostile.run(messages=200, joins=10, rate=5000, seed=2, progress=print)
    assert report.messages == {
        "wrong key": 20,
        "of another address": 20,
        "truncated": 20,
        "oversized": 20,
        "unknown action": 20,
        "random": 200,
    }
    assert report.answers == {"BAD_MAC": 40, "BAD_MESSAGE": 260}
    assert report.calls == {"INVALID_ARGUMENT": 200}
    assert report.revisions == 0
    assert report.flooded > 0
