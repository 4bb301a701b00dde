"""``olafctl p4``: P4_16 programs for v1model, compiled and run without any other P4 tool."""

import click

from olafctl.cli.main import VerbGroup


@click.group(cls=VerbGroup, package="olafctl.cli.p4", added="olaf.verbs.p4")
def command() -> None:
    """Compile and run P4_16 programs."""
