"""``olafctl exec``: a program in a host's network namespace."""

import os
import shutil
import signal
from pathlib import Path

import click

from olafctl.cli import names, naming

_NOT_EXECUTABLE = 126
_NOT_FOUND = 127


class _Command(click.Command):
    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Options may stand behind HOST, too: they are moved before it, where click looks for them."""
        if args and not args[0].startswith("-"):
            end = 1
            while end < len(args) and args[end].startswith("-") and args[end] != "--":
                end += 2 if args[end] in ("-d", "--deployment") else 1
            args = [*args[1:end], args[0], *args[end:]]
        return super().parse_args(ctx, args)


@click.command(
    cls=_Command, context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False}
)
@naming.deployment_option
@click.argument("host", shell_complete=names.hosts)
@click.argument("program", nargs=-1, required=True, type=click.UNPROCESSED, metavar="[--] PROGRAM ...")
def command(deployment: str | None, host: str, program: tuple[str, ...]) -> None:
    """Run PROGRAM as HOST of a deployment made with `deploy --hosts`.

    It has the host's address, routes and neighbours, and takes the place of olafctl: signals reach it and its
    exit code is this one's. 127 when it is not found, 126 when it cannot be run. It goes on when the engine
    is started again; `olafctl destroy` ends what still runs.
    """
    from olafctl.control.hosts import deployed
    from olafctl.control.store import pick
    from olafctl.network import interfaces, ip
    from olafswitch.errors import MissingTool, OlafError, Problem

    folder = pick(deployment).folder
    namespace = deployed.namespace_of(folder, host)
    if reason := interfaces.why_not():
        raise OlafError(Problem(reason, f"host {host}", "run as root"))
    line = program[1:] if program[0] == "--" else program
    if not line:
        raise click.UsageError("Missing argument 'PROGRAM'.")
    if (found := shutil.which(line[0])) is None:
        is_file = os.sep in line[0] and Path(line[0]).exists()
        missing = MissingTool(Problem("may not be run" if is_file else "the program does not exist", line[0]))
        missing.exit_code = _NOT_EXECUTABLE if is_file else _NOT_FOUND
        raise missing
    # Python ignores it, and a program would inherit that.
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    environment = {**os.environ, ip.OWNER: str(folder.resolve()), ip.HOST: host}
    os.execvpe("ip", ["ip", "netns", "exec", namespace, found, *line[1:]], environment)
