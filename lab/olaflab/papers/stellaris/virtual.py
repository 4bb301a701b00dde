"""Figures 2, 3 and 8: time, use, staleness and costs, which need no learning; and how far policies move."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from olaflab import pictures
from olaflab.papers.figure import FigureTable, Points, decide_statements
from olaflab.papers.stellaris.compare import SHARED, time_shared
from olaflab.papers.stellaris.rules import PPO, STELLARIS, Rule, Scale, make_rules
from olaflab.papers.stellaris.timeline import COLD, Timed, time_rule
from olaflab.papers.summary import Summary, estimate_mean

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Drawing

    from olaflab.papers.stellaris.learning import RuleRun

ACTOR = 4.896 / 3600 / 128
"""$ of an actor's second (Stellaris §VIII-A)."""
WHOLE = Scale(actors=128, steps=1024)
"""Stellaris §II-C: 128 actors × 1024 steps, a gradient of a quarter of the rows."""
LEARNERS, ACTORS = (2, 4, 6, 8), (8, 16, 24, 32)
"""Numbers of learners and actors in figure 3."""
_MONEY = (pictures.SUBJECT, pictures.GREYS[1])
_SERVERFUL = SHARED["synchronous"]
ENVIRONMENTS = ("Hopper-v5", "Walker2d-v5", "Humanoid-v5")


@dataclass(frozen=True)
class TrainingCosts:
    """$ of a training, learners' and actors' side by side; by three ways to count."""

    reserved: tuple[float, float]
    """All slots, all the time."""
    invoked: tuple[float, float]
    """Invocations alone, as the paper counts."""
    whole: tuple[float, float]
    """The same with cold starts and with learners that are kept alive."""

    def sums(self) -> tuple[float, float, float]:
        """Return sums over learners and actors."""
        return sum(self.reserved), sum(self.invoked), sum(self.whole)


def training_costs(times: Timed, scale: Scale, rounds: int) -> TrainingCosts:
    """Return the costs of a run's learners, and of its actors, which play a part of the time."""
    second, report = scale.actors * ACTOR, times.report
    playing, all_of_it = rounds * scale.steps * scale.act * second, times.ends[-1] * second
    return TrainingCosts(
        (report.reserved, all_of_it),
        (report.invoked, playing),
        (report.whole, all_of_it + COLD * second),
    )


def compare_switches(rounds: int, seeds: int) -> Summary:
    """Compare asynchrony and on-demand learners, each switched off; time and cost alone (figure 2)."""
    known = {rule.name: rule for rule in make_rules(4, rounds, WHOLE)}
    ways = {
        _SERVERFUL: [time_shared(seed, rounds, WHOLE, 4) for seed in range(seeds)],
        "async": [time_rule(known["async"], seed, rounds, WHOLE) for seed in range(seeds)],
    }
    rows = []
    for name, runs in ways.items():
        seconds = _round_value(np.mean([each.ends[-1] for each in runs]))
        reserved, invoked, whole = np.mean(
            [training_costs(each, WHOLE, rounds).sums() for each in runs], axis=0
        )
        for kind, cost in (("reserved", reserved), ("on demand", invoked), ("on demand, all told", whole)):
            rows.append((name, kind, seconds, _round_value(cost)))
    first = rows[0][3]
    lines = [(*row, f"{100 * (row[3] / first - 1):+.1f} %") for row in rows]
    heads = ("learners", "paid", "seconds", "$", "of the first")
    holds = {
        "on demand costs less than reserved, as the paper counts": all(
            lines[at + 1][3] < lines[at][3] for at in range(0, len(lines), 3)
        ),
        "on demand costs less than reserved, with cold starts and keep-alive": all(
            lines[at + 2][3] < lines[at][3] for at in range(0, len(lines), 3)
        ),
    }
    settings = {"rounds": rounds, "seeds": seeds, "actors": 128, "steps": 1024, "learners": 4}

    return Summary("Figure 2: each of async and serverless switched off; time and cost",
                   settings, heads, lines, decide_statements(holds), heads, lines)  # fmt: skip


def measure_staleness(rounds: int, seeds: int, moves: "Mapping[str, Sequence[RuleRun]]") -> Summary:
    """Measure figure 3: (a) learning time and use of learners, (b) staleness, (c) how far policies move."""
    time, used = {}, {}
    for actors in ACTORS:
        for learners in LEARNERS:
            scale = Scale(actors=actors, parts=actors // 4)  # of 1024 rows each
            runs = [
                time_rule(make_rules(learners, rounds, scale)[1], seed, rounds, scale)
                for seed in range(seeds)
            ]
            playing = scale.steps * scale.act
            time[learners, actors] = float(np.mean([run.ends[-1] / rounds - playing for run in runs]))
            used[learners, actors] = float(
                np.mean([run.report.busy / (run.ends[-1] * learners) for run in runs])
            )
    lags: dict[str, list[int]] = {}
    for learners in (*LEARNERS, 16):
        lags[f"async, {learners} learners"] = _collect_lags(
            make_rules(learners, rounds, Scale())[1], rounds, seeds
        )
    lags["stellaris, 8 learners"] = _collect_lags(make_rules(8, rounds, Scale())[4], rounds, seeds)
    rows = [
        (learners, *(f"{time[learners, actors]:.3f} s, {used[learners, actors]:.0%}" for actors in ACTORS))
        for learners in LEARNERS
    ]
    spread = FigureTable(
        "(b) Staleness of gradients", ("", "mean", "median", "95 %", "largest"),
        [[name, f"{np.mean(each):.2f}", *(f"{at:.0f}" for at in np.quantile(each, (0.5, 0.95, 1)))]
         for name, each in lags.items()],
    )  # fmt: skip
    holds = {
        "learning takes less time with more learners": all(
            time[more, actors] < time[less, actors] for less, more in _learner_steps() for actors in ACTORS
        ),
        "learners are used less where there are more": all(
            used[more, actors] < used[less, actors] for less, more in _learner_steps() for actors in ACTORS
        ),
        "staleness grows with learners": bool(
            np.all(np.diff([np.mean(each) for each in list(lags.values())[:-1]]) > 0)
        ),
    }
    far, moved = _compare_moves(moves)
    points: list[Sequence[Any]] = [
        *(("3a seconds", learners, actors, value) for (learners, actors), value in time.items()),
        *(("3a use", learners, actors, value) for (learners, actors), value in used.items()),
        *(("3b", name, lag, count) for name, each in lags.items()
          for lag, count in sorted(Counter(each).items())),
        *(("3c", name, run.seed, float(np.mean(run.moved))) for name, runs in moves.items() for run in runs),
    ]  # fmt: skip
    settings = {"rounds": rounds, "seeds": seeds, "steps": 256, "seeds of 3c": len(moves["synchronous"])}

    return Summary(
        "Figure 3a: learning time of a round and use of learners, pure async",
        settings,
        ("learners", *(f"{actors} actors" for actors in ACTORS)),
        rows,
        {**decide_statements(holds), **moved},
        ("figure", "what", "of", "value"),
        points,
        (spread, far),
    )


def compare_costs(learners: int, rounds: int, seeds: int) -> Summary:
    """Compare three costs of each rule and environment (figure 8)."""
    rows: list[Sequence[Any]] = []
    first: dict[str, tuple[float, float, float]] = {}
    for environment in ENVIRONMENTS:
        scale = Scale.of(environment)
        for name, runs in _time_rules(learners, rounds, seeds, scale):
            found = [training_costs(each, scale, rounds).sums() for each in runs]
            mean: tuple[float, float, float] = tuple(np.mean(found, axis=0).tolist())
            first.setdefault(environment, mean)
            seconds = _round_value(np.mean([each.ends[-1] for each in runs]))
            against = [f"{100 * (cost / first[environment][0] - 1):+.0f} %" for cost in mean]
            rows.append((environment, name, seconds, *(_round_value(cost) for cost in mean), *against))
    heads = ("environment", "rule", "seconds", "$ reserved", "$ invoked", "$ with cold and keep-alive",
             "reserved", "invoked", "with cold and keep-alive")  # fmt: skip
    holds = {}
    for environment in ENVIRONMENTS:
        cost = {row[1]: row for row in rows if row[0] == environment}
        for other in (_SERVERFUL, SHARED[PPO]):
            for column, how in ((4, "as the paper counts"), (5, "with cold starts and keep-alive")):
                less = 100 * (1 - cost[STELLARIS][column] / cost[other][3])
                what = f"on demand Stellaris costs less than reserved {other}, {how}: by {less:.0f} %"
                holds[f"{environment}: {what}"] = less > 0
    settings = {"learners": learners, "rounds": rounds, "seeds": seeds, "actors": Scale.actors}

    title = f"Figure 8: $ of a training (async, SSP, SoftSync: as Stellaris); shares of {_SERVERFUL}"
    return Summary(title, settings, heads, rows, decide_statements(holds), heads, rows)


def draw_switches(points: Points, drawing: "Drawing") -> None:
    """Draw figure 2: the cost of each way."""
    axes = drawing.subplots(1, 1)
    rows = points["rows"]
    names = [f"{learners}, {paid}" for learners, paid, *_ in rows]
    colours = [pictures.SUBJECT if learners == "async" else pictures.GREYS[0] for learners, *_ in rows]
    axes.barh(names, [row[3] for row in rows], color=colours)
    axes.invert_yaxis()
    axes.set(xlabel="$ of learners and actors")


def draw_staleness(points: Points, drawing: "Drawing") -> None:
    """Draw figure 3: learning time, staleness, and how far policies move."""
    panels = drawing.subplots(3, 1)
    for axes, part in zip(panels, ("3a seconds", "3b", "3c"), strict=True):
        found = list(_iterate_part(points, part))
        looks = pictures.assign_styles(name for name, _, _ in found)
        for number, (name, along, values) in enumerate(found):
            if part == "3c":
                colour = looks[name]["color"]
                axes.plot([number] * len(values), values, "o", color=colour, label=name)
                continue
            shares = values / values.sum() if part == "3b" else values
            axes.plot(along, shares, label=name if part == "3b" else f"{name} learners", **looks[name])
        axes.legend(fontsize=7)
        axes.grid(alpha=0.3)
    panels[0].set(xlabel="actors", ylabel="virtual seconds of\nlearning a round", title="(a)")
    panels[1].set(xlabel="staleness, versions", ylabel="share of gradients", title="(b)", xlim=(0, 40))
    panels[2].set(xticks=[], ylabel="KL from the policy before,\na seed each", title="(c)", yscale="log")


def _iterate_part(points: Points, part: str) -> Iterator[tuple[str, Any, Any]]:
    """Yield each curve of a part: its name, and its points along and up."""
    columns = points["columns"]
    its = columns["figure"] == part
    for name in dict.fromkeys(columns["what"][its].tolist()):
        own = its & (columns["what"] == name)
        yield name, columns["of"][own].astype(float), columns["value"][own].astype(float)


def draw_money(points: Points, drawing: "Drawing") -> None:
    """Draw figure 8: three costs of each rule and environment."""
    panels = drawing.subplots(len(ENVIRONMENTS), 1, sharex=True)
    for axes, environment in zip(panels, ENVIRONMENTS, strict=True):
        mine = [row for row in points["rows"] if row[0] == environment]
        kinds = ("reserved", "invoked", "with cold and keep-alive")
        for number, (kind, colour) in enumerate(zip(kinds, (pictures.GREYS[2], *_MONEY), strict=True)):
            places = np.arange(len(mine)) + (number - 1) * 0.27
            axes.barh(places, [row[3 + number] for row in mine], 0.27, label=kind, color=colour)
        axes.set_yticks(range(len(mine)), [row[1] for row in mine], fontsize=8)
        axes.set(title=environment)
    panels[-1].set_xlabel("$ of learners and actors")
    pictures.add_legend(drawing, panels[0])


def _time_rules(learners: int, rounds: int, seeds: int, scale: Scale) -> Iterator[tuple[str, list[Timed]]]:
    for rule in make_rules(learners, rounds, scale):
        if rule.name in SHARED:
            over = [time_shared(seed, rounds, scale, learners, rule.parts) for seed in range(seeds)]
            yield SHARED[rule.name], over
        if rule.name in (*SHARED, STELLARIS):
            yield rule.name, [time_rule(rule, seed, rounds, scale) for seed in range(seeds)]


def _collect_lags(rule: Rule, rounds: int, seeds: int) -> list[int]:
    return [lag for seed in range(seeds) for lag in time_rule(rule, seed, rounds, Scale()).lags]


def _compare_moves(moves: "Mapping[str, Sequence[RuleRun]]") -> tuple[FigureTable, dict[str, str]]:
    """Compare how far policies move: figure 3c's table, and the verdicts on its statements."""
    means = {name: np.array([np.mean(run.moved) for run in runs]) for name, runs in moves.items()}
    still, rows, verdicts = means["synchronous"], [], {}
    for name, each in means.items():
        away = estimate_mean(1e3 * (each - still[: len(each)]))
        rows.append(
            [name, str(estimate_mean(1e3 * each)), "" if name == "synchronous" else f"{away} ({away.word})"]
        )
        if name.startswith("async"):
            statement = f"{name}: policies move further in a round than synchronous ones, by {away} · 10⁻³"
            verdicts[statement] = away.verdict
    title = "(c) KL of each round's policy from the one before, in 10⁻³"
    return FigureTable(title, ("", "KL", "minus synchronous"), rows), verdicts


def _learner_steps() -> list[tuple[int, int]]:
    return list(pairwise(LEARNERS))


def _round_value(value: Any) -> float:
    return float(f"{value:.4g}")
