"""The ``olafctl`` command: finds a verb's file when it is asked for, and turns errors into lines."""

import importlib
import io
import os
import pkgutil
import signal
import sys
from contextlib import suppress
from types import FrameType
from typing import Any, NoReturn

import click

from olafctl import __version__
from olafctl.errors import EXIT_FAILED, OlafError

_POLITE = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class VerbGroup(click.Group):
    """A group whose sub-commands are the modules of a package, each imported only when named.

    A module ``init.py`` holding ``command`` is the verb ``init``; there is nothing to register.
    """

    def __init__(self, *args: Any, package: str, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._package = package

    def list_commands(self, ctx: click.Context) -> list[str]:
        package = importlib.import_module(self._package)
        return [module.name for module in pkgutil.iter_modules(package.__path__) if module.name != "main"]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in self.list_commands(ctx):
            return None
        command = importlib.import_module(f"{self._package}.{cmd_name}").command
        assert isinstance(command, click.Command)
        return command


@click.group(cls=VerbGroup, package="olafctl.cli", context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__)
def olafctl() -> None:
    """Build, deploy, test and measure Olaf pipelines from one YAML testbed."""


def _interrupt(number: int, frame: FrameType | None) -> NoReturn:
    """Ended politely, by a CI system or a closed terminal, a verb cleans up as when interrupted by hand."""
    for polite in _POLITE:
        # They often come together, and people press Ctrl-C twice; the second must not end the cleaning.
        # Programs started by it are not to ignore them, as they would with SIG_IGN.
        signal.signal(polite, lambda number, frame: None)
    raise KeyboardInterrupt


def main() -> None:
    """Run the command line; an :class:`OlafError` becomes one line per problem and its exit code."""
    if isinstance(sys.stdout, io.TextIOWrapper):  # None when closed
        # What a terminal's encoding cannot show, or a file name that is no text, is no reason to fail.
        sys.stdout.reconfigure(errors="backslashreplace")
    for polite in _POLITE:
        if signal.getsignal(polite) is not signal.SIG_IGN:  # as nohup wants it
            signal.signal(polite, _interrupt)
    try:
        code = olafctl.main(standalone_mode=False)
        sys.exit(code if isinstance(code, int) else 0)
    except click.ClickException as error:
        with suppress(OSError):
            error.show()
        sys.exit(error.exit_code)
    except (click.Abort, KeyboardInterrupt):
        _say("interrupted")
        sys.exit(130)
    except OlafError as error:
        if os.environ.get("OLAF_DEBUG"):
            raise
        for problem in error.problems:
            _say(f"error: {problem}")
        sys.exit(error.exit_code)
    except BrokenPipeError:
        sys.exit(EXIT_FAILED)
    except OSError as error:
        if os.environ.get("OLAF_DEBUG"):
            raise
        place = f"{error.filename}: " if error.filename else ""
        _say(f"error: {place}{error.strerror or error}")
        sys.exit(EXIT_FAILED)
    finally:
        _forget_unread()


def _say(line: str) -> None:
    """On standard error; the exit code stays what it is when nobody is there to read it."""
    with suppress(OSError):
        click.echo(line, err=True)


def _forget_unread() -> None:
    """What nobody can be told any more Python would try again, with an exit code of its own."""
    for stream in (sys.stdout, sys.stderr):
        try:
            if stream is not None:
                stream.flush()
        except OSError:
            nowhere = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nowhere, stream.fileno())
            os.close(nowhere)
