"""The ``olafctl`` command: finds a verb's file when it is asked for, and turns errors into lines."""

import errno
import importlib
import io
import os
import pkgutil
import signal
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from difflib import get_close_matches
from importlib.metadata import entry_points
from types import FrameType
from typing import Any, NoReturn

import click

from olafctl import __version__, log, paths
from olafctl.cli import output
from olafctl.cli.output import print_error, wants_json
from olafctl.errors import EXIT_FAILED, BadInput, MissingTool, OlafError, Problem

_NOT_VERBS = ("asking", "main", "names", "numbers", "output", "secret")
_ELSEWHERE = {
    ("olaf.verbs", "laboratory", "lab"): (
        "bench", "demo", "gain", "generate", "record", "replay", "reproduce", "simulate",
        "site", "train",
    ),
    ("olaf.verbs.p4", "stand-ins", "drop-in"): ("drop-in",),
}  # fmt: skip
"""Verbs that other distributions add, by group of entry points, owner and folder, to say what to install."""
_OTHERS_WORDS = {
    **dict.fromkeys(("apply", "run", "start", "up"), "deploy"),
    **dict.fromkeys(("check", "diff", "plan", "validate"), "deploy --dry-run"),
    **dict.fromkeys(("delete", "down", "remove", "stop"), "destroy"),
    **dict.fromkeys(("list", "ls", "ps", "show"), "status"),
}
"""What other tools call our verbs. There is one word for each here; these are only told it."""
_TERMINATION_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class VerbGroup(click.Group):
    """A group whose sub-commands are the modules of a package, each imported only when named.

    A module ``init.py`` holding ``command`` is the verb ``init``, ``drop_in`` the verb ``drop-in``; there is
    nothing to register. With ``added``, other distributions add packages of verbs: an entry point of that
    group names a section of the help and its package.
    """

    def __init__(self, *args: Any, package: str, added: str = "", **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._package = package
        self._group = added

    def _sections(self) -> Mapping[str, str]:
        """Packages by the title of their section; what the product brings is first."""
        added = {name.capitalize(): package for name, package in _added(self._group).items()}
        return {"Commands": self._package, **added}

    def list_commands(self, ctx: click.Context) -> list[str]:
        return [name for package in self._sections().values() for name in _modules(package)]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        for package in self._sections().values():
            if cmd_name in _modules(package):
                return _command(package, cmd_name)
        for (group, whose, folder), names in _ELSEWHERE.items():
            if group == self._group and cmd_name in names:
                what = f"{cmd_name} is a verb of the {whose}, which is not installed"
                raise MissingTool(Problem(what, remedy=f"pip install ./{folder} in a checkout"))
        return None

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        try:
            return super().resolve_command(ctx, args)
        except click.UsageError as error:
            near = (
                [_OTHERS_WORDS[args[0]]] if self._group == "olaf.verbs" and args[0] in _OTHERS_WORDS else []
            )
            near = near or get_close_matches(args[0], self.list_commands(ctx), n=1)
            raise click.UsageError(
                f"{error.message} {f'Did you mean {near[0]}?' if near else ''}".strip(), ctx
            ) from None

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        for title, package in self._sections().items():
            names = _modules(package)
            limit = formatter.width - 6 - max(map(len, names))
            with formatter.section(title):
                formatter.write_dl(
                    [(name, _command(package, name).get_short_help_str(limit)) for name in names]
                )


def _added(group: str) -> Mapping[str, str]:
    """Packages of verbs by the name of their section."""
    return {each.name: each.value for each in entry_points(group=group)} if group else {}


def _modules(package: str) -> list[str]:
    names = (module.name for module in pkgutil.iter_modules(importlib.import_module(package).__path__))
    return [name.replace("_", "-") for name in names if name not in _NOT_VERBS]


def _command(package: str, name: str) -> click.Command:
    command = importlib.import_module(f"{package}.{name.replace('-', '_')}").command
    assert isinstance(command, click.Command)
    return command


@click.group(
    cls=VerbGroup,
    package="olafctl.cli",
    added="olaf.verbs",
    context_settings={"help_option_names": ["-h", "--help"]},
)
@click.version_option(__version__)
@click.option(
    "--log-level", type=click.Choice(log.LEVELS), help="Log from this level on.  [default: warning]"
)
@click.option("--log-json", is_flag=True, default=None, help="Log JSON lines.")
def olafctl(log_level: str | None, log_json: bool | None) -> None:
    """Build, deploy, test and measure Olaf pipelines from one YAML testbed."""
    log.configure(log_level, log_json)


def _interrupt(number: int, frame: FrameType | None) -> NoReturn:
    """A CI system's SIGTERM and a closed terminal's SIGHUP let a verb clean up, as Ctrl-C does."""
    for each in _TERMINATION_SIGNALS:
        # They often come together, and people press Ctrl-C twice: the second must not stop the clean-up.
        # A handler, unlike SIG_IGN, is not inherited by the programs that the clean-up starts.
        signal.signal(each, lambda number, frame: None)
    raise KeyboardInterrupt


def main() -> None:
    """Run the command line; an :class:`OlafError` becomes one line per problem and its exit code."""
    run(olafctl, _show_usage_error)


def run(
    command: click.Command, show: Callable[[click.ClickException], None], words: Sequence[str] | None = None
) -> NoReturn:
    """Run ``command`` with ``words``, by default this process's, and exit; ``show`` prints wrong usage."""
    output.begin()
    if isinstance(sys.stdout, io.TextIOWrapper):  # None when closed
        # What a terminal's encoding cannot show, or a file name that is not text, is no reason to fail.
        sys.stdout.reconfigure(errors="backslashreplace")
    for each in _TERMINATION_SIGNALS:
        if signal.getsignal(each) is not signal.SIG_IGN:  # nohup ignores SIGHUP, and so do we then
            signal.signal(each, _interrupt)
    try:
        code = command.main(words, command.name, standalone_mode=False)
        sys.exit(code if isinstance(code, int) else 0)
    except click.ClickException as error:
        with suppress(OSError):
            show(error)
        sys.exit(error.exit_code)
    except (click.Abort, KeyboardInterrupt):
        with suppress(OSError):
            click.echo("interrupted", err=True)
        sys.exit(130)
    except OlafError as error:
        if os.environ.get("OLAF_DEBUG"):
            raise
        with suppress(OSError):
            print_error(error)
        sys.exit(error.exit_code)
    except BrokenPipeError:
        sys.exit(EXIT_FAILED)
    except OSError as error:
        if os.environ.get("OLAF_DEBUG"):
            raise
        with suppress(OSError):
            print_error(OlafError(_refused(error)))
        sys.exit(EXIT_FAILED)
    finally:
        _discard_unwritten()


def _refused(error: OSError) -> Problem:
    """What the system says, and where to make room: a write that finds none does not say in which file."""
    full = error.errno in (errno.ENOSPC, errno.EDQUOT)
    remedy = f"make room for {paths.state()} and {paths.cache()}" if full else ""
    return Problem(str(error.strerror or error), str(error.filename or ""), remedy)


def _show_usage_error(error: click.ClickException) -> None:
    if not wants_json():
        error.show()
        return
    wrong = BadInput(Problem(error.format_message(), remedy="see --help"))
    wrong.exit_code = error.exit_code
    print_error(wrong)


def _discard_unwritten() -> None:
    """Output that cannot be written: at exit Python would try again, and exit with a code of its own."""
    for stream in (sys.stdout, sys.stderr):
        try:
            if stream is not None:
                stream.flush()
        except OSError:
            nowhere = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nowhere, stream.fileno())
            os.close(nowhere)
