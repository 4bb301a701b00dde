"""``olafctl doctor``: from a worker's host, why training would not work."""

import os
from dataclasses import asdict

import click

from olafctl.cli.output import json_option, print_json

_MARKS = {"ok": "ok     ", "warning": "warning", "fault": "FAULT  ", "skipped": "-      "}


@click.command()
@click.argument("server")
@click.option("--local", metavar="ADDRESS:PORT",
              help="Where the worker binds: the testbed's UDP port of it.  [default: as the SDK, OLAF_LOCAL,"
                   " or port 20300 towards a fixed address]")  # fmt: skip
@click.option(
    "--values", type=click.IntRange(1), help="Length of the model, which is needed to try an update."
)
@click.option("--segments", type=click.IntRange(1, 65535), help="Segments of it; else as few as fit --mtu.")
@click.option("--mtu", type=click.IntRange(68, 65535), default=1500, show_default=True, help="Bytes.")
@click.option("--epoch", type=click.IntRange(0, 15), default=0, show_default=True,
              help="The job's; a Join's answer tells it.")  # fmt: skip
@click.option("--wait", type=click.FloatRange(0.1, 60), default=2.0, show_default=True,
              help="Seconds for each answer.")  # fmt: skip
@json_option("Print a JSON list of what was examined.")
@click.pass_context
def command(
    context: click.Context,
    server: str,
    local: str | None,
    values: int | None,
    segments: int | None,
    mtu: int,
    epoch: int,
    wait: float,
    as_json: bool,
) -> None:
    """Find out why a worker on this host cannot train with SERVER.

    SERVER is what a training script gives olaf.Worker: a parameter server's HOST:PORT, or
    olaf://CLUSTER@ENGINE, with the cluster's key in OLAF_KEY. Examined are the route, the MTU, checksum
    offload, membership, the epoch, the model, whether the server answers, and whether the engine knows this
    worker and its ACK comes back. Weights are not changed: the update has a gradient of zeros.

    Run it while no worker trains here: it uses the same address, and joins and leaves as one would. Needs the
    SDK (pip install ./sdk).

    Exit code 1 when there is a fault; each is printed with its remedy.

    \b
      olafctl doctor 10.0.0.254:20300 --values 9797
      olafctl exec lander-w0 -- olafctl doctor olaf://lander@10.0.0.254 --values 9797
    """
    from olafctl.errors import BadInput, MissingTool, Problem

    try:
        from olaf.address import host_port, parse
        from olaf.errors import BadAddress
        from olaf.udp import usual

        from olafctl.doctor.examine import Worker, examine
        from olafctl.doctor.finding import Verdict
    except ImportError as error:
        what = f"the doctor needs the SDK: {error}"
        raise MissingTool(Problem(what, remedy="pip install ./sdk")) from error
    try:
        where = parse(server)
        bound = host_port(local) if local else usual(where)
    except BadAddress as error:
        raise BadInput(Problem(str(error), remedy="see olafctl doctor --help")) from error
    worker = Worker(server, bound, values, segments, mtu, epoch, os.environ.get("OLAF_KEY", "").encode())
    found = []
    for finding in examine(worker, wait):
        found.append(finding)
        if not as_json:
            remedy = f"\n           → {finding.remedy}" if finding.remedy else ""
            click.echo(f"{_MARKS[finding.verdict]}  {finding.check}: {finding.what}{remedy}")
    if as_json:
        print_json([asdict(finding) for finding in found])
    context.exit(1 if any(finding.verdict is Verdict.FAULT for finding in found) else 0)
