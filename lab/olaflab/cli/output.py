"""What verbs that make figures print."""

from typing import TYPE_CHECKING

import click

from olafctl.cli.output import table

if TYPE_CHECKING:
    from olaflab.training.figures.report import Figure


def show(figure: "Figure") -> None:
    """Its tables, then each statement and whether it holds."""
    table(figure.title, figure.heads, [[str(cell) for cell in row] for row in figure.rows])
    for more in figure.tables:
        table(more.title, more.heads, more.rows)
    click.echo("")
    for statement in figure.holds:
        click.echo(f"{figure.verdict(statement)}: {statement}")
