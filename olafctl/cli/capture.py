"""``olafctl capture``: the frames at front ports, as Wireshark reads them."""

import os
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path

import click

from olafctl.cli import names, naming
from olafswitch.console.output import print_lines

_ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


@click.command()
@click.argument("port", nargs=-1, required=True, shell_complete=names.complete_ports)
@click.option("-w", "file", required=True, metavar="FILE", help="The file to write; - is standard output.")
@click.option("-c", "count", type=click.IntRange(1), help="End after so many frames.")
@naming.deployment_option
def command(port: tuple[str, ...], file: str, count: int | None, deployment: str | None) -> None:
    """Write the frames at front ports of a deployment to a file.

    PORT is a front port's name or number. The file is pcapng and records the port, the time in ns, and the
    direction: out is into the pipeline. At a UNIX socket only what leaves the pipeline is heard. Ctrl-C ends
    it, with a file that is complete.

    \b
      olafctl capture ps -w - | wireshark -k -i -
    """
    from olafctl.control.deploy import find_running
    from olafctl.control.store import pick_store
    from olafctl.network.record import record_frames
    from olafswitch.errors import BadInput, Problem
    from olafswitch.main_thread import woken

    store = pick_store(deployment)
    testbed, running = find_running(store)
    names = {text: each for each in testbed.ports for text in (each.name, str(each.number))}
    for unknown in (text for text in port if text not in names):
        known = ", ".join(each.name for each in testbed.ports)
        raise BadInput(Problem(f"port {unknown!r} does not exist", store.folder.name, f"one of {known}"))
    chosen = [names[text] for text in dict.fromkeys(port)]
    if file == "-" and sys.stdout.isatty():
        raise BadInput(Problem("a terminal cannot show a capture", "-w -", "send it to a file or a program"))
    with ExitStack() as stack:
        listeners = {each.name: stack.enter_context(closing(running.listen(each.number))) for each in chosen}
        heard = [each for each in _ENDING if signal.getsignal(each) is not signal.SIG_IGN]
        ending = stack.enter_context(woken(heard))
        write = stack.enter_context(_describe_written(file))
        print_lines(f"capturing {', '.join(listeners)}; Ctrl-C ends it", err=True)
        taken, lost = record_frames(listeners, write, ending, count)
    print_lines(f"{taken} frames captured, {lost} lost", err=True)


@contextmanager
def _describe_written(file: str) -> Iterator[Callable[[bytes], None]]:
    """Yield a function that writes to FILE at once, so that a reader sees each frame as it comes."""
    from olafswitch.errors import OlafError, Problem

    try:
        with os.fdopen(os.dup(1), "wb", 0) if file == "-" else Path(file).open("wb", 0) as output:

            def write(data: bytes) -> None:
                rest = memoryview(data)
                while rest:
                    rest = rest[output.write(rest) :]

            yield write
    except BrokenPipeError:
        raise
    except OSError as error:
        raise OlafError(Problem(f"cannot be written: {error.strerror}", file, "choose another -w")) from None
