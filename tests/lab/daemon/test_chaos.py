"""Killed at any moment, the daemon and the switches come back with exactly what was answered."""

import math

import pytest

from olafctl.targets import registry
from olaflab.daemon import chaos
from olaflab.daemon.history import Call, Outcome, violations


@pytest.mark.parametrize("tree", [False, True])
def test_after_random_kills_store_devices_and_answers_agree(tree: bool) -> None:
    if missing := registry.get("twin").missing():
        pytest.skip(f"needs {', '.join(missing)}")
    report = chaos.run(kills=2, cuts=1, changes=20, seed=42, progress=print, tree=tree)
    assert report.disagreements == []
    assert (report.killed, report.cuts) == ({"daemon": 1, "twin": 1}, {"lost": 1})
    assert report.outcomes["done"] + report.outcomes["refused"] >= 20


def call(action: str, cluster: str, began: int, ended: float, outcome: Outcome = Outcome.DONE) -> Call:
    return Call("w", action, cluster, began, ended, outcome)


@pytest.mark.parametrize(
    ("history", "explained"),
    [
        ([call("join", "a", 0, 1), call("read", "a", 2, 2)], True),
        ([call("join", "a", 0, 1), call("read", "", 2, 2)], False),  # an answered change was lost
        ([call("leave", "", 0, 1)], False),  # left what it was not in
        ([call("join", "a", 0, 3), call("join", "b", 1, 2, Outcome.REFUSED), call("read", "a", 4, 4)], True),
        ([call("join", "a", 0, 1), call("join", "a", 2, 3, Outcome.REFUSED)], False),
        ([call("join", "a", 0, math.inf, Outcome.UNKNOWN), call("read", "", 1, 1)], True),
        ([call("join", "a", 0, math.inf, Outcome.UNKNOWN), call("read", "a", 1, 1)], True),
        (
            [
                call("join", "a", 0, math.inf, Outcome.UNKNOWN),
                call("read", "a", 1, 1),
                call("read", "", 2, 2),
            ],
            False,  # half present: seen, then gone
        ),
        (
            [
                call("join", "a", 0, 1),
                call("move", "b", 2, 5),
                call("leave", "", 3, 4),
                call("read", "", 6, 6),
            ],
            True,
        ),
        ([call("join", "a", 0, 1), call("move", "b", 2, 3), call("read", "a", 4, 4)], False),
    ],
)
def test_the_checker_finds_what_no_order_explains(history: list[Call], explained: bool) -> None:
    assert violations(history) == ([] if explained else ["w"])
