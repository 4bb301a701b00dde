"""The command ``olafswitch``."""

import click

from olafswitch import __version__, log
from olafswitch.console.command_line import run_command, show_usage_error
from olafswitch.console.group import VerbGroup


@click.group(
    cls=VerbGroup, package="olafswitch.cli.verbs", context_settings={"help_option_names": ["-h", "--help"]},
)  # fmt: skip
@click.version_option(__version__)
def olafswitch() -> None:
    """Compile and run P4_16 programs."""


def main() -> None:
    """Run the command line."""
    log.configure()
    run_command(olafswitch, show_usage_error)
