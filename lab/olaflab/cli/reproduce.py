"""``olaflab reproduce``: the tables and figures of a paper, made again and shown beside the paper's."""

import time
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import click

from olafctl import paths
from olaflab.papers import shelf
from olafswitch.console.output import json_option, log_progress, print_json, table
from olafswitch.errors import BadInput, OlafError, Problem, importing

if TYPE_CHECKING:
    from olaflab.papers.figure import Figure, Points, Section

_NEEDS = "pip install './sdk[remote]' './lab[train,atari]'"


@click.command()
@click.argument("paper", type=click.Choice(shelf.NAMES))
@click.argument("names", nargs=-1, metavar="[FIGURE]...")
@click.option(
    "--trainings",
    is_flag=True,
    help="Also run what takes hours or measures this machine; without it, committed points are shown.",
)
@click.option("--seeds", type=click.IntRange(1), help="Or repetitions.  [default: the figure's own]")
@click.option(
    "--length",
    type=click.FloatRange(0, 1, min_open=True),
    help="Length of MARL's trainings and ARTOS' fig12, as a share of the whole.  [default: the figure's own]",
)
@click.option(
    "--check", is_flag=True, help="Write nothing; fail where a figure differs from the committed one."
)
@click.option(
    "-o",
    "--output",
    type=click.Path(file_okay=False, path_type=Path),
    help="Folder of points, tables and pictures.  [default: docs/papers of the checkout]",
)
@click.option(
    "--runs",
    type=click.Path(file_okay=False, path_type=Path),
    default=Path("figures"),
    show_default=True,
    help="Folder of finished trainings: an interrupted command goes on.",
)
@json_option("Print every table and verdict as JSON.")
def command(
    paper: str,
    names: tuple[str, ...],
    trainings: bool,
    seeds: int | None,
    length: float | None,
    check: bool,
    output: Path | None,
    runs: Path,
    as_json: bool,
) -> None:
    """Make the tables and figures of PAPER again.

    All are made if no FIGURE is named. What the event-level model gives is run. Trainings and measurements
    are run with --trainings; without it, their committed points are drawn and summed up again. The terminal
    shows each comparison with the paper; PAPER.json beside the points has the sweeps, too. Trainings need the
    SDK and the extra [train].

    \b
      olaflab reproduce olaf table2
      olaflab reproduce olaf --check
      olaflab reproduce stellaris fig11 --trainings --seeds 10
    """
    from olaflab.papers.figure import Effort

    with importing("the figures", _NEEDS):
        known = shelf.figures(paper)
        if unknown := [name for name in names if name not in known]:
            remedy = f"take one of {', '.join(known)}"
            raise BadInput(Problem(f"{unknown[0]} is not a figure of {paper}", remedy=remedy))
        kept = shelf.Kept(output or paths.sources() / "docs" / "papers", paper)
        committed = kept.points()
        found: dict[Figure, Points] = {}
        for one in (each for name, each in known.items() if not names or name in names):
            began = time.monotonic()
            effort = Effort(partial(_log, one.name), seeds, length, runs, committed)
            its = shelf.points(one, effort, trainings)
            if its is None:
                log_progress(f"{one.name}: has no committed points; --trainings makes them")
                continue
            found[one] = its
            log_progress(f"{one.name}: done in {time.monotonic() - began:.0f} s")
        sections = {one: one.section(its) for one, its in found.items()}
        written = [] if check else list(kept.write(found))
    if as_json:
        _print_json(sections)
    else:
        for one, section in sections.items():
            _show(one, section)
        if written:
            click.echo(f"\n{written[0]} and {len(written) - 1} files beside it")
    if check:
        _check(sections, kept.sections())


def _log(name: str, step: str) -> None:
    log_progress(f"{name}: {step}")


def _print_json(sections: "dict[Figure, Section]") -> None:
    from olaflab.papers import archive

    print_json({one.name: archive.as_json(section) for one, section in sections.items()})


def _show(one: "Figure", section: "Section") -> None:
    click.echo(f"\n{one.title}")
    first = section.comparison
    if first is not None:
        table(first.title, first.heads, first.rows)
    for statement, verdict in section.verdicts.items():
        click.echo(f"{verdict}: {statement}")


def _check(sections: "dict[Figure, Section]", committed: "dict[str, Section]") -> None:
    """Raises OlafError with every difference."""
    from olaflab.papers.check import differences

    problems = [
        Problem(difference, one.name, "run it without --check to accept it")
        for one, section in sections.items()
        if one.name in committed
        for difference in differences(committed[one.name], section)
    ]
    if problems:
        raise OlafError(*problems)
    missing = [one.name for one in sections if one.name not in committed]
    click.echo(f"\n{len(sections) - len(missing)} figures agree with the committed ones", err=True)
    if missing:
        click.echo(f"without a committed one: {', '.join(missing)}", err=True)
