"""The ``olaflab`` command: the laboratory's verbs, one file a verb."""

import click

from olafctl import __version__
from olafswitch import log
from olafswitch.console.command_line import log_options, run_command, show_usage_error
from olafswitch.console.group import VerbGroup


@click.group(
    cls=VerbGroup,
    package="olaflab.cli",
    context_settings={"help_option_names": ["-h", "--help"]},
)
@click.version_option(__version__)
@log_options
def olaflab(log_level: str | None, log_json: bool | None) -> None:
    """Measure, model, train, prove, and reproduce papers."""
    log.configure(log_level, log_json)


def main() -> None:
    """Run the command line; an OlafError becomes one line per problem and its exit code."""
    run_command(olaflab, show_usage_error)
