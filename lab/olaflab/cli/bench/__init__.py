"""``olaflab bench``: measurements are commands, one file each."""

import click

from olafswitch.console.group import VerbGroup


@click.group(cls=VerbGroup, package="olaflab.cli.bench")
def command() -> None:
    """Measure speed, size and learning; compare models; prove.

    Costs are counted where they can be; ratios are of runs side by side.
    """
