"""``olafctl certs``: certificates for daemons and agents."""

from pathlib import Path

import click

from olafswitch.console.output import json_option, show_result


@click.command()
@click.argument("folder", type=click.Path(file_okay=False, path_type=Path))
@click.argument("name")
@click.option(
    "--host", "hosts", multiple=True, metavar="HOST",
    help="Make a server's pair, for this name or address; may be repeated. Without it, a client's.",
)  # fmt: skip
@click.option(
    "--role", type=click.Choice(["operator", "controller", "reader"]), default="reader", show_default=True,
    help="Rights of a client's certificate at daemons and agents.",
)  # fmt: skip
@click.option("--days", type=click.IntRange(1, 3650), default=365, show_default=True, help="Validity.")
@json_option("Print the files as JSON.")
def command(folder: Path, name: str, hosts: tuple[str, ...], role: str, days: int, as_json: bool) -> None:
    """Make a certificate, NAME.pem, and its key, NAME.key, in FOLDER.

    They are signed by the authority in FOLDER, which is made the first time.

    \b
      olafctl certs certs server --host controller.lab --host 192.0.2.7
      olafctl certs certs client --role operator
      olafctl daemon laptop --listen 192.0.2.7:9600 --tls-cert certs/server.pem \\
          --tls-key certs/server.key --tls-ca certs/ca.pem
      OLAF_CERTS=certs OLAF_DAEMON=192.0.2.7:9600 olafctl cluster list
    """
    from olafctl.machines.certificates import issue_pair

    files = issue_pair(folder, name, hosts, days, role)
    written = list(map(str, files))
    show_result({"files": written}, f"wrote {', '.join(written)}", as_json)
