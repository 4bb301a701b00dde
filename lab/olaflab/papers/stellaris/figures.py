"""Stellaris' figures (Stellaris §II, §VIII), and rules against staleness behind a slow output.

What needs torch is imported when it is run: a picture is drawn again without it.
"""

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from olaflab.papers import trivial
from olaflab.papers.figure import Effort, Figure, FigureCost, Points, Section
from olaflab.papers.stellaris import comparison, outputs, shares, virtual
from olaflab.papers.stellaris.parts import RuleBench
from olaflab.papers.stellaris.rules import ROUNDS
from olaflab.papers.summary import Summary, make_trained, unpack_section

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Drawing

_SIZES = {
    "fig2": (7.0, 3.2),
    "fig3": (6.4, 8.5),
    "fig8": (7.0, 6.5),
    "fig13": (7.0, 4.2),
    "fig14": (7.0, 3.4),
}
LEARNERS, FEW = 8, 10
"""Rounds of 4096 steps and 40 gradients of the figures that are about early learning; others have 50."""
HOPPER, WALKER, HUMANOID = "Hopper-v5", "Walker2d-v5", "Humanoid-v5"
BESIDE, SECONDS, MORE = (4, 8, 16), 6.0, 10
"""Learners behind one output, virtual seconds of a training, and seeds of its comparison."""


def figures() -> Iterator[Figure]:
    """Return all of Stellaris' figures."""
    yield _make_figure("fig2", "Figure 2: asynchrony and serverless, each switched off", HOPPER, 10,
               virtual.draw_switches, FigureCost.MODEL)  # fmt: skip
    yield _make_figure("fig3", "Figure 3: learning time, staleness, how far policies move", HOPPER, 5,
               virtual.draw_staleness, rounds=FEW)  # fmt: skip
    yield _make_figure("fig6", f"Figure 6: Stellaris and PPO, {WALKER}", WALKER, 5,
               comparison.draw_rewards)  # fmt: skip
    yield _make_figure("fig6-humanoid", f"Figure 6: Stellaris and PPO, {HUMANOID}", HUMANOID, 5,
               comparison.draw_rewards, rounds=FEW)  # fmt: skip
    yield _make_figure("fig7", f"Figure 7: Stellaris and IMPACT, {HOPPER}", HOPPER, 5,
               comparison.draw_rewards, rounds=FEW)  # fmt: skip
    yield _make_figure("fig8", "Figure 8: three costs", HOPPER, 10, virtual.draw_money, FigureCost.MODEL)
    yield _make_figure(
        "fig11",
        f"Figure 11: rules against staleness, {HOPPER}",
        HOPPER,
        5,
        comparison.draw_rewards,
        section=comparison.correct_for_number,
    )
    yield _make_figure("fig13", "Figure 13: d, v and ρ", HOPPER, 5, comparison.draw_settings,
               section=comparison.correct_for_number)  # fmt: skip
    yield _make_figure("fig14", "Figure 14: what a round's time goes to", HOPPER, 1,
               shares.draw_shares,
               FigureCost.MACHINE)  # fmt: skip
    yield trivial.make_figure("Hopper", "Walker2d", "Humanoid")
    yield make_trained(
        "outputs", "Learners that share a slow output", _run_outputs, outputs.draw_outputs, size=(6.4, 8)
    )


def _make_figure(
    name: str, title: str, environment: str, seeds: int,
    draw: "Callable[[Points, Drawing], None]", cost: FigureCost = FigureCost.TRAINING,
    rounds: int = ROUNDS, section: Callable[[Points], Section] = unpack_section,
) -> Figure:  # fmt: skip
    def make(effort: Effort) -> Summary:
        bench = RuleBench(
            environment, LEARNERS, rounds, effort.seed_count(seeds), effort.folder, effort.progress
        )
        return bench.figure(name)

    size = _SIZES.get(name, (7, 7.5))
    return make_trained(name, title, make, draw, cost, size=size, section=section)


def _run_outputs(effort: Effort) -> Summary:
    more = MORE if effort.seeds is None else effort.seeds
    return outputs.compare_outputs(
        BESIDE, 8, SECONDS, effort.seed_count(5), more, effort.folder, effort.progress
    )
