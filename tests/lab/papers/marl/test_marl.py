"""MARL: a round's parts add up to it, and rewards come with what their draws are worth."""

from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest

pytest.importorskip("olaf", reason="needs the SDK: pip install ./sdk")
pytest.importorskip("torch", reason="the extra [train] is not installed")

from olaflab.papers.figure import Effort
from olaflab.papers.marl import figures
from olaflab.papers.marl.examples import load_example
from olaflab.papers.marl.figure14 import Mapped, measure_layouts
from olaflab.papers.marl.profiles import profile_rounds
from olaflab.papers.marl.relayed import keep_rows
from olaflab.papers.marl.rewards import IN_RUNS, PARTS, WAYS, Reward, RewardCase, summarise_ways, train_once
from olaflab.papers.marl.stacks import Arrays, Game, Lists, make_filled
from olaflab.papers.marl.trainings import Workload, measure_trainings
from olaflab.papers.runs import Runs
from tests.targets.conftest import quietly


def test_the_parts_of_a_round_add_up_to_it() -> None:
    measured = list(profile_rounds((6,), 2, 4096, quietly))
    assert [each.stack for each in measured] == ["lists", "joint rows", "joint rows, one batch"]
    shares = {}
    for each in measured:
        assert sum(each.parts.values()) == pytest.approx(each.whole, rel=0.02)
        shares[each.stack] = each.parts["sampling"] / each.whole
    assert shares["lists"] > 2 * shares["joint rows"] > shares["joint rows, one batch"]


def train_weights(kind: type[Lists] | type[Arrays] | None) -> bytes:
    """Return all weights after 100 rounds between 25 plays; rows are in the ring alone, or in a stack too."""
    maddpg, particles = load_example("maddpg"), load_example("particles")
    maddpg.torch.set_num_threads(1)
    settings = maddpg.Settings(batch=32, rows=8000, hidden=16, sampler="priority-runs")
    team = maddpg.Team(particles.Tag(3, 4, np.random.default_rng(1)), settings, 1)
    if kind is not None:
        keep_rows(team, kind(Game(3), settings.rows))
    for _ in range(25):
        team.play()
        for _ in range(4):
            team.learn()
    networks = [net for agent in team.agents for net in (agent.actor, agent.critics[0])]
    return b"".join(value.detach().numpy().tobytes() for net in networks for value in net.parameters())


def test_trainings_are_measured_end_to_end_in_each_layout() -> None:
    ways = ("uniform", "n=16, ref=64", "n=64, ref=16", "PER", "IP")
    made = {(each.stack, each.way): each for each in measure_trainings((Workload(3),), 2, 4096, quietly)}
    assert list(made) == [(stack, way) for stack in ("lists", "joint rows") for way in ways]
    for each in made.values():
        assert each.rounds == 2 and 0 < each.playing + each.sampling < each.seconds
    assert made["lists", "uniform"].seconds > 1.3 * made["joint rows", "uniform"].seconds
    navigation = list(measure_trainings((Workload(3, navigation=True, matd3=True),), 1, 2048, quietly))
    assert {each.workload for each in navigation} == {"CN, MATD3"} and navigation[0].agents == 3
    (layouts,) = measure_layouts((3,), 25, 4096, quietly)
    assert layouts.lists > layouts.looked_up + layouts.reshaped > layouts.joint > 0
    assert layouts.fetched_lists > layouts.fetched and layouts.turned > 0


def test_one_value_a_step_is_all_agents_tuples_in_turn() -> None:
    game = Game(3)
    lists, mapped, indices = make_filled(Lists, game, 5, 100), Mapped(game), np.array([7, 99, 7])
    mapped.turn_steps(lists, 0, 100)
    reshaped = mapped.reshape_rows(mapped.look_up(indices))
    for agent, columns in zip(lists.gather(indices), reshaped, strict=True):
        for expected, found in zip(agent, columns, strict=True):
            assert np.array_equal(expected.reshape(found.shape), found)


def test_the_layout_changes_no_bit_of_weights_in_100_rounds() -> None:
    """One seed draws the same rows, whether they are joint rows, arrays an agent and key, or lists."""
    ring = train_weights(None)
    assert len(ring) > 10_000 and train_weights(None) == ring
    for kind in (Arrays, Lists):
        assert train_weights(kind) == ring, kind


def test_a_training_repeats_and_says_what_its_draws_are_worth() -> None:
    case = RewardCase("spread", 3, 80)
    made = [train_once(case, way, 1) for way in ("uniform", "n=64, ref=16", "uniform, 48 rows")]
    uniform, runs, control = (each.effective for each in made)
    assert uniform > 900 and 5 < runs < 200 and 40 < control <= 48
    assert train_once(case, "uniform, 48 rows", 1) == made[2]


def test_a_reduced_training_repeats_from_its_seed() -> None:
    """Within 1 %: processors round sums differently, and after 1,000 episodes returns are 7 % apart."""
    found = train_once(RewardCase("spread", 3, 320), "uniform, 48 rows", 1)
    assert [found.first, found.last] == pytest.approx([-237.82, -272.03], rel=0.01)
    # Of 80 returns the first 20 parts have two each, so the first quarter is ten of them.
    assert len(found.curve) == PARTS and found.first == pytest.approx(np.mean(found.curve[:10]), abs=0.01)


def test_a_training_that_was_made_is_not_repeated(tmp_path: Path) -> None:
    runs, made = Runs(Reward, tmp_path / "marl", quietly), list[str]()
    for way in IN_RUNS:
        settings = {"game": "tag", "agents": 3, "episodes": 80, "way": way}
        if way != "uniform, 48 rows":
            reward = Reward("tag", 3, 80, way, 1, 1.0, 2.0, 3.0)
            runs.run_of(f"tag-3-{way}", 1, settings, lambda reward=reward: reward)  # type: ignore[misc]
    one = {each.name: each for each in figures.figures()}["fig10-prey"]
    points = one.run(Effort(made.append, 1, 80 / 60_000, tmp_path))
    assert [each["way"] for each in points["rows"]] == list(IN_RUNS)
    assert made == ["tag-3-uniform, 48 rows, seed 1"]


def test_prey_of_the_environment_flee_the_nearest_predator() -> None:
    hunt = load_example("particles").Hunt(3, 500, np.random.default_rng(1))
    seen = hunt.reset()
    assert hunt.observations == [16] * 3 and seen.shape == (500, 48)

    def nearest() -> npt.NDArray[np.float64]:
        """Return the distance of the prey (worlds,), from what the first predator observes."""
        others, prey = seen[:, 8:12].reshape(-1, 2, 2), seen[:, 12:14]
        apart = prey[:, None] - np.concatenate([np.zeros((len(seen), 1, 2)), others], axis=1)
        return np.asarray(np.linalg.norm(apart, axis=2).min(axis=1))

    before = nearest()
    inside = np.abs(seen[:, 2:4] + seen[:, 12:14]).max(axis=1) < 0.5
    for _ in range(5):
        seen, rewards = hunt.step(np.zeros((500, 15)))
        assert rewards.shape == (500, 3)
    hunted = inside & (before < 0.3) & (before > 0.15)
    assert hunted.sum() > 10 and (nearest() - before)[hunted].mean() > 0.1


def test_a_ways_difference_is_taken_seed_by_seed() -> None:
    made = [
        Reward("spread", 3, 1000, way, seed, -300.0, -200.0 - 10 * seed + away + 0.1 * seed, 1000.0)
        for way, away in (("uniform", 0.0), ("PER", 2.0), ("uniform, 48 rows", -90.0))
        for seed in (1, 2, 3)
    ]
    lines = {line[0]: line for line in summarise_ways(made)}
    assert set(lines) == {"uniform", "PER", "uniform, 48 rows"} < set(WAYS)
    assert lines["PER"][4:] == ("2.0 ± 0.0", "more")
    assert lines["uniform, 48 rows"][4:] == ("-90.0 ± 0.0", "less")
