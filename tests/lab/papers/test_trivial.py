"""What learns nothing: the best single action is chosen apart from what is reported, and pages name it."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from olafctl import paths
from olaflab.papers import shelf, trivial
from olaflab.papers.figure import Effort
from olaflab.papers.store import Committed
from olaflab.papers.summary import estimate_mean

DOCS = paths.sources() / "docs"
PAGES = {("olaf", "CartPole"): "equal-terms.md"}
"""Pages of what is not on the paper's own."""


class Guessing:
    """A game whose return is the action's worth and the seed's luck."""

    def __init__(self, worths: list[float]) -> None:
        self.actions = {f"action {number}": worth for number, worth in enumerate(worths)}
        self.played: dict[float, set[int]] = {}

    def random_action(self, random: np.random.Generator) -> float:
        return float(random.choice(list(self.actions.values())))

    def play_episode(self, act: Callable[[np.random.Generator], float], seed: int) -> float:
        worth = act(np.random.default_rng(seed))
        self.played.setdefault(worth, set()).add(seed)
        return worth + (seed % 7) / 100


def test_the_best_single_action_is_chosen_on_other_seeds(monkeypatch: pytest.MonkeyPatch) -> None:
    for draw in range(20):
        worths = np.random.default_rng(draw).permutation(6).astype(float).tolist()
        game = Guessing(worths)
        monkeypatch.setattr(trivial, "GAMES", {"guessing": lambda game=game: game})
        (line,) = trivial.measure_games(["guessing"], Effort(lambda step: None, seeds=9))
        assert line.always == f"action {worths.index(5.0)}"
        assert line.constant == estimate_mean(np.array([5 + seed % 7 / 100 for seed in range(9)]))
        chosen = set.intersection(*(game.played[worth] for worth in worths)) - set(range(9))
        assert chosen and line.random.mean < line.constant.mean


@pytest.mark.parametrize("paper", shelf.NAMES)
def test_a_page_sets_the_best_trivial_policy_beside_what_is_learnt(paper: str) -> None:
    table = Committed(DOCS / "papers", paper).load_sections()["trivial"].tables["rows"]
    for game, random, _, constant in table.rows:
        page: Path = DOCS / PAGES.get((paper, game), f"papers/{paper}.md")
        text = page.read_text(encoding="utf-8").replace("−", "-").replace("\u00a0", " ")
        assert max(random, constant, key=lambda cell: float(cell.split()[0])) in text, game
