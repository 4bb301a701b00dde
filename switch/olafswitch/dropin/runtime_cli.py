"""``simple_switch_CLI``: BMv2's verbs for tables, counters, registers and replication."""

import shlex
import sys
from typing import Any, NoReturn

import click

from olafswitch import __version__
from olafswitch.console.output import print_document, print_lines
from olafswitch.dropin.options import ignore_options, run_command

_ROLE = "simple_switch_CLI"
_DEVICES = 256  # the ids that are tried: BMv2's Thrift has none, P4Runtime needs one
_PROMPT = "RuntimeCmd: "


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.option("--thrift-port", type=click.IntRange(1, 65535), default=9090, show_default=True,
              help="As the switch was given it.")  # fmt: skip
@click.option(
    "--thrift-ip", type=click.Choice(["localhost", "127.0.0.1"]), default="127.0.0.1", help="This machine."
)
@click.option("--device-id", type=click.IntRange(0), help="The switch's.  [default: the one that answers]")
@click.version_option(__version__, "--version", message="%(prog)s of olafswitch %(version)s")
@ignore_options((), ("--json", "--pre"))
def runtime_cli(thrift_port: int, thrift_ip: str, device_id: int | None, **unused: Any) -> int:
    """Read commands from the standard input, a line each, and do them on a switch of this machine.

    The switch is one that simple_switch or simple_switch_grpc of this folder started with this --thrift-port.
    `help` lists the verbs. Exit code 1 when a command failed.
    """
    from olafswitch.dropin.runtime_verbs import Verbs
    from olafswitch.errors import OlafError
    from olafswitch.p4runtime.session import Session
    from olafswitch.terminal import escape_controls

    address = f"{thrift_ip}:{thrift_port}"
    number = _find_device(address) if device_id is None else device_id
    failed = False
    with Session.connect(address, number, name=f"device {number}", role=_ROLE) as session:
        session.become_primary(take_over=True)
        verbs = Verbs(session)
        while True:
            print_document(_PROMPT)
            line = sys.stdin.readline()
            try:
                words = shlex.split(line, comments=True)
                if not line or words == ["EOF"]:
                    break
                if words:
                    for said in verbs.do(words[0], words[1:]):
                        print_document("\t".join(map(escape_controls, said.split("\t"))) + "\n")
            except ValueError as error:
                failed = True
                print_lines(f"Error: {error}")
            except OlafError as error:
                failed = True
                print_lines(f"Error: {error}")
    return 1 if failed else 0


def _find_device(address: str) -> int:
    """Return the lowest id of a device at ``address``. Raises OlafError."""
    import grpc

    from olafswitch.errors import OlafError, Problem
    from olafswitch.p4runtime.protocol import p4runtime_pb2, p4runtime_stub

    kind = p4runtime_pb2.GetForwardingPipelineConfigRequest
    with grpc.insecure_channel(address) as channel:
        stub = p4runtime_stub(channel)
        for number in range(_DEVICES):
            try:
                stub.GetForwardingPipelineConfig(
                    kind(device_id=number, response_type=kind.COOKIE_ONLY), timeout=5
                )
            except grpc.RpcError as error:
                if error.code() is grpc.StatusCode.NOT_FOUND:
                    continue
                if error.code() is not grpc.StatusCode.FAILED_PRECONDITION:
                    remedy = "start simple_switch or simple_switch_grpc with this --thrift-port"
                    raise OlafError(Problem("no switch answers", address, remedy)) from None
            return number
    raise OlafError(Problem(f"has no device with an id below {_DEVICES}", address, "give --device-id"))


def main(name: str) -> NoReturn:
    """Be ``simple_switch_CLI``."""
    run_command(runtime_cli, name, sys.argv[1:])
