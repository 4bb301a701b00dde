"""``olafctl exec``: run a program in a host's network namespace."""

import os
import signal

import click

from olafctl.cli import names, naming


class _Command(click.Command):
    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse options behind HOST, too: they are moved before it, where click looks for them."""
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
@click.argument("host", shell_complete=names.complete_hosts)
@click.argument("program", nargs=-1, required=True, type=click.UNPROCESSED, metavar="[--] PROGRAM ...")
@click.pass_context
def command(context: click.Context, deployment: str | None, host: str, program: tuple[str, ...]) -> None:
    """Run PROGRAM as HOST of a deployment made with `deploy --hosts`.

    It has the host's address, routes and neighbours, and takes the place of olafctl: signals reach it and its
    exit code is this one's. 127 when it is not found, 126 when it cannot be run. It goes on when the engine
    is started again; `olafctl destroy` ends what still runs. On another machine it has this command's
    streams and signals, but no terminal, and ends with this command.
    """
    from olafctl.control.deploy import recorded_testbed
    from olafctl.control.hosts import distant, programs
    from olafctl.control.store import pick_store
    from olafctl.machines.programs import execute_program

    store = pick_store(deployment)
    line = program[1:] if program[0] == "--" else program
    if not line:
        raise click.UsageError("Missing argument 'PROGRAM'.")
    if (testbed := recorded_testbed(store)).machines:
        context.exit(execute_program(distant.machine_of(testbed, host), host, line))
    argv, environment = programs.host_command(store.folder, host, line)
    # Python ignores this signal, and a program would inherit that.
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    os.execvpe(argv[0], argv, environment)
