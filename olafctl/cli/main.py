"""The ``olafctl`` command: its verbs, and those of other distributions."""

from collections.abc import Mapping
from importlib.metadata import entry_points

import click

from olafctl import __version__
from olafswitch import log
from olafswitch.console.command_line import log_options, run_command, show_usage_error
from olafswitch.console.group import VerbGroup
from olafswitch.errors import MissingTool, Problem

_GROUP = "olaf.verbs"
"""Entry points of other distributions: a section of the help, and its package of verbs."""
_LABORATORY = ("demo",)
"""The laboratory's verbs that are named here, to say what to install."""
_OTHERS_WORDS = {
    **dict.fromkeys(("apply", "run", "start", "up"), "deploy"),
    **dict.fromkeys(("check", "diff", "plan", "validate"), "deploy --dry-run"),
    **dict.fromkeys(("delete", "down", "remove", "stop"), "destroy"),
    **dict.fromkeys(("list", "ls", "ps", "show"), "status"),
}
"""Other tools' names of our verbs: only an error names them, as each verb has one word here."""


class Verbs(VerbGroup):
    """The product's verbs, then those that other distributions add."""

    not_verbs = frozenset({"asking", "main", "names", "naming", "numbers", "secret"})

    def sections(self) -> Mapping[str, str]:
        added = {each.name.capitalize(): each.value for each in entry_points(group=_GROUP)}
        return {**super().sections(), **added}

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        found = super().get_command(ctx, cmd_name)
        if found is None and cmd_name in _LABORATORY:
            what = f"{cmd_name} is a verb of the laboratory, which is not installed"
            raise MissingTool(Problem(what, remedy="pip install ./lab in a checkout"))
        return found

    def nearest(self, word: str, ctx: click.Context) -> str | None:
        return _OTHERS_WORDS.get(word) or super().nearest(word, ctx)


@click.group(
    cls=Verbs, package="olafctl.cli", context_settings={"help_option_names": ["-h", "--help"]},
)  # fmt: skip
@click.version_option(__version__)
@log_options
def olafctl(log_level: str | None, log_json: bool | None) -> None:
    """Build, deploy, test and operate Olaf pipelines from one YAML testbed."""
    log.configure(log_level, log_json)


def main() -> None:
    """Run the command line; an ``OlafError`` becomes one line per problem and its exit code."""
    run_command(olafctl, _show_usage_error)


def _show_usage_error(error: click.ClickException) -> None:
    context = error.ctx if isinstance(error, click.UsageError) else None
    named = context and any(option.name == "deployment" for option in context.command.params)
    if named and "unexpected extra argument" in error.message:
        error = click.UsageError(f"{error.message} A deployment is named with --deployment NAME.", context)
    show_usage_error(error)
