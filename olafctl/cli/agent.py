"""``olafctl agent``: the agent of a machine, with its cards."""

import sys
from pathlib import Path

import click

from olafswitch.console.output import print_document, print_lines

_FILE = click.Path(dir_okay=False, exists=True, path_type=Path)


@click.command()
@click.option("--listen", metavar="HOST:PORT", help="Where controllers and operators reach it.")
@click.option("--tls-cert", type=_FILE, help="PEM certificate: olafctl certs FOLDER NAME --host HOST.")
@click.option("--tls-key", type=_FILE, help="PEM key of the certificate.")
@click.option("--tls-ca", type=_FILE, help="PEM authority that clients' certificates must be of.")
@click.option(
    "--systemd-unit", is_flag=True, help="Print a systemd unit that starts this very command, and end."
)
def command(
    listen: str | None,
    tls_cert: Path | None,
    tls_key: Path | None,
    tls_ca: Path | None,
    systemd_unit: bool,
) -> None:
    """Serve this machine to controllers elsewhere.

    It builds, starts, finds and ends the engines of this machine, and forwards their P4Runtime, registers,
    logs and captures. Engines go on when it ends; started again, it finds them. A card of this machine is
    named by OLAF_CARD.

    \b
      olafctl certs certs rack1 --host 192.0.2.7
      olafctl agent --listen 192.0.2.7:9700 --tls-cert certs/rack1.pem \\
          --tls-key certs/rack1.key --tls-ca certs/ca.pem
    """
    if systemd_unit:
        from olafctl.daemon.operate import systemd

        print_document(systemd.render_unit("olaf-machine.service.j2", sys.argv[1:]))
        return
    if listen is None or tls_cert is None or tls_key is None or tls_ca is None:
        raise click.UsageError("give --listen, --tls-cert, --tls-key and --tls-ca")
    from olafctl.agent.server import Server
    from olafctl.daemon.operate import systemd
    from olafswitch import main_thread
    from olafswitch.p4runtime.address import Tls

    server = Server(listen, Tls(tls_cert, tls_key, tls_ca))

    def ready() -> None:
        print_lines(f"serving this machine at {server.address}")
        systemd.notify_manager("READY=1")

    main_thread.serve(ready, server.close)
