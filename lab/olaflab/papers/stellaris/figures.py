"""Stellaris' figures (Stellaris §II, §VIII), and rules against staleness behind a slow output.

What needs torch is imported when it is run: a picture is drawn again without it.
"""

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from olaflab.papers.figure import Cost, Effort, Figure, Points, Section
from olaflab.papers.stellaris import comparison, outputs, shares, virtual
from olaflab.papers.stellaris.parts import Bench
from olaflab.papers.stellaris.rules import ROUNDS
from olaflab.papers.summary import Summary, trained, unpack

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
    yield _one("fig2", "Figure 2: asynchrony and serverless, each switched off", HOPPER, 10,
               virtual.draw_switches, Cost.MODEL)  # fmt: skip
    yield _one("fig3", "Figure 3: learning time, staleness, how far policies move", HOPPER, 5,
               virtual.draw_staleness, rounds=FEW)  # fmt: skip
    yield _one("fig6", f"Figure 6: Stellaris and PPO, {WALKER}", WALKER, 5,
               comparison.draw)  # fmt: skip
    yield _one("fig6-humanoid", f"Figure 6: Stellaris and PPO, {HUMANOID}", HUMANOID, 5,
               comparison.draw, rounds=FEW)  # fmt: skip
    yield _one("fig7", f"Figure 7: Stellaris and IMPACT, {HOPPER}", HOPPER, 5,
               comparison.draw, rounds=FEW)  # fmt: skip
    yield _one("fig8", "Figure 8: three costs", HOPPER, 10, virtual.draw_money, Cost.MODEL)
    yield _one("fig11", f"Figure 11: rules against staleness, {HOPPER}", HOPPER, 5, comparison.draw,
               section=comparison.corrected)  # fmt: skip
    yield _one("fig13", "Figure 13: d, v and ρ", HOPPER, 5, comparison.draw_settings,
               section=comparison.corrected)  # fmt: skip
    yield _one("fig14", "Figure 14: what a round's time goes to", HOPPER, 1,
               shares.draw,
               Cost.MACHINE)  # fmt: skip
    yield trained("outputs", "Learners that share a slow output", _outputs, outputs.draw, size=(6.4, 8))


def _one(
    name: str, title: str, environment: str, seeds: int,
    draw: "Callable[[Points, Drawing], None]", cost: Cost = Cost.TRAINING,
    rounds: int = ROUNDS, section: Callable[[Points], Section] = unpack,
) -> Figure:  # fmt: skip
    def make(effort: Effort) -> Summary:
        bench = Bench(environment, LEARNERS, rounds, effort.number(seeds), effort.folder, effort.progress)
        return bench.figure(name)

    size = _SIZES.get(name, (7, 7.5))
    return trained(name, title, make, draw, cost, size=size, section=section)


def _outputs(effort: Effort) -> Summary:
    more = MORE if effort.seeds is None else effort.seeds
    return outputs.figure(BESIDE, 8, SECONDS, effort.number(5), more, effort.folder, effort.progress)
