"""``olafctl agent``: P4Runtime agents of hardware, one file each."""

import click

from olafswitch.console.group import VerbGroup


@click.group(cls=VerbGroup, package="olafctl.cli.agent")
def command() -> None:
    """Serve P4Runtime for hardware in this host."""
