"""``olafctl reproduce``: the paper's tables and figures, measured again."""

import time
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import click

from olafctl import paths
from olafctl.cli.output import json_option, log_progress, print_json, table
from olafctl.errors import importing

if TYPE_CHECKING:
    from olaflab.paper.experiment import Data, Experiment

KEPT = paths.sources() / "docs" / "reproduction"
"""Where the project keeps what trainings found."""
_NAMES = ("table1", "table2", "table3", "fig2", "fig3", "fig6", "fig7", "fig8", "fig10", "iswitch", "all")


@click.command()
@click.argument("what", nargs=-1, type=click.Choice(_NAMES))
@click.option(
    "-o",
    "--output",
    type=click.Path(file_okay=False, path_type=Path),
    default=Path("docs") / "reproduction",
    show_default=True,
    help="Folder for PNG, SVG and CSV.",
)
@click.option(
    "--document",
    type=click.Path(dir_okay=False, path_type=Path),
    help="The page to write.  [default: with all, OUTPUT.md]",
)
@click.option(
    "--trainings",
    type=click.Path(file_okay=False, path_type=Path),
    default=Path("figures"),
    show_default=True,
    help="Where `olafctl bench train` left its figures.",
)
@click.option(
    "--html",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Also write all of it as one page, with its pictures in it, to read offline.",
)
@click.option("--runs", type=click.IntRange(1), default=30, show_default=True, help="Of each setup.")
@json_option("Print the figures as JSON.")
def command(
    what: tuple[str, ...],
    output: Path,
    document: Path | None,
    trainings: Path,
    html: Path | None,
    runs: int,
    as_json: bool,
) -> None:
    """Measure the tables and figures of the paper OLAF again.

    All of them if none is named. Each is measured in the event-level model, over what the paper leaves open
    too, and shown next to the paper's figures. What was measured with the same code and the same runs is
    kept, so an interrupted command goes on where it was. Figures 2, 3 and 8 are trainings: `olafctl bench
    train` makes them, and figure 7 through the twin; what is not in --trainings is shown as the project's
    docs/reproduction has it. `iswitch` is the evaluation of the paper iSwitch, whose measured hosts and
    trainings `olafctl bench iswitch` makes.

    \b
      olafctl reproduce table2
      olafctl reproduce iswitch
      olafctl reproduce all                  # also writes docs/reproduction.md
      olafctl reproduce all --html page.html
    """
    with importing("transmission control"):
        from olaflab.paper import catalogue, kept
    from olaflab.paper.document import write, write_html

    everything = not what or "all" in what
    known = catalogue.experiments(trainings, KEPT)
    chosen = [one for name, one in known.items() if everything or name.partition("-")[0] in what]
    measured: dict[Experiment, Data] = {}
    for number, one in enumerate(chosen, 1):
        log_progress(f"{one.title} ({number} of {len(chosen)})")
        began = time.monotonic()
        measured[one] = kept.figures(one, runs, partial(_log, one.name))
        log_progress(f"{one.name}: done in {time.monotonic() - began:.0f} s")
    page = document or (output.with_suffix(".md") if everything else output / f"{'-'.join(what)}.md")
    written = write(measured, page, output)
    if html is not None:
        written = [*written, write_html(page, html)]
    if as_json:
        print_json({one.name: data for one, data in measured.items()})
        return
    for one, data in measured.items():
        section = one.section(data)
        click.echo(f"\n{one.title}")
        for each in section.tables.values():
            table(each.title, each.heads, each.rows)
        if not section.tables:
            click.echo(f"  {section.values['training']}")
    click.echo(f"\n{written[0]} and {len(written) - 1} files in {output}")


def _log(name: str, step: str) -> None:
    log_progress(f"{name}: {step}")
