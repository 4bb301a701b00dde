"""``olafctl bench artos``: ARTOS' experiments, in its cost model and for real."""

from collections.abc import Iterable
from dataclasses import asdict
from pathlib import Path
from typing import Any

import click

from olafctl.cli.output import json_option, log_progress, print_json, table

_PARTS = ("model", "readings", "two", "growing", "table3", "transfer", "link", "stages", "asleep", "beside")

_LINKS = ("link", "stages")
_BOTH = ("ray", "artos")


@click.command()
@click.argument("parts", nargs=-1, type=click.Choice(_PARTS))
@click.option("--repeats", type=click.IntRange(3), default=30, show_default=True, help="Of each transfer.")
@click.option("--turns", type=click.IntRange(2, 15), default=6, show_default=True,
              help="Of everything over links, and of two trainings.")  # fmt: skip
@click.option("--blocks", type=click.IntRange(1, 16), multiple=True, default=(1, 4, 16), show_default=True,
              help="Over a link at a time; may be given several times.")  # fmt: skip
@click.option("--actors", type=click.IntRange(1), default=8, show_default=True, help="That sleep.")
@click.option("--seeds", type=click.IntRange(1), default=5, show_default=True,
              help="Of each training; a minute or two each of those beside, seconds of others.")  # fmt: skip
@click.option("--slower", type=click.FloatRange(0.1, 10), default=1.1, show_default=True,
              help="In the cost model: ARTOS' raw transfers against Ray's.")  # fmt: skip
@click.option("--out", type=click.Path(file_okay=False, path_type=Path), default=Path("figures"),
              show_default=True, help="Folder that keeps, in runs/, every training beside.")  # fmt: skip
@click.option("--pictures", type=click.Path(file_okay=False, path_type=Path),
              help="Folder for figures 15a (link) and 16 (growing) as PNG and SVG.")  # fmt: skip
@json_option("Print JSON; seconds, shares and the paper's figures beside ours.")
def command(
    parts: tuple[str, ...], repeats: int, turns: int, blocks: tuple[int, ...], actors: int, seeds: int,
    slower: float, out: Path, pictures: Path | None, as_json: bool,
) -> None:  # fmt: skip
    """Make ARTOS' experiments; all PARTS if none is named.

    In one cost model: tables 5 and 6, figures 4, 6, 14 and 15 (model), what is held by how the rule to wake
    actors early is read (readings), figure 13, also for real (two), and 16 (growing). For real: table 3's
    rows as trainings (table3); a block of 14.45 MB from one process to another (transfer); blocks over links
    of 130 MB/s, with Ray, ZeroMQ and Redis (link), and in two stages (stages), both as root; what another
    process gets of the actors' core while they sleep (asleep); discrete SAC on CartPole and PPO on
    LunarLander, learning while it is played against one after the other, in stated time (beside), where a
    training that --out holds is not made again. Needs the SDK; transfer, link and stages also pyzmq; link
    redis-server, and Ray if there is one; beside the extra [train].
    """
    from olafctl.errors import OlafError, Problem, importing

    if pictures is not None:
        try:
            pictures.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise OlafError(Problem(f"no folder for pictures: {error.strerror}", str(pictures))) from error
    chosen = parts or _possible()
    found: dict[str, list[dict[str, Any]]] = {}
    for part in chosen:
        log_progress(f"artos {part}")
        with importing(part, "pip install './sdk[remote]' './lab[train]'"):
            found[part] = [
                asdict(each)
                for each in _made(part, repeats, turns, blocks, actors, seeds, slower, out, pictures)
            ]
    if as_json:
        print_json(found)
        return
    for part, rows in found.items():
        _show(part, rows)


def _possible() -> tuple[str, ...]:
    """All parts, but those that this user may not make."""
    from olafctl.ports import interfaces

    why = interfaces.why_not()
    if why:
        log_progress(f"without {' and '.join(_LINKS)}: {why}")
    return tuple(part for part in _PARTS if not (why and part in _LINKS))


def _made(
    part: str, repeats: int, turns: int, blocks: tuple[int, ...], actors: int, seeds: int, slower: float,
    out: Path, pictures: Path | None,
) -> Iterable[Any]:  # fmt: skip
    from olaflab.artos.model import Costs

    costs = Costs(slower=slower)
    if part == "model":
        from olaflab.artos.tables import lines

        return lines(costs)
    if part == "readings":
        from olaflab.artos.readings import lines as readings
        from olaflab.artos.tables import NOISE, SEEDS

        return readings(costs, NOISE, SEEDS)
    if part == "two":
        from olaflab.artos import two

        return [*two.modelled(costs), two.measured(turns)]
    if part == "growing":
        from olaflab.artos import figure16

        found = figure16.updates(costs)
        if pictures is not None:
            figure16.draw(found, pictures / "artos-growing.png")
        return [*found, figure16.measured(turns)]
    if part == "table3":
        from olaflab.artos import table3

        return table3.trainings(seeds)
    if part == "transfer":
        from olaflab.artos.transfer import measure

        return measure(repeats)
    if part == "link":
        from olaflab.artos import figure15
        from olaflab.artos.over_link import transfers

        carried = list(transfers(turns, blocks, log_progress))
        if pictures is not None:
            figure15.draw(carried, pictures / "artos-link.png")
        return [*carried, *figure15.lines(carried)]
    if part == "stages":
        from olaflab.artos.over_link import stages

        return stages(turns, log_progress)
    if part == "asleep":
        from olaflab.artos.sleeping import measure as asleep

        return [asleep(actors, 0.5)]
    from olaflab.artos.compare import ALGORITHMS, compare

    return (each for name in ALGORITHMS for each in compare(name, seeds, out, log_progress))


def _show(part: str, rows: list[dict[str, Any]]) -> None:
    lines: list[tuple[Any, ...]]
    if part == "model":
        _show_lines("The cost model", rows)
    elif part == "readings":
        heads = ["ARTOS' rule to wake actors", "table 6, 200: cores", "40: cores", "figure 14: cores",
                 "table 6, 200: s", "40: s", "figure 15b"]  # fmt: skip
        lines = [
            (r["reading"], f"{r['long']:.1f} %", f"{r['short']:.1f} %", f"{r['fixed']:.1f} %",
             f"{r['long_seconds']:.0f}", f"{r['short_seconds']:.0f}", f"{r['on_time']:.1f} %")
            for r in rows
        ]  # fmt: skip
        lines.append(("the paper", "-47.1 %", "-54.8 %", "55.1 %", "1053", "208", "92.8 %"))
        table("What is held, by how the rule is read", heads, lines)
    elif part == "transfer":
        one = rows[0]
        lines = [
            (r["way"], f"{1e3 * r['cpu']:.2f}", f"{r['cpu'] / one['cpu']:.1f}", f"{1e3 * r['wall']:.2f}",
             f"{r['wall'] / one['wall']:.1f}")
            for r in rows
        ]  # fmt: skip
        heads = ["way", "CPU ms", "times a copy", "wall ms", "times a copy"]
        table("A block of 14.45 MB between two processes; CPU of both", heads, lines)
    elif part == "link":
        lines = [
            (r["blocks"], r["way"] + (", learning beside" if r["beside"] else ""), f"{r['seconds']:.3f}",
             "" if r["to_ray"] is None else _estimated(r["to_ray"], 3))
            for r in rows if "way" in r
        ]  # fmt: skip
        table("Blocks of 14.45 MB over links of 130 MB/s", ["blocks", "way", "s", "times Ray's"], lines)
        _show_lines("The paper's figures from these", [r for r in rows if "where" in r])
    elif part == "stages":
        lines = [
            (f"{r['share']:g}", _estimated(r["early"], 3), _estimated(r["seconds"], 3), f"{r['formula']:.3f}",
             _estimated(r["ratio"], 3))
            for r in rows
        ]  # fmt: skip
        heads = ["T_pre/T_rest", "advantages begin before, s", "to learnt, s", "formula, s", "of it"]
        table("Rewards and values first, over a link of 130 MB/s", heads, lines)
    elif part == "two":
        lines = [
            (
                r["where"],
                f"{r['alone']:.2f}",
                _estimated(r["longer"], 2),
                f"{r['one']:.1%}",
                f"{r['two']:.1%}",
            )
            for r in rows
        ]
        heads = ["", "alone, s", "longer with another, %", "cores held: one", "two"]
        table("Two trainings on the same cores (ARTOS: 3.38 % longer, always < 10 %)", heads, lines)
    elif part == "growing":
        lines = [
            (number, r["actors"], *(f"{sum(r[who].values()):.2f} ({r[who]['start']:.2f})" for who in _BOTH))
            for number, r in enumerate(rows[:-1], start=1)
        ]
        heads = ["update", "actors", "Ray, s (new actors)", "ARTOS, s (waiting for actors)"]
        table("Four more actors after every five updates (ARTOS figure 16)", heads, lines)
        steps = [[_estimated(rows[-1][how], 3) for how in ("new", "asleep")]]
        heads = ["started for it, s", "asleep before, s"]
        table("For real: by how much an update takes longer in which two actors become four", heads, steps)
    elif part == "table3":
        lines = [
            (r["name"], ", ".join(r["rows"]), r["updates"], _estimated(r["first"], 0),
             _estimated(r["last"], 0))
            for r in rows
        ]  # fmt: skip
        heads = ["training", "rows of table 3", "updates", "first 20 episodes", "last 20"]
        table("Table 3 as configuration: a pole on a cart", heads, lines)
    elif part == "asleep":
        (r,) = rows
        heads = ["nobody else", "actors asleep", "of that", "actors awake", "states while the learner learns"]
        states = ", ".join(f"{r['states'].count(state)} {state}" for state in sorted(set(r["states"])))
        line = (
            f"{r['alone']:.3f}",
            f"{r['asleep']:.3f}",
            f"{r['asleep'] / r['alone']:.1%}",
            f"{r['awake']:.3f}",
            states,
        )
        table("What another process gets of the actors' core", heads, [line])
    else:
        lines = [
            (r["algorithm"], f"{r['ratio']:g}", f"{r['saved']:.1%}", f"{r['bound']:.1%}", f"{r['apart']:.1f}",
             f"{r['beside']:.1f}", _estimated(r["difference"], 1), r["lag"])
            for r in rows
        ]  # fmt: skip
        heads = [
            "",
            "playing/learning",
            "time saved",
            "1 - max/sum",
            "return apart",
            "beside",
            "difference",
            "lag",
        ]
        table("Learning beside playing, as many updates", heads, lines)


def _show_lines(title: str, rows: list[dict[str, Any]]) -> None:
    heads = ["ARTOS", "what", "unit", "paper", "here"]
    lines = [(r["where"], r["what"], r["unit"], f"{r['paper']:.2f}", f"{r['here']:.2f}") for r in rows]
    table(title, heads, lines)


def _estimated(found: dict[str, float], digits: int) -> str:
    return f"{found['mean']:.{digits}f} ± {found['interval']:.{digits}f}"
