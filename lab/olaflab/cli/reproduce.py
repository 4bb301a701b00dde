"""``olaflab reproduce``: make the tables and figures of a paper again and show them beside the paper's."""

import time
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import click

from olafctl import paths
from olaflab.papers import shelf
from olaflab.verb import FOLDER, argument, option, verb
from olafswitch.console.output import log_progress, print_json, print_table
from olafswitch.errors import BadInput, OlafError, Problem, importing

if TYPE_CHECKING:
    from olaflab.papers.figure import Figure, Points, Section

_NEEDS = "pip install './sdk[remote]' './lab[train,atari]'"


class Unmeasured(OlafError):
    """A figure has no committed points: a measurement of a machine, or a training that was not kept."""

    exit_code = 4


@verb("Print every table and verdict as JSON.")
def command(
    as_json: bool,
    paper: str = argument(type=click.Choice(shelf.NAMES)),
    names: tuple[str, ...] = argument((), metavar="[FIGURE]..."),
    trainings: bool = option(
        False, "Run of trainings and of measurements of this machine, which takes hours; else committed"
        " points.",
    ),
    seeds: int | None = option(None, "Number of seeds.  [default: the figure's own]", least=1),
    length: float | None = option(
        None, "Length of MARL's trainings and ARTOS' fig12, as a share of the whole.  [default: the figure's"
        " own]", least=0, most=1, above=True,
    ),
    check: bool = option(False, "Comparison with the committed figures; nothing is written."),
    output: Path | None = option(
        None, "Folder of points, tables and pictures.  [default: docs/papers of the checkout]",
        "-o", "--output", type=FOLDER,
    ),
    runs: Path = option(
        Path("figures"), "Folder of finished trainings, from which an interrupted command continues.",
        type=FOLDER,
    ),
) -> None:  # fmt: skip
    """Make the tables and figures of PAPER again.

    All are made if no FIGURE is named. Figures of the event-level model are run. Trainings and measurements
    are run with --trainings; without it, their committed points are drawn and summed up again. The terminal
    shows each comparison with the paper; PAPER.json beside the points has the sweeps, too. Trainings need the
    SDK and the extra [train].

    With --check every title, statement, verdict and digit must be the committed one; where --seeds, --length
    or --trainings draw other numbers, these must agree within their intervals. Where a figure has no
    committed points, as measurements of a machine may have none, nothing is compared: the exit code is 4.

    \b
      olaflab reproduce olaf table2
      olaflab reproduce olaf --check
      olaflab reproduce stellaris fig11 --trainings --seeds 10
    """
    from olaflab.papers.figure import Effort, FigureCost
    from olaflab.papers.store import Committed, find_points

    with importing("the figures", _NEEDS):
        committed = Committed(_committed_folder(output), paper)
        known = shelf.load_figures(paper)
        if unknown := [name for name in names if name not in known]:
            remedy = f"take one of {', '.join(known)}"
            raise BadInput(Problem(f"{unknown[0]} is not a figure of {paper}", remedy=remedy))
        kept = committed.load_points()
        found: dict[Figure, Points] = {}
        without: list[Figure] = []
        for one in (each for name, each in known.items() if not names or name in names):
            began = time.monotonic()
            effort = Effort(partial(_log_step, one.name), seeds, length, runs, kept)
            its = find_points(one, effort, trainings)
            if its is None:
                without.append(one)
                continue
            found[one] = its
            log_progress(f"{one.name}: done in {time.monotonic() - began:.0f} s")
        sections = {one: one.section(its) for one, its in found.items()}
        written = list(committed.write_figures(found, known)) if found and not check else []
    if as_json:
        _print_json(sections)
    else:
        for one, section in sections.items():
            _show_section(one, section)
        if written:
            click.echo(f"\n{written[0]} and {len(written) - 1} files beside it")
    if check:
        drawn = {
            one for one in sections if effort.is_reduced or (trainings and one.cost is not FigureCost.MODEL)
        }
        _check_sections(sections, committed.load_sections(), set(known), drawn)
    if without:
        _report_unmeasured(without, requested=bool(names) or check)


def _committed_folder(output: Path | None) -> Path:
    """Return the folder of what is committed. Raises BadInput outside a checkout: no wheel holds it."""
    folder = output or paths.sources() / "docs" / "papers"
    if output is None and not folder.is_dir():
        what = "the committed points and summaries are not installed"
        raise BadInput(Problem(what, str(folder), "run it in a checkout, or name a folder of them with -o"))
    return folder


def _log_step(name: str, step: str) -> None:
    log_progress(f"{name}: {step}")


def _print_json(sections: "dict[Figure, Section]") -> None:
    from olaflab.papers import store

    print_json({one.name: store.as_json(section) for one, section in sections.items()})


def _show_section(one: "Figure", section: "Section") -> None:
    click.echo(f"\n{one.title}")
    first = section.first_table
    if first is not None:
        print_table(first.title, first.heads, first.rows)
    for statement, verdict in section.verdicts.items():
        click.echo(f"{verdict}: {statement}")


def _check_sections(
    sections: "dict[Figure, Section]", committed: "dict[str, Section]", known: set[str], drawn: "set[Figure]"
) -> None:
    """Raise OlafError with every difference."""
    from olaflab.papers.check import find_differences

    remedy = "run it without --check to accept it"
    problems = [
        Problem("is committed, and no figure of this name exists", name, "remove it")
        for name in committed.keys() - known
    ]
    for one, section in sections.items():
        if one.name not in committed:
            problems.append(Problem("no committed section to compare it with", one.name, remedy))
            continue
        found = find_differences(committed[one.name], section, drawn=one in drawn)
        problems += [Problem(difference, one.name, remedy) for difference in found]
    if problems:
        raise OlafError(*problems)
    if sections:
        click.echo(f"\n{len(sections)} figures agree with the committed ones", err=True)


def _report_unmeasured(figures: "list[Figure]", *, requested: bool) -> None:
    """Name the figures without committed points. Raises Unmeasured where they were requested or checked."""
    kinds = {"machine": "a measurement of a machine", "training": "a training"}
    if requested:
        raise Unmeasured(
            *(
                Problem(
                    f"is {kinds[one.cost]}, without committed points", one.name, "run it with --trainings"
                )
                for one in figures
            )
        )
    names = ", ".join(one.name for one in figures)
    click.echo(f"without committed points, made with --trainings: {names}", err=True)
