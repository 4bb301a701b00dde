"""ARTOS' tables and figures (ARTOS §3, §7): in its cost model, over links, and for real.

What needs ZeroMQ or torch is imported when it is run.
"""

from collections.abc import Iterable, Iterator
from functools import partial
from typing import TYPE_CHECKING, Any

from olaflab.papers import trivial
from olaflab.papers.artos import atari, figure12, figure16, readings, sleeping, table3, tables, two
from olaflab.papers.curves import draw_curves
from olaflab.papers.figure import Effort, Figure, FigureCost, Points, Row, make_measured, with_interval
from olaflab.papers.summary import make_trained

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Drawing

BLOCKS = (1, 4, 16)
"""Over a link at a time."""
_TURNS, _ACTORS, _SEEDS = 6, 8, 5
_LINES = {
    "ARTOS": "{where}",
    "what": "{what}",
    "unit": "{unit}",
    "paper": "{paper:.2f}",
    "here": "{here:.2f}",
    "of the paper": "{basis}",
}


def figures() -> Iterator[Figure]:
    """Return all of ARTOS' figures."""
    yield make_measured("model", "Tables 5 and 6, figures 4, 6, 14 and 15 in the cost model",
                   lambda effort: tables.model_lines(), _LINES, cost=FigureCost.MODEL)  # fmt: skip
    yield make_measured("readings", "What is held, by how the rule to wake actors is read",
                   lambda effort: readings.evaluate_readings(tables.T6, tables.NOISE, tables.SEEDS), {
        "rule": "{reading}", "table 6, 200: cores": "{long:.1f} %", "40: cores": "{short:.1f} %",
        "figure 14: cores": "{fixed:.1f} %", "table 6, 200: s": "{long_seconds:.0f}",
        "40: s": "{short_seconds:.0f}", "figure 15b": "{on_time:.1f} %",
    }, cost=FigureCost.MODEL)  # fmt: skip
    yield make_measured("fig13", "Figure 13: two trainings on the same cores", _run_two_trainings, {
        "": "{where}", "alone, s": "{alone:.2f}", "longer with another, %": with_interval("longer", 2),
        "cores held: one": "{one:.1%}", "two": "{two:.1%}",
    })  # fmt: skip
    yield make_measured(
        "fig16",
        "Figure 16: four more actors after every five updates",
        _run_growing_actors,
        {
            "actors": "{actors}",
            "Ray, s (new actors)": partial(_format_parts, "ray"),
            "ARTOS, s (waiting for actors)": partial(_format_parts, "artos"),
        },
        figure16.draw_updates,
        only="actors",
        size=(7, 6),
    )
    yield make_measured("table3", "Table 3 as configuration: a pole on a cart",
                   lambda effort: table3.run_trainings(effort.seed_count(_SEEDS)), {
        "training": "{name}", "rows of table 3": lambda row: ", ".join(row["rows"]), "updates": "{updates}",
        "first 20 episodes": with_interval("first", 0), "last 20": with_interval("last", 0),
    }, cost=FigureCost.TRAINING)  # fmt: skip
    yield make_measured("fig15a", "Figures 4, 6 and 15a: blocks over links of 130 MB/s", _run_transfers, {
        "blocks": "{blocks}", "way": lambda row: row["way"] + ", learning beside" * row["beside"],
        "s": "{seconds:.3f}", "times Ray's": with_interval("to_ray", 3),
    }, _drawn_link, only="way", size=(7, 3.6))  # fmt: skip
    yield make_measured("stages", "Rewards and values first, over a link of 130 MB/s", _run_stages, {
        "T_pre/T_rest": "{share:g}", "advantages begin before, s": with_interval("early", 3),
        "to learnt, s": with_interval("seconds", 3), "formula, s": "{formula:.3f}",
        "of it": with_interval("ratio", 3),
    })  # fmt: skip
    yield make_measured("asleep", "What another process gets of the actors' core while they sleep",
                   lambda effort: [sleeping.measure_sleep(_ACTORS, 0.5)], {
        "alone": "{alone:.3f}", "actors asleep": "{asleep:.3f}", "actors awake": "{awake:.3f}",
    })  # fmt: skip
    yield make_measured(
        "atari",
        "Pong and Breakout on one processor: 512 steps and learning from them",
        lambda effort: [atari.measure_game(game, effort.seed_count(_SEEDS)) for game in atari.GAMES],
        {
            "game": "{game}",
            "random actions, s": "{emulated:.2f}",
            "the network's, s": "{played:.2f}",
            "paper, s": "{paper:.2f}",
            "learning, s": "{learnt:.2f}",
        },
    )
    yield make_trained("fig12", "Figure 12 in small: PPO on Breakout", figure12.train_breakout,
                  draw_curves("PPO on Breakout", unit="update"))  # fmt: skip
    yield trivial.make_figure("CartPole", "LunarLander", "Breakout")
    yield make_measured("beside", "Learning beside playing, as many updates", _run_overlap, {
        "": "{algorithm}", "playing/learning": "{ratio:g}", "time saved": "{saved:.1%}",
        "1 - max/sum": "{bound:.1%}", "return apart": "{apart:.1f}", "beside": "{beside:.1f}",
        "difference": with_interval("difference"), "lag": "{lag}",
    }, cost=FigureCost.TRAINING)  # fmt: skip


def _run_two_trainings(effort: Effort) -> Iterator[Any]:
    yield from two.model_two(tables.T6)
    yield two.measure_two(effort.seed_count(_TURNS))


def _run_growing_actors(effort: Effort) -> Iterator[Any]:
    yield from figure16.model_updates(tables.T6)
    yield figure16.measure_step_up(effort.seed_count(_TURNS))


def _run_transfers(effort: Effort) -> Iterator[Any]:
    from olaflab.papers.artos import figure15, over_link

    carried = list(over_link.measure_transfers(effort.seed_count(_TURNS), BLOCKS, effort.progress))
    yield from carried
    yield from figure15.compare_transfers(carried)


def _run_stages(effort: Effort) -> Iterable[Any]:
    from olaflab.papers.artos import over_link

    return over_link.measure_stages(effort.seed_count(_TURNS), effort.progress)


def _run_overlap(effort: Effort) -> Iterator[Any]:
    from olaflab.papers.artos import compare

    for name in compare.ALGORITHMS:
        yield from compare.compare_orders(name, effort.seeds, effort.folder, effort.progress)


def _drawn_link(points: Points, drawing: "Drawing") -> None:
    from olaflab.papers.artos import figure15

    figure15.draw_transfers(points, drawing)


def _format_parts(who: str, row: Row) -> str:
    return f"{sum(row[who].values()):.2f} ({row[who]['start']:.2f})"
