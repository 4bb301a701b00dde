"""Figure 8's targets: what was learnt between the begin and the ideal training's end."""

import numpy as np
import pytest

from olaflab.papers.olaf.ends import IDEAL, PAIRS, TENTH, UNTRAINED, Ends, Rewards, compare_earlier_ends

SEEDS, UPDATES = 4, 20


def make_training(end: float, begin: float = -200.0, dip: float = -300.0) -> Rewards:
    """Make (SEEDS, UPDATES) of one untrained update, a dip that lasts to the middle, then ``end``."""
    half = UPDATES // 2
    return np.tile([begin, *[dip] * (half - 1), *[end] * (UPDATES - half)], (SEEDS, 1))


def make_queues(ideal: float, fifo: float, olaf: float) -> dict[str, Rewards]:
    rewards = {IDEAL: make_training(ideal)}
    for queue, (other, _) in PAIRS.items():
        rewards[queue], rewards[other] = make_training(olaf), make_training(fifo)
    return rewards


OLAF, (FIFO, _) = next(iter(PAIRS.items()))


def test_what_was_learnt_is_counted_from_the_untrained_policy_or_from_ideals_first_tenth() -> None:
    rewards = make_queues(ideal=50, fifo=-100, olaf=25)
    ends, tenth = Ends(rewards, UNTRAINED), Ends(rewards, TENTH)
    assert ends.learnt_share(IDEAL).value == 1
    assert ends.learnt_share(OLAF).value == pytest.approx(225 / 250)
    assert ends.gain_over(OLAF, FIFO).value == pytest.approx(125 / 100)
    assert tenth.learnt_share(OLAF).value == pytest.approx(275 / 300)  # two updates: -200 and -300
    assert tenth.gain_over(OLAF, FIFO).value == pytest.approx(125 / 150)
    assert ends.literal_gain(OLAF, FIFO).value == pytest.approx(125 / 100)


def test_the_targets_say_how_far_and_whether() -> None:
    met = dict(Ends(make_queues(ideal=50, fifo=-100, olaf=25)).judge_targets())
    assert list(met.values()) == ["not shown", "holds", "not shown", "holds"]
    assert any("0.90 (0.90 … 0.90)" in text for text in met)
    missed = dict(Ends(make_queues(ideal=50, fifo=0, olaf=20)).judge_targets())
    assert list(missed.values()) == ["contradicted"] * 4


def test_no_gain_is_high_enough_to_compare_with_a_fifo_that_learnt_nothing() -> None:
    ends = Ends(make_queues(ideal=50, fifo=-250, olaf=25))
    assert str(ends.gain_over(OLAF, FIFO)) == "∞ (∞ … ∞)"
    assert ends.learnt_share(FIFO).value == pytest.approx(-0.2)


def test_an_interval_is_that_of_the_seeds() -> None:
    rewards = make_queues(ideal=50, fifo=-100, olaf=25)
    assert Ends(rewards).learnt_share(OLAF).low == Ends(rewards).learnt_share(OLAF).high
    rewards[OLAF] = rewards[OLAF] + np.array([[-20.0], [-10.0], [10.0], [20.0]])
    learnt = Ends(rewards).learnt_share(OLAF)
    assert learnt.low < learnt.value < learnt.high
    assert learnt == Ends(rewards).learnt_share(OLAF)
    one = Ends({queue: table[:1] for queue, table in rewards.items()})
    assert "(" not in str(one.learnt_share(OLAF))


def test_the_ideal_training_is_looked_up_where_it_had_as_many_updates() -> None:
    ends = Ends(make_queues(ideal=50, fifo=-100, olaf=25))
    assert ends.ideal_after(1.0) == 1
    assert ends.ideal_after(0.5) == pytest.approx(-100 / 250)


def test_earlier_ends_are_evaluated_as_if_the_training_had_ended_there() -> None:
    table = compare_earlier_ends(make_queues(ideal=50, fifo=-100, olaf=25), UNTRAINED)
    assert table.rows[0][:2] == ["12", "50"] and table.rows[-1][:2] == ["20", "50"]
    place = table.heads.index(OLAF)
    assert table.rows[-1][place - 1 : place + 3] == ["0.40", "0.90", "1.25", "1.50"]
    assert UNTRAINED in table.title
