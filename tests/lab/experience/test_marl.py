"""``olafctl bench marl``: a round's parts add up to it, and rewards come with what their draws are worth."""

import csv
import json
from pathlib import Path

import pytest
from click.testing import CliRunner

pytest.importorskip("olaf", reason="needs the SDK: pip install ./sdk")
pytest.importorskip("torch", reason="the extra [train] is not installed")

from olaflab.cli.bench.marl import command
from olaflab.experience.rewards import WAYS, Reward, rewards, summary, write


def test_the_parts_of_a_round_add_up_to_it() -> None:
    line = ["--predators", "6", "--rounds", "2", "--rows", "4096", "--json"]
    done = CliRunner().invoke(command, line, catch_exceptions=False)
    profiles = json.loads(done.stdout)["profiles"]
    assert [each["stack"] for each in profiles] == ["lists", "joint rows", "joint rows, one batch"]
    shares = {}
    for each in profiles:
        assert sum(each["parts"].values()) == pytest.approx(each["whole"], rel=0.02)
        shares[each["stack"]] = each["parts"]["sampling"] / each["whole"]
    assert shares["lists"] > 2 * shares["joint rows"] > shares["joint rows, one batch"]


def test_a_training_says_what_its_draws_are_worth(tmp_path: Path) -> None:
    ways = ("uniform", "n=64, ref=16", "uniform, 48 rows")
    made = list(rewards("spread", 3, 80, 1, ways, lambda step: None))
    assert [each.way for each in made] == list(ways)
    uniform, runs, control = (each.effective for each in made)
    assert uniform > 900 and 5 < runs < 200 and 40 < control <= 48
    assert list(rewards("spread", 3, 80, 1, ways[:1], lambda step: None)) == made[:1]
    write(tmp_path / "rewards.csv", made)
    with (tmp_path / "rewards.csv").open() as file:
        assert [line["way"] for line in csv.DictReader(file)] == list(ways)


def test_a_ways_difference_is_taken_seed_by_seed() -> None:
    made = [
        Reward("spread", way, seed, -300.0, -200.0 - 10 * seed + away + 0.1 * seed, 1000.0)
        for way, away in (("uniform", 0.0), ("PER", 2.0), ("uniform, 48 rows", -90.0))
        for seed in (1, 2, 3)
    ]
    lines = {line[0]: line for line in summary(made)}
    assert set(lines) == {"uniform", "PER", "uniform, 48 rows"} < set(WAYS)
    assert lines["PER"][4:] == ("2.0 ± 0.0", "yes")
    assert lines["uniform, 48 rows"][4:] == ("-90.0 ± 0.0", "no")
