"""``olafctl daemon``: own deployments and keep their membership."""

import sys
from pathlib import Path

import click

from olafctl.cli import numbers, secret
from olafswitch.console.output import log_progress, print_document, print_lines

_FILE = click.Path(exists=True, dir_okay=False, path_type=Path)


@click.command()
@click.argument("testbeds", nargs=-1, metavar="[TESTBED]...")
@click.option("--target", metavar="NAME",
              help="Deploy for this target.  [default: what runs, else TESTBED's]")  # fmt: skip
@click.option(
    "--listen", metavar="ADDRESS",
    help="Where to serve the API: unix:PATH, which only you may use, or HOST:PORT. Over TCP clients need a"
         " token or a certificate.  [default: a UNIX socket in the state folder]",
)  # fmt: skip
@click.option("--tls-cert", type=_FILE, help="PEM file with the server's certificate, for HOST:PORT.")
@click.option("--tls-key", type=_FILE, help="PEM file with its private key.")
@click.option("--tls-ca", type=_FILE, help="PEM file of the authority whose clients may connect.")
@click.option(
    "--token-file", type=_FILE, help="File with the token that clients give; its owner alone may read it."
)
@click.option(
    "--lease", type=click.FloatRange(0), callback=numbers.check_finite, default=0, show_default=True,
    metavar="SECONDS",
    help="Workers that join by control message leave after so long a silence; 0: never.",
)  # fmt: skip
@click.option(
    "--etcd", "endpoints", metavar="HOST:PORT,...",
    help="Share the deployments with other controllers, by way of this etcd; one of them leads."
         "  [default: alone, with a store of its own]",
)  # fmt: skip
@click.option(
    "--etcd-certs", type=click.Path(exists=True, file_okay=False, path_type=Path),
    help="Folder with ca.pem, client.pem and client.key for etcd; needed beyond loopback.",
)  # fmt: skip
@click.option("--advertise", default="", metavar="ADDRESS",
              help="Where clients reach this daemon when it leads.  [default: that of --listen]")  # fmt: skip
@click.option("--leader-lease", type=click.IntRange(2), default=2, show_default=True, metavar="SECONDS",
              help="A leader that etcd does not hear of for so long is replaced.")  # fmt: skip
@click.option(
    "--audit-log", type=click.Path(dir_okay=False, path_type=Path),
    help="The file for each change and its caller.  [default: .daemon/audit.log in the state folder]",
)  # fmt: skip
@click.option(
    "--web", default="", metavar="[HOST:]PORT",
    help="Where to serve a page that shows what they do (/), /metrics, /healthz and /readyz: at loopback, or"
         " beyond it as --listen."
         "  [default: nowhere]",
)  # fmt: skip
@click.option(
    "--systemd-unit", is_flag=True, help="Print a systemd unit that starts this very command, and end."
)
def command(
    testbeds: tuple[str, ...],
    target: str | None,
    listen: str | None,
    tls_cert: Path | None,
    tls_key: Path | None,
    tls_ca: Path | None,
    token_file: Path | None,
    lease: float,
    endpoints: str | None,
    etcd_certs: Path | None,
    advertise: str,
    leader_lease: int,
    audit_log: Path | None,
    web: str,
    systemd_unit: bool,
) -> None:
    """Keep deployments and the membership of their clusters.

    Owns each TESTBED (without any: every deployment there is), and deploys those that do not run. Keeps their
    devices equal to the stored membership, whatever is killed, and serves the API that `olafctl cluster` and
    `olafctl worker` use. The first time, the membership is the testbed's. While it runs no other olafctl
    changes these deployments. Ends with Ctrl-C or SIGTERM; the deployments go on.
    """
    from olafctl.control import deploy
    from olafctl.control.store import Store, all_names, folder_of
    from olafctl.daemon.api import server
    from olafctl.daemon.api.client import default_address
    from olafctl.daemon.daemon import Shared, serve_deployments
    from olafctl.daemon.operate import audit, systemd
    from olafctl.daemon.site import Deployment
    from olafctl.daemon.web import server as pages
    from olafctl.targets import testbeds as known
    from olafswitch import main_thread
    from olafswitch.errors import BadInput, Problem
    from olafswitch.p4runtime.address import Tls

    if systemd_unit:
        print_document(systemd.render_unit("olafctl.service.j2", sys.argv[1:]))
        return
    if (tls_cert is None) != (tls_key is None) or (tls_ca is not None and tls_cert is None):
        raise BadInput(Problem("TLS needs both", "--tls-cert, --tls-key", "give both, or neither"))
    tls = Tls(tls_cert, tls_key, tls_ca) if tls_cert and tls_key else None
    token = secret.read_token(token_file) if token_file else ""
    if testbeds:
        beds = [known.load_testbed(known.locate_testbed(name), target=target) for name in testbeds]
        beds = beds if target else [deploy.as_deployed(bed) for bed in beds]
    else:
        beds = [deploy.current_testbed(Store(folder_of(name))) for name in all_names()]
    if not beds:
        raise BadInput(Problem("nothing is deployed", remedy="name a testbed"))
    place = listen or default_address()
    web = f"127.0.0.1:{web}" if web.isdigit() else web
    # This is checked before anything is deployed.
    if audit_log is not None and not audit_log.absolute().parent.is_dir():
        what = f"folder {audit_log.absolute().parent} does not exist"
        raise BadInput(Problem(what, "--audit-log", "make it, or name another file"))
    server.check_listening(place, tls, token)
    if web:
        pages.check_listening(web, tls, token)
    shared = Shared(endpoints.split(","), etcd_certs, advertise, leader_lease) if endpoints else None
    sites = [
        Deployment(Store(folder_of(bed.name)), bed, log_progress, standby=shared is not None) for bed in beds
    ]
    with serve_deployments(
        sites, place, tls, token, lease, shared, audit_log or audit.default_path(), web
    ) as served:

        def announce() -> None:
            page = f", page at {served.page}" if served.page else ""
            print_lines(f"{', '.join(bed.name for bed in beds)} at {served.address}{page}; Ctrl-C ends it")
            systemd.notify_manager("READY=1")

        main_thread.serve(
            announce,
            lambda: systemd.notify_manager("STOPPING=1"),
            report=lambda: systemd.notify_manager("WATCHDOG=1"),
            every=systemd.watchdog_seconds(),
        )
