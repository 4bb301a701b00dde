"""Run a command line: errors become lines, and signals and closed pipes end it cleanly."""

import atexit
import errno
import io
import os
import signal
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from types import FrameType
from typing import NoReturn

import click

from olafswitch import log, paths
from olafswitch.console import output
from olafswitch.console.output import print_error, print_lines, wants_json
from olafswitch.errors import EXIT_FAILED, BadInput, OlafError, Problem
from olafswitch.interrupts import SIGNALS

_AGAIN = 0.01
"""Seconds after which the callback that dropped an interrupt has returned."""


def run_command(
    command: click.Command, show: Callable[[click.ClickException], None], words: Sequence[str] | None = None
) -> NoReturn:
    """Run ``command`` with ``words``, by default this process's, and exit; ``show`` prints wrong usage."""
    output.begin_output()
    if isinstance(sys.stdout, io.TextIOWrapper):  # None when closed
        # What a terminal's encoding cannot show, or a file name that is not text, is not an error.
        sys.stdout.reconfigure(errors="backslashreplace")
    for each in SIGNALS:
        if signal.getsignal(each) is not signal.SIG_IGN:  # nohup ignores SIGHUP, and so do we then
            signal.signal(each, _raise_interrupt)
    sys.unraisablehook = _interrupt_again
    atexit.register(_ignore_interrupts)
    try:
        code = command.main(words, command.name, standalone_mode=False)
        sys.exit(code if isinstance(code, int) else 0)
    except click.ClickException as error:
        with suppress(OSError):
            show(error)
        sys.exit(error.exit_code)
    except (click.Abort, KeyboardInterrupt):
        with suppress(OSError):
            print_lines("interrupted", err=True)
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
            print_error(OlafError(_describe_refusal(error)))
        sys.exit(EXIT_FAILED)
    finally:
        _discard_unwritten()


def log_options(command: Callable[..., None]) -> Callable[..., None]:
    """Add ``--log-level`` and ``--log-json``, which a command takes before its verb."""
    levels = click.Choice(log.LEVELS)
    command = click.option("--log-json", is_flag=True, default=None, help="Log JSON lines.")(command)
    return click.option("--log-level", type=levels, help="Log from this level on.  [default: warning]")(
        command
    )


def show_usage_error(error: click.ClickException) -> None:
    """Print wrong usage on the standard error, or as JSON where the command line asks for JSON."""
    message = error.format_message().replace("\n\t", " ")  # which click puts before each choice
    if not wants_json():
        context = error.ctx if isinstance(error, click.UsageError) else None
        if context is not None:
            usage = f"{context.get_usage()}\nTry '{context.command_path} --help' for help.\n"
            print_lines(*usage.split("\n"), err=True)
        print_lines(f"Error: {message}", err=True)
        return
    wrong = BadInput(Problem(message, remedy="see --help"))
    wrong.exit_code = error.exit_code
    print_error(wrong)


def _describe_refusal(error: OSError) -> Problem:
    """Return what the system says, and where to make room: a write to a full disk names no file."""
    full = error.errno in (errno.ENOSPC, errno.EDQUOT)
    remedy = f"make room for {paths.state()} and {paths.cache()}" if full else ""
    return Problem(str(error.strerror or error), str(error.filename or ""), remedy)


def _discard_unwritten() -> None:
    """Discard output that cannot be written: Python would try again at exit, and exit with its own code."""
    for stream in (sys.stdout, sys.stderr):
        try:
            if stream is not None:
                stream.flush()
        except OSError:
            nowhere = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nowhere, stream.fileno())
            os.close(nowhere)


def _ignore_interrupts() -> None:
    """Let no interrupt kill a process that exits, nor one that was to be raised again."""
    signal.setitimer(signal.ITIMER_REAL, 0.0)
    for handler in (_drop_interrupt, signal.SIG_IGN):  # Python reports a caught signal that it then ignores
        for each in (*SIGNALS, signal.SIGALRM):
            signal.signal(each, handler)


def _drop_interrupt(number: int, frame: FrameType | None) -> None:
    """Do nothing: a handler, unlike SIG_IGN, is not inherited by the programs that a clean-up starts."""


def _interrupt_again(lost: "sys.UnraisableHookArgs") -> None:
    """Raise an interrupt again that Python dropped in a callback of a library or in a finalizer."""
    if not issubclass(lost.exc_type, KeyboardInterrupt):
        sys.__unraisablehook__(lost)
        return
    signal.signal(signal.SIGALRM, _raise_interrupt)
    signal.setitimer(signal.ITIMER_REAL, _AGAIN)


def _raise_interrupt(number: int, frame: FrameType | None) -> NoReturn:
    """Raise KeyboardInterrupt for SIGTERM and SIGHUP, so that a verb cleans up as after Ctrl-C."""
    for each in SIGNALS:
        # They often come together, and people press Ctrl-C twice: the second must not stop the clean-up.
        signal.signal(each, _drop_interrupt)
    raise KeyboardInterrupt
