"""ARTOS' tables and figures (ARTOS §3, §7): in its cost model, over links, and for real.

What needs ZeroMQ or torch is imported when it is run.
"""

from collections.abc import Iterable, Iterator
from functools import partial
from typing import TYPE_CHECKING, Any

from olaflab.papers.artos import atari, figure12, figure16, readings, sleeping, table3, tables, transfer, two
from olaflab.papers.curves import drawn
from olaflab.papers.figure import Cost, Effort, Figure, Points, Row, measured, with_interval
from olaflab.papers.summary import trained

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Drawing

BLOCKS = (1, 4, 16)
"""Over a link at a time."""
_TURNS, _REPEATS, _ACTORS, _SEEDS = 6, 30, 8, 5
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
    yield measured("model", "Tables 5 and 6, figures 4, 6, 14 and 15 in the cost model",
                   lambda effort: tables.lines(), _LINES, cost=Cost.MODEL)  # fmt: skip
    yield measured("readings", "What is held, by how the rule to wake actors is read",
                   lambda effort: readings.lines(tables.T6, tables.NOISE, tables.SEEDS), {
        "rule": "{reading}", "table 6, 200: cores": "{long:.1f} %", "40: cores": "{short:.1f} %",
        "figure 14: cores": "{fixed:.1f} %", "table 6, 200: s": "{long_seconds:.0f}",
        "40: s": "{short_seconds:.0f}", "figure 15b": "{on_time:.1f} %",
    }, cost=Cost.MODEL)  # fmt: skip
    yield measured("fig13", "Figure 13: two trainings on the same cores", _two, {
        "": "{where}", "alone, s": "{alone:.2f}", "longer with another, %": with_interval("longer", 2),
        "cores held: one": "{one:.1%}", "two": "{two:.1%}",
    })  # fmt: skip
    yield measured("fig16", "Figure 16: four more actors after every five updates", _growing, {
        "actors": "{actors}", "Ray, s (new actors)": partial(_parts, "ray"),
        "ARTOS, s (waiting for actors)": partial(_parts, "artos"),
    }, figure16.draw, only="actors", size=(7, 6))  # fmt: skip
    yield measured("table3", "Table 3 as configuration: a pole on a cart",
                   lambda effort: table3.trainings(effort.number(_SEEDS)), {
        "training": "{name}", "rows of table 3": lambda row: ", ".join(row["rows"]), "updates": "{updates}",
        "first 20 episodes": with_interval("first", 0), "last 20": with_interval("last", 0),
    }, cost=Cost.TRAINING)  # fmt: skip
    yield measured("transfer", "A block of 14.45 MB between two processes",
                   lambda effort: transfer.measure(effort.number(_REPEATS)), {
        "way": "{way}", "CPU ms": lambda row: f"{1e3 * row['cpu']:.2f}",
        "wall ms": lambda row: f"{1e3 * row['wall']:.2f}",
    })  # fmt: skip
    yield measured("fig15a", "Figures 4, 6 and 15a: blocks over links of 130 MB/s", _link, {
        "blocks": "{blocks}", "way": lambda row: row["way"] + ", learning beside" * row["beside"],
        "s": "{seconds:.3f}", "times Ray's": with_interval("to_ray", 3),
    }, _drawn_link, only="way", size=(7, 3.6))  # fmt: skip
    yield measured("stages", "Rewards and values first, over a link of 130 MB/s", _stages, {
        "T_pre/T_rest": "{share:g}", "advantages begin before, s": with_interval("early", 3),
        "to learnt, s": with_interval("seconds", 3), "formula, s": "{formula:.3f}",
        "of it": with_interval("ratio", 3),
    })  # fmt: skip
    yield measured("asleep", "What another process gets of the actors' core while they sleep",
                   lambda effort: [sleeping.measure(_ACTORS, 0.5)], {
        "alone": "{alone:.3f}", "actors asleep": "{asleep:.3f}", "actors awake": "{awake:.3f}",
    })  # fmt: skip
    yield measured("binding", "What a learner gets of a core beside playing actors",
                   lambda effort: [sleeping.bind(each, effort.number(_TURNS)) for each in (2, 4, 8)], {
        "actors": "{actors}", "free": with_interval("free", 3), "bound": with_interval("bound", 3),
        "gained": with_interval("gained", 3),
    })  # fmt: skip
    yield measured("atari", "Pong and Breakout on one processor: 512 steps and learning from them",
                   lambda effort: [atari.measure(game, effort.number(_SEEDS)) for game in atari.GAMES], {
        "game": "{game}", "random actions, s": "{emulated:.2f}", "the network's, s": "{played:.2f}",
        "paper, s": "{paper:.2f}", "learning, s": "{learnt:.2f}",
    })  # fmt: skip
    yield trained("fig12", "Figure 12 in small: PPO on Breakout", figure12.train,
                  drawn("PPO on Breakout", unit="update"))  # fmt: skip
    yield measured("beside", "Learning beside playing, as many updates", _beside, {
        "": "{algorithm}", "playing/learning": "{ratio:g}", "time saved": "{saved:.1%}",
        "1 - max/sum": "{bound:.1%}", "return apart": "{apart:.1f}", "beside": "{beside:.1f}",
        "difference": with_interval("difference"), "lag": "{lag}",
    }, cost=Cost.TRAINING)  # fmt: skip


def _two(effort: Effort) -> Iterator[Any]:
    yield from two.modelled(tables.T6)
    yield two.measured(effort.number(_TURNS))


def _growing(effort: Effort) -> Iterator[Any]:
    yield from figure16.updates(tables.T6)
    yield figure16.measured(effort.number(_TURNS))


def _link(effort: Effort) -> Iterator[Any]:
    from olaflab.papers.artos import figure15, over_link

    carried = list(over_link.transfers(effort.number(_TURNS), BLOCKS, effort.progress))
    yield from carried
    yield from figure15.lines(carried)


def _stages(effort: Effort) -> Iterable[Any]:
    from olaflab.papers.artos import over_link

    return over_link.stages(effort.number(_TURNS), effort.progress)


def _beside(effort: Effort) -> Iterator[Any]:
    from olaflab.papers.artos import compare

    for name in compare.ALGORITHMS:
        yield from compare.compare(name, effort.seeds, effort.folder, effort.progress)


def _drawn_link(points: Points, drawing: "Drawing") -> None:
    from olaflab.papers.artos import figure15

    figure15.draw(points, drawing)


def _parts(who: str, row: Row) -> str:
    return f"{sum(row[who].values()):.2f} ({row[who]['start']:.2f})"
