"""Table 3 of ARTOS: each of its rows is configuration, and trains."""

import json

import pytest

pytest.importorskip("olaf", reason="needs the SDK: pip install ./sdk")

from olaflab.papers.artos.table3 import TRAININGS, TriggerRun, train_once

ROWS = {
    "temporal training", "full batch update", "FIFO training", "pipeline training", "actor invocation",
    "on-policy sync", "off-policy sync", "data transfer",
}  # fmt: skip


def test_the_trainings_use_all_eight_rows_and_nothing_else() -> None:
    assert {row for training in TRAININGS.values() for row in training.used_rows} == ROWS
    for training in TRAININGS.values():
        for triggers in (training.triggers, training.cache):
            assert json.loads(json.dumps(triggers)) == triggers  # plain data


@pytest.mark.parametrize(
    ("name", "updates"), [("PPO", 30), ("FIFO", 150), ("SAC", 110), ("temporal", 110), ("PPO in stages", 30)]
)
def test_each_trains(name: str, updates: int) -> None:
    assert train_once(name, updates)[1] > 40  # random actors get about 22


def test_stages_learn_what_one_batch_does() -> None:
    """Advantages from the first stage, over two rings: every weight ends in the same bits."""
    ends = []
    for name in ("PPO", "PPO in stages"):
        run = TriggerRun(TRAININGS[name], 3)
        run.train_until(5)
        ends.append(run.ring.objects.read("weights"))
    assert ends[0] is not None and ends[1] is not None
    assert ends[0][1] == ends[1][1] >= 5 and ends[0][0].tobytes() == ends[1][0].tobytes()
