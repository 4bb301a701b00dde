"""The search for an order: against trying them all, and with more unknown outcomes than can be tried."""

import math
import random
from collections.abc import Callable

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from olaflab.daemon.history import CallOutcome, HistoryCall, Undecided, find_violations

_ALLOWED: dict[str, Callable[[str, str], bool]] = {
    "join": lambda state, cluster: state in ("", cluster),
    "leave": lambda state, cluster: state != "",
    "move": lambda state, cluster: state != "",
    "read": lambda state, cluster: state == cluster,
}


@st.composite
def histories(draw: st.DrawFn) -> list[HistoryCall]:
    size = draw(st.integers(1, 6))
    steps = draw(st.permutations(range(2 * size)))
    calls = []
    for number in range(size):
        began, ended = sorted(steps[2 * number : 2 * number + 2])
        action = draw(st.sampled_from(sorted(_ALLOWED)))
        outcome = CallOutcome.DONE if action == "read" else draw(st.sampled_from(CallOutcome))
        cluster = draw(st.sampled_from(["", "a", "b"] if action == "read" else ["a", "b"]))
        lives_on = outcome is CallOutcome.UNKNOWN and draw(st.booleans())
        calls.append(HistoryCall("w", action, cluster, began, math.inf if lives_on else ended, outcome))
    return calls


def has_an_order(left: list[HistoryCall], state: str = "") -> bool:
    """Try every order in which each call begins before any other that is left has ended."""
    if all(call.outcome is CallOutcome.UNKNOWN for call in left):
        return True
    bound = min(call.ended for call in left)
    for call in left:
        rest = [other for other in left if other is not call]
        if call.outcome is CallOutcome.UNKNOWN and has_an_order(rest, state):
            return True
        if call.began > bound:
            continue
        allowed = _ALLOWED[call.action](state, call.cluster)
        after = {"leave": "", "read": state}.get(call.action, call.cluster)
        if call.outcome is CallOutcome.REFUSED and not allowed and has_an_order(rest, state):
            return True
        if call.outcome is not CallOutcome.REFUSED and allowed and has_an_order(rest, after):
            return True
    return False


@settings(max_examples=300, suppress_health_check=[HealthCheck.too_slow])
@given(histories())
def test_it_finds_an_order_exactly_when_there_is_one(history: list[HistoryCall]) -> None:
    assert (find_violations(history) == []) == has_an_order(history)


def test_hundreds_of_unknown_outcomes_are_searched() -> None:
    chance, state, clock = random.Random(3), "", 0
    history: list[HistoryCall] = []
    for _ in range(200):
        for _ in range(3):
            action, cluster = chance.choice(["join", "leave", "move"]), chance.choice("abc")
            if _ALLOWED[action](state, cluster) and chance.random() < 0.5:
                state = "" if action == "leave" else cluster
            history.append(HistoryCall("w", action, cluster, clock, clock + 10, CallOutcome.UNKNOWN))
            clock += 1
        history.append(HistoryCall("w", "read", state, clock, clock + 1, CallOutcome.DONE))
        clock += 10
    assert find_violations(history) == []
    history.append(HistoryCall("w", "read", "elsewhere", clock, clock + 1, CallOutcome.DONE))
    assert find_violations(history) == ["w"]


def test_a_history_beyond_the_bound_is_an_error_and_never_hangs() -> None:
    history = [HistoryCall("w", "join", "a", 0, 99, CallOutcome.DONE) for _ in range(12)]
    history += [HistoryCall("w", "leave", "", 0, 99, CallOutcome.DONE) for _ in range(12)]
    with pytest.raises(Undecided, match="configurations of w"):
        find_violations(history, most=500)
