"""``olafctl agent opennic``: the P4Runtime agent of a card, without a deployment around it."""

import sys
from pathlib import Path

import click

from olafctl.cli import secret
from olafswitch.errors import BadInput, Problem

_FOLDER = click.Path(file_okay=False, exists=True, path_type=Path)
_FILE = click.Path(dir_okay=False, exists=True, path_type=Path)


@click.command()
@click.argument("card")
@click.option("--build", type=_FOLDER, required=True, help="The plug-in folder that `olafctl build` wrote.")
@click.option("--interface", metavar="NAME", help="Function 0's network interface, for packet-ins and -outs.")
@click.option("--ports", default="1,2", show_default=True, help="Front port number of each CMAC.")
@click.option("--listen", default="127.0.0.1:9559", show_default=True, help="unix:PATH or HOST:PORT.")
@click.option("--tls-cert", type=_FILE, help="PEM certificate; beyond loopback it is needed.")
@click.option("--tls-key", type=_FILE, help="PEM key of the certificate.")
@click.option("--tls-ca", type=_FILE, help="PEM authority that clients' certificates must be of.")
@click.option(
    "--token-file", type=_FILE, help="File with the token that calls must carry; its owner alone may read it."
)
@click.option(
    "--systemd-unit", is_flag=True, help="Print a systemd unit that starts this very command, and end."
)
def command(
    card: str,
    build: Path,
    interface: str | None,
    ports: str,
    listen: str,
    tls_cert: Path | None,
    tls_key: Path | None,
    tls_ca: Path | None,
    token_file: Path | None,
    systemd_unit: bool,
) -> None:
    """Serve P4Runtime for CARD, a PCI Express function as 0000:3b:00.0.

    Device 1 is VNP4₁, device 2 VNP4₂. The card must run the bitstream of the build. What it held before stays
    in place until a controller pushes a pipeline; then its tables are emptied. Ends with SIGTERM or Ctrl-C.
    """
    from olafctl.daemon.operate import systemd
    from olafctl.targets.opennic.service import CardService, Settings
    from olafswitch import main_thread
    from olafswitch.p4runtime.address import Tls

    if systemd_unit:
        click.echo(systemd.unit("olaf-agent.service.j2", sys.argv[1:]), nl=False)
        return
    if (tls_cert is None) != (tls_key is None) or (tls_ca is not None and tls_cert is None):
        raise BadInput(Problem("a certificate needs its key", remedy="give both --tls-cert and --tls-key"))
    tls = Tls(tls_cert, tls_key, tls_ca) if tls_cert and tls_key else None
    settings = Settings(card, build, _numbers(ports), interface)
    token = secret.token(token_file) if token_file else ""
    service = CardService(settings, listen, None, tls, token)

    def ready() -> None:
        click.echo(f"serving build {service.card.build_id} at {service.address}")
        systemd.notify("READY=1")

    main_thread.serve(ready, service.close)


def _numbers(ports: str) -> list[int]:
    try:
        return [int(number) for number in ports.split(",")]
    except ValueError:
        raise BadInput(Problem(f"{ports!r} is not a list of port numbers", "--ports", "as 1,2")) from None
