"""``olafctl bench``: measurements are commands, one file each."""

import click

from olafctl.cli.main import VerbGroup


@click.group(cls=VerbGroup, package="olafctl.cli.bench")
def command() -> None:
    """Measure: counts where possible, ratios side by side in one run otherwise."""
