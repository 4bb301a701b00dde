"""The paper's figures, each from the trainings that it needs; finished ones are kept or given."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any

from olaflab.papers.runs import Runs
from olaflab.papers.stellaris import comparison, virtual
from olaflab.papers.stellaris.compare import make_curves
from olaflab.papers.stellaris.rules import (
    EQUAL,
    PPO,
    STELLARIS,
    Rule,
    Scale,
    make_impact,
    make_rules,
    vary_settings,
)
from olaflab.papers.summary import Summary

if TYPE_CHECKING:
    from olaflab.papers.stellaris.learning import RuleRun

OF_6 = (STELLARIS, EQUAL, PPO)
OF_3 = (2, 4, 8)
"""Learners of figure 3c."""


@dataclass(frozen=True)
class RuleBench:
    """The setting of a comparison, and the trainings of each figure."""

    environment: str
    learners: int
    rounds: int
    seeds: int
    folder: Path
    log: Callable[[str], None]

    @property
    def scale(self) -> Scale:
        """Scale of all trainings."""
        return Scale.of(self.environment)

    def figure(self, part: str) -> Summary:
        """Return the summary of the figure with this name."""
        return {
            "fig2": self.fig2, "fig3": self.fig3, "fig6": self.fig6, "fig7": self.fig7,
            "fig8": self.fig8, "fig11": self.fig11, "fig13": self.fig13, "fig14": self.fig14,
        }[part.partition("-")[0]]()  # fmt: skip

    def fig2(self) -> Summary:
        """Switch asynchrony and serverless off, one at a time."""
        return virtual.compare_switches(self.rounds, self.seeds)

    def fig3(self) -> Summary:
        """Measure learning time, staleness, and how far policies move."""
        many = {f"async, {learners} learners": self._named_rule("async", learners) for learners in OF_3}
        still, ours = self._named_rule("synchronous", 1), self._named_rule(STELLARIS, 8)
        every = {"synchronous": still, **many, "stellaris, 8 learners": ours}
        found = self._train_rules(every, moves=True)
        return virtual.measure_staleness(self.rounds, self.seeds, found)

    def fig6(self) -> Summary:
        """Compare Stellaris and PPO."""
        every = make_rules(self.learners, self.rounds, self.scale)
        return self._compare_rules(
            "Figure 6: Stellaris and PPO", [rule for rule in every if rule.name in OF_6]
        )

    def fig7(self) -> Summary:
        """Compare Stellaris and IMPACT."""
        every = make_impact(self.learners, self.rounds, self.scale)
        return self._compare_rules("Figure 7: Stellaris and IMPACT", every)

    def fig8(self) -> Summary:
        """Compare costs."""
        return virtual.compare_costs(self.learners, self.rounds, self.seeds)

    def fig11(self) -> Summary:
        """Compare all rules."""
        every = make_rules(self.learners, self.rounds, self.scale)
        return self._compare_rules("Figure 11: rules against staleness", every)

    def fig13(self) -> Summary:
        """Vary Stellaris' settings."""
        own = self._named_rule(STELLARIS, self.learners)
        more = vary_settings(self.learners, self.rounds, self.scale)
        every = {rule.name: rule for rule in (own, *(rule for group in more.values() for rule in group))}
        found = self._train_rules(every)
        made = make_curves(found, list(every.values()), self.rounds, self.scale)
        return comparison.of_settings(made, self._make_settings())

    def fig14(self) -> Summary:
        """Measure the shares of a round."""
        from olaflab.papers.stellaris import shares

        return shares.measure_shares(self.environment, self.learners, self.rounds, self.scale, 30)

    def _compare_rules(self, title: str, every: Sequence[Rule]) -> Summary:
        found = self._train_rules({rule.name: rule for rule in every})
        made = make_curves(found, every, self.rounds, self.scale)
        many = f"{self.learners} learners, {self.seeds} seeds; means ± 95 %"
        title = f"{title}, {self.environment}, {many}"
        return comparison.of_rules(title, made, self._make_settings())

    def _named_rule(self, name: str, learners: int) -> Rule:
        (rule,) = [each for each in make_rules(learners, self.rounds, self.scale) if each.name == name]
        return rule

    def _make_settings(self) -> dict[str, Any]:
        scale = self.scale
        return {
            "environment": self.environment, "learners": self.learners, "rounds": self.rounds,
            "seeds": self.seeds, "actors": scale.actors, "steps": scale.steps, "epochs": scale.epochs,
            "gradients a round": scale.epochs * scale.parts,
        }  # fmt: skip

    def _train_rules(self, every: Mapping[str, Rule], moves: bool = False) -> "dict[str, list[RuleRun]]":
        """Train every rule seed by seed, so that an interrupted figure has all rules of some seeds.

        Raises ImportError where a package is missing, OlafError.
        """
        from olaflab.papers.stellaris.learning import RuleRun, train_rules

        found: dict[str, list[RuleRun]] = {name: [] for name in every}
        runs = Runs(RuleRun, self.folder / "stellaris", self.log)
        for seed in range(self.seeds):
            for name, rule in every.items():
                settings = {
                    "rule": repr(rule), "rounds": self.rounds, "environment": self.environment,
                    "scale": repr(self.scale), "moves": moves,
                }  # fmt: skip
                curve = f"{name}-{sha256(repr(settings).encode()).hexdigest()[:8]}"
                make = partial(train_rules, rule, seed, self.rounds, self.environment, self.scale, moves)
                found[name].append(runs.run_of(curve, seed, settings, make))
        return found
