"""``olafctl server``: the parameter server as a process."""

import json
from contextlib import suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from olafctl.cli.numbers import check_finite
from olafswitch.console.output import json_option, print_lines
from olafswitch.errors import BadInput, Problem, importing

if TYPE_CHECKING:
    from olaf import ParameterServer

    from olafctl.membership.model import Cluster
    from olafctl.testbed.model import Testbed

_MEANINGS = {
    "received": "received",
    "updates": "updates in them",
    "applied": "applied",
    "collected": "collected",
    "refused": "refused",
}


@click.command()
@click.argument("testbed", required=False)
@click.option("--name", metavar="NAME", help="Name of the parameter server, if the testbed has several.")
@click.option(
    "--listen", metavar="HOST:PORT",
    help="Listen here instead; without a TESTBED, serve any worker as one cluster.",
)  # fmt: skip
@click.option(
    "--policy", metavar="NAME", default="olaf", show_default=True,
    help="When an update moves the weights: a policy of sdk/README.md. plain adds every worker's step.",
)  # fmt: skip
@click.option(
    "--rate", type=float, callback=check_finite, default=0.001, show_default=True,
    help="γ: how far an update moves the weights.",
)  # fmt: skip
@click.option(
    "--workers", type=click.IntRange(1),
    help="Policy synchronous: contributions that end a round. Policy stellaris: so many waiting updates"
         " move the weights in any case. Policy plain: move by the mean of so many workers' steps instead"
         " of by each whole step.",
)  # fmt: skip
@click.option(
    "--deadline", type=float, callback=check_finite, metavar="SECONDS",
    help="Policies synchronous, stellaris, softsync and ssp: nothing waits for longer.",
)  # fmt: skip
@click.option(
    "--updates", type=click.IntRange(1),
    help="Policies periodic and softsync: move the weights after so many updates.",
)  # fmt: skip
@click.option(
    "--seconds",
    type=float,
    callback=check_finite,
    metavar="SECONDS",
    help="Policy periodic: or after this long.",
)
@click.option(
    "--decay",
    type=float,
    callback=check_finite,
    help="Policy stellaris: d, by which a round lowers the threshold.",
)
@click.option(
    "--root", type=float, callback=check_finite,
    help="Policy stellaris: v of the weight of an update that is δ versions stale, δ^(-1/v).",
)  # fmt: skip
@click.option("--round", type=click.IntRange(1), help="Policy stellaris: worker updates in a round.")
@click.option(
    "--slack", type=click.IntRange(0),
    help="Policy ssp: updates by which a worker may be ahead of the slowest.",
)  # fmt: skip
@click.option(
    "--optimizer", type=click.Choice(["adam", "sgd", "rmsprop"]),
    help="Policies stellaris, softsync, ssp and async: step by this optimiser of PyTorch, with --rate as lr.",
)  # fmt: skip
@click.option(
    "--checkpoint", type=click.Path(dir_okay=False, path_type=Path),
    help="Continue from this file if it exists, and keep it up to date.",
)  # fmt: skip
@click.option(
    "--every",
    type=click.FloatRange(0, min_open=True),
    callback=check_finite,
    default=30.0,
    show_default=True,
    help="Seconds between checkpoints.",
)
@click.option(
    "--report",
    type=click.FloatRange(0, min_open=True),
    callback=check_finite,
    default=10.0,
    show_default=True,
    help="Seconds between two reports.",
)
@json_option("Report in JSON lines; ages in seconds.")
def command(
    testbed: str | None,
    name: str | None,
    listen: str | None,
    policy: str,
    rate: float,
    checkpoint: Path | None,
    every: float,
    report: float,
    as_json: bool,
    **options: Any,
) -> None:
    """Run a parameter server for the clusters of TESTBED.

    Every update is answered with the newest weights and their version. Ends with SIGTERM or Ctrl-C, after a
    last checkpoint and report. A server that was killed continues from its checkpoint. Where a daemon keeps
    TESTBED, its membership counts, and clusters and workers are followed as they change.
    """
    if testbed is None and listen is None:
        raise click.UsageError("give a TESTBED, or --listen")
    if checkpoint is not None and not checkpoint.parent.is_dir():
        raise BadInput(Problem(f"folder {checkpoint.parent} does not exist", "--checkpoint"))
    with importing("a parameter server"):
        from olafctl.control import serving
    from olafctl.daemon.keeping import follow_membership
    from olafctl.targets import testbeds
    from olafswitch import main_thread

    bed = None if testbed is None else testbeds.load_testbed(testbeds.locate_testbed(testbed))
    daemon: str | None = None
    if bed is not None:
        bed, daemon = _read_membership(bed)
        host = serving.host_of(bed, name)
        listen = listen or f"{host.ip}:{host.udp_port}"
        sizes = {len(cluster.workers) for cluster in serving.served_clusters(bed)}
        if policy in ("synchronous", "stellaris") and options["workers"] is None and len(sizes) == 1:
            options["workers"] = sizes.pop()
        if policy == "plain" and options["workers"] is None and max(sizes, default=1) > 1:
            print_lines(
                f"note: policy plain adds the steps of all workers: with {max(sizes)} of them the effective "
                f"rate is {max(sizes)} times one's; --workers {max(sizes)} takes their mean",
                err=True,
            )
    if policy == "synchronous" and options["workers"] is None:
        raise BadInput(Problem("how many workers make a round?", "--policy synchronous", "give --workers"))
    make = serving.make_policy(policy, rate, options)
    server = serving.parameter_server(bed, str(listen), make, checkpoint=checkpoint, every=every)
    if bed is not None and daemon is not None:
        follow_membership(daemon, bed.name, partial(_assign_members, server, bed))

    def show_figures() -> None:
        figures = []
        for cluster in server.clusters:
            with suppress(KeyError):  # deleted just now
                figures.append(serving.read_figures(server, cluster))
        _print_report(figures, server, as_json)
        if bed is not None and daemon is not None:
            _send_reports(daemon, bed.name, server)

    try:
        announce = partial(_begin_serving, server, policy, list(server.clusters), as_json)
        main_thread.serve(announce, lambda: None, report=show_figures, every=report)
    finally:
        server.close()
    show_figures()


def _read_membership(bed: "Testbed") -> tuple["Testbed", str | None]:
    """Return the testbed with the membership that a daemon keeps, and the daemon's address; None without a
    daemon."""
    from olafctl.control.store import folder_of
    from olafctl.daemon.keeping import kept_by, open_keeper

    with open_keeper(folder_of(bed.name)) as client:
        if client is None:
            return bed, None
        return replace(bed, clusters=kept_by(client, bed.name).clusters), client.address


def _send_reports(daemon: str, deployment: str, server: "ParameterServer") -> None:
    """Report ages to the daemon, which shows them; without a daemon only the report has them."""
    from olafctl.control import serving
    from olafctl.daemon.api.client import DaemonClient
    from olafswitch.errors import OlafError

    with suppress(OlafError), DaemonClient(daemon) as client:
        client.call("ReportAges", deployment=deployment, **serving.make_reports(server))


def _assign_members(server: "ParameterServer", bed: "Testbed", clusters: "tuple[Cluster, ...]") -> None:
    from olafctl.control import serving

    server.assign(*serving.read_membership(serving.served_clusters(replace(bed, clusters=clusters))))


def _begin_serving(server: "ParameterServer", policy: str, clusters: list[str], as_json: bool) -> None:
    address = f"{server.address[0]}:{server.address[1]}"
    if as_json:
        print_lines(json.dumps({"listening": address, "policy": policy, "clusters": clusters}))
    else:
        print_lines(f"listening at {address}, policy {policy}, clusters: {', '.join(clusters)}")


def _print_report(figures: list[dict[str, Any]], server: "ParameterServer", as_json: bool) -> None:
    if as_json:
        print_lines(json.dumps({"clusters": figures, "garbage": server.garbage}))
        return
    for cluster in figures:
        age = cluster["age_of_model"]
        counts = ", ".join(f"{cluster[key]} {meaning}" for key, meaning in _MEANINGS.items())
        version = max(cluster["versions"], default="none")
        shown = "unknown" if age is None else f"{age:.3f} s"
        mean, most = cluster["staleness"]["mean"], cluster["staleness"]["max"]
        stale = "unknown" if mean is None else f"{mean:.1f} versions, at most {most}"
        print_lines(
            f"{cluster['cluster']}: {counts}; version {version}; staleness {stale}; Age-of-Model {shown}"
        )
