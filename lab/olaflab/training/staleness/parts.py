"""The paper's figures, each from the trainings that it needs; finished ones are kept or given."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Any

from olafctl.errors import BadInput, Problem
from olaflab.training.figures.report import Figure
from olaflab.training.staleness import comparison, virtual
from olaflab.training.staleness.compare import curves
from olaflab.training.staleness.rules import EQUAL, PPO, STELLARIS, Rule, Scale, rules, settings
from olaflab.training.staleness.timeline import timed

if TYPE_CHECKING:
    from olaflab.training.staleness.learning import Run

OF_6 = (STELLARIS, EQUAL, PPO)
OF_3 = (2, 4, 8)
"""Learners of figure 3c."""


@dataclass(frozen=True)
class Bench:
    """What is compared, on what."""

    environment: str
    learners: int
    rounds: int
    seeds: int
    only: Sequence[str]
    """Rules of figure 11; none for all."""
    given: Sequence[Path]
    """Files of finished runs."""
    log: Callable[[str], None]
    made: "list[Run]" = field(default_factory=list)
    """Runs of all figures but the third, as they come."""

    @property
    def scale(self) -> Scale:
        """Of all trainings."""
        return Scale.of(self.environment)

    def rules(self) -> tuple[Rule, ...]:
        """All. Raises BadInput for one that is asked for and not among them."""
        known = rules(self.learners, self.rounds, self.scale)
        names = [rule.name for rule in known]
        if unknown := [name for name in self.only if name not in names]:
            remedy = f"take one of {'; '.join(names)}"
            raise BadInput(Problem(f"there is no rule {unknown[0]}", "--rule", remedy))
        return known

    def figure(self, part: str) -> Figure:
        """The figure of this name."""
        return {
            "fig2": self.fig2, "fig3": self.fig3, "fig6": self.fig6, "fig8": self.fig8,
            "fig11": self.fig11, "fig13": self.fig13, "fig14": self.fig14,
        }[part]()  # fmt: skip

    def fig2(self) -> Figure:
        """Asynchrony and serverless, each switched off."""
        return virtual.switches(self.rounds, self.seeds)

    def fig3(self) -> Figure:
        """Learning time, staleness, and how far policies move."""
        many = {f"async, {learners} learners": self._named("async", learners) for learners in OF_3}
        still, ours = self._named("synchronous", 1), self._named(STELLARIS, 8)
        every = {"synchronous": still, **many, "stellaris, 8 learners": ours}
        found = self._train(every, moves=True)
        return virtual.staleness(self.rounds, self.seeds, found)

    def fig6(self) -> Figure:
        """Stellaris and PPO."""
        return self._compared("fig6", "Figure 6: Stellaris and PPO", OF_6)

    def fig8(self) -> Figure:
        """Costs."""
        return virtual.money(self.learners, self.rounds, self.seeds)

    def fig11(self) -> Figure:
        """All rules."""
        return self._compared("fig11", "Figure 11: rules against staleness", self.only)

    def fig13(self) -> Figure:
        """Stellaris' settings."""
        own = self._named(STELLARIS, self.learners)
        more = settings(self.learners, self.rounds, self.scale)
        every = {rule.name: rule for rule in (own, *(rule for group in more.values() for rule in group))}
        found = self._train(every)
        made = curves(found, list(every.values()), self.rounds, self.scale)
        return comparison.of_settings(made, self._settings())

    def fig14(self) -> Figure:
        """Shares of a round."""
        from olaflab.training.staleness import shares

        return shares.measure(self.environment, self.learners, self.rounds, self.scale, 30)

    def _compared(self, name: str, title: str, names: Sequence[str]) -> Figure:
        known = {rule.name: rule for rule in self.rules() if rule.name in names or not names}
        made = curves(self._train(known), list(known.values()), self.rounds, self.scale)
        where = self.environment.partition("-")[0].lower()
        many = f"{self.learners} learners, {self.seeds} seeds; means ± 95 %"
        title = f"{title}, {self.environment}, {many}"
        return comparison.of_rules(f"stellaris-{name}-{where}", title, made, self._settings())

    def _named(self, name: str, learners: int) -> Rule:
        (rule,) = [each for each in rules(learners, self.rounds, self.scale) if each.name == name]
        return rule

    def _settings(self) -> dict[str, Any]:
        scale = self.scale
        return {
            "environment": self.environment, "learners": self.learners, "rounds": self.rounds,
            "seeds": self.seeds, "actors": scale.actors, "steps": scale.steps, "epochs": scale.epochs,
            "gradients a round": scale.epochs * scale.parts,
        }  # fmt: skip

    def _train(self, every: Mapping[str, Rule], moves: bool = False) -> "dict[str, list[Run]]":
        """Every seed of every rule; seed by seed, so that what is interrupted has all rules of some.

        Raises BadInput for an environment that there is not, ImportError where a package is missing.
        """
        import gymnasium

        from olaflab.training.staleness.kept import Asked

        given = {} if moves else self._given(every)
        found: dict[str, list[Run]] = {name: [] for name in every}
        total, done, made, spent = self.seeds * len(every), 0, 0, 0.0
        for seed in range(self.seeds):
            for name, rule in every.items():
                run, done, began = given.get((name, seed)), done + 1, monotonic()
                if run is None:
                    asked = Asked(rule, seed, self.rounds, self.environment, self.scale, moves)
                    try:
                        run, new = asked.found()
                    except gymnasium.error.Error as error:
                        raise BadInput(Problem(str(error).splitlines()[0], "--environment")) from error
                    made, spent = made + new, spent + new * (monotonic() - began)
                found[name].append(run)
                if not moves and run not in self.made:
                    self.made.append(run)
                left = f", at most {spent / made * (total - done) / 60:.0f} min left" if made else ""
                self.log(f"{name}, seed {seed}: reward {run.reward():.1f}; {done} of {total}{left}")
        return found

    def _given(self, every: Mapping[str, Rule]) -> "dict[tuple[str, int], Run]":
        """Finished runs of these rules. Raises BadInput where they are of other settings."""
        from olaflab.training.staleness.kept import read

        given = {key: run for key, run in read(self.given).items() if key[0] in every}
        for (name, seed), run in given.items():
            times = timed(every[name], seed, self.rounds, self.scale)
            if (len(run.rewards), run.steps, run.seconds) != (self.rounds, sum(times.steps), times.ends[-1]):
                what = f"has a run of {name}, seed {seed}, with other settings"
                places = ", ".join(map(str, self.given))
                raise BadInput(Problem(what, places, "give what --json printed with the same ones"))
        return given
