"""``olafctl shell``: p4runtime-shell on a device of a deployment."""

import os
import shlex
import subprocess
import time

import click

from olafctl.cli import naming
from olafswitch.console.output import print_lines


@click.command()
@click.argument("device", metavar="DEVICE", required=False)
@naming.deployment_option
@click.option("--print", "show", is_flag=True, help="Print the command line instead of running it.")
@click.option("--install", is_flag=True, help="Install p4runtime-shell, and open nothing.")
@click.pass_context
def command(
    context: click.Context, device: str | None, deployment: str | None, show: bool, install: bool
) -> None:
    """Open p4runtime-shell on DEVICE of a deployment.

    DEVICE is vnp4_1 or vnp4_2; of several engines ENGINE/vnp4_1 or ENGINE/vnp4_2. The shell is its primary
    controller: another one is displaced. What is changed there is changed back by the next deploy.

    p4runtime-shell needs an old protobuf, so it has an environment of its own, which is installed the first
    time.
    """
    from olafctl import environments
    from olafctl.agent import runtime
    from olafctl.control.deploy import find_running
    from olafctl.control.store import pick_store
    from olafswitch.errors import BadInput, Problem
    from olafswitch.p4runtime import address as addresses
    from olafswitch.p4runtime.session import Session

    def ready() -> str:
        return str(environments.python(environments.SHELL, lambda step: print_lines(step, err=True)))

    if install:
        ready()
        return
    if device is None:
        raise click.UsageError("Missing argument 'DEVICE'.")
    store = pick_store(deployment)
    _, running = find_running(store)
    chosen = next((each for each in running.devices if each.name == device), None)
    if chosen is None:
        known = ", ".join(each.name for each in running.devices)
        raise BadInput(Problem(f"device {device!r} does not exist", store.folder.name, f"one of {known}"))
    python = ready()
    with Session.connect(
        chosen.address, chosen.device_id, election_id=None, name=device, access=chosen.access
    ) as session:
        election = max(session.next_election_id, time.time_ns())
    role = ["--device-id", str(chosen.device_id)]
    role += ["--election-id", f"{election >> 64},{election & (1 << 64) - 1}"]

    def line(address: str) -> list[str]:
        return [python, "-m", "p4runtime_sh", "--grpc-addr", address, *role]

    if chosen.access is not None:
        if show:
            raise BadInput(Problem("on another machine it is reached by way of this command", device))
        with runtime.serve_device_here(chosen) as forwarded:
            context.exit(subprocess.call(line(forwarded)))
    address, folder = (chosen.address, None) if show else addresses.shorten_address(chosen.address)
    if folder is not None:
        os.set_inheritable(folder, True)
    if show:
        print_lines(shlex.join(line(address)))
        return
    os.execv(python, line(address))
