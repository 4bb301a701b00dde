"""``olafctl bench artos``: ARTOS' experiments, in its cost model and for real."""

from dataclasses import asdict
from pathlib import Path
from typing import Any

import click

from olafctl.cli.output import json_option, log_progress, print_json, table

_PARTS = ("model", "readings", "transfer", "asleep", "beside")


@click.command()
@click.argument("parts", nargs=-1, type=click.Choice(_PARTS))
@click.option("--repeats", type=click.IntRange(3), default=30, show_default=True, help="Of each transfer.")
@click.option("--actors", type=click.IntRange(1), default=8, show_default=True, help="That sleep.")
@click.option("--seeds", type=click.IntRange(1), default=5, show_default=True,
              help="Of each training beside; a minute or two each.")  # fmt: skip
@click.option("--slower", type=click.FloatRange(0.1, 10), default=1.1, show_default=True,
              help="In the cost model: ARTOS' raw transfers against Ray's.")  # fmt: skip
@click.option("--out", type=click.Path(file_okay=False, path_type=Path), default=Path("figures"),
              show_default=True, help="Folder that keeps, in runs/, every training beside.")  # fmt: skip
@json_option("Print JSON; seconds, shares and the paper's figures beside ours.")
def command(
    parts: tuple[str, ...],
    repeats: int,
    actors: int,
    seeds: int,
    slower: float,
    out: Path,
    as_json: bool,
) -> None:
    """Make ARTOS' experiments; all PARTS if none is named.

    model: tables 5 and 6, figures 4, 6, 14 and 15 in one cost model. readings: what it holds, by how the rule
    to wake actors early is read. transfer: a block of 14.45 MB from one
    process to another. asleep: what another process gets of the actors' core while they sleep. beside:
    discrete SAC on CartPole and PPO on LunarLander, learning while it is played against one after the other,
    in stated time (table 4's claim); a training that --out holds is not made again. Needs the SDK and, for
    transfer, pyzmq; for beside, the extra [train].
    """
    from olafctl.errors import MissingTool, Problem

    chosen = [part for part in _PARTS if part in parts or not parts]
    found: dict[str, list[dict[str, Any]]] = {}
    try:
        for part in chosen:
            log_progress(f"artos {part}")
            found[part] = _made(part, repeats, actors, seeds, slower, out)
    except ImportError as error:
        what = f"{part} needs {error.name}"
        remedy = "pip install './sdk[remote]' './lab[train]'"
        raise MissingTool(Problem(what, remedy=remedy)) from error
    if as_json:
        print_json(found)
        return
    for part, rows in found.items():
        _show(part, rows)


def _made(part: str, repeats: int, actors: int, seeds: int, slower: float, out: Path) -> list[dict[str, Any]]:
    if part == "model":
        from olaflab.artos.model import Costs
        from olaflab.artos.tables import lines

        return [asdict(each) for each in lines(Costs(slower=slower))]
    if part == "readings":
        from olaflab.artos.model import Costs
        from olaflab.artos.readings import lines as readings
        from olaflab.artos.tables import NOISE, SEEDS

        return [asdict(each) for each in readings(Costs(slower=slower), NOISE, SEEDS)]
    if part == "transfer":
        from olaflab.artos.transfer import measure

        return [asdict(each) for each in measure(repeats)]
    if part == "asleep":
        from olaflab.artos.sleeping import measure as asleep

        share = asleep(actors, 0.5)
        return [{**asdict(share), "kept": share.kept}]
    from olaflab.artos.compare import ALGORITHMS, compare

    return [asdict(each) for name in ALGORITHMS for each in compare(name, seeds, out, log_progress)]


def _show(part: str, rows: list[dict[str, Any]]) -> None:
    lines: list[tuple[Any, ...]]
    if part == "model":
        heads = ["ARTOS", "what", "unit", "paper", "here"]
        lines = [(r["where"], r["what"], r["unit"], f"{r['paper']:.2f}", f"{r['here']:.2f}") for r in rows]
        table("The cost model", heads, lines)
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
    elif part == "asleep":
        (r,) = rows
        heads = ["nobody else", "actors asleep", "of that", "actors awake", "states while the learner learns"]
        states = ", ".join(f"{r['states'].count(state)} {state}" for state in sorted(set(r["states"])))
        line = (f"{r['alone']:.3f}", f"{r['asleep']:.3f}", f"{r['kept']:.1%}", f"{r['awake']:.3f}", states)
        table("What another process gets of the actors' core", heads, [line])
    else:
        lines = [
            (r["algorithm"], f"{r['ratio']:g}", f"{r['saved']:.1%}", f"{r['bound']:.1%}", f"{r['apart']:.1f}",
             f"{r['beside']:.1f}", "{mean:.1f} ± {interval:.1f}".format(**r["difference"]), r["lag"])
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
