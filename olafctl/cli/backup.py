"""``olafctl backup``: a deployment's membership in one file."""

from pathlib import Path

import click

from olafctl.cli import names
from olafctl.cli.asking import etcd_options
from olafctl.cli.output import json_option, show


@click.command()
@click.argument("deployment", shell_complete=names.deployments)
@click.argument("file", type=click.Path(dir_okay=False, path_type=Path))
@etcd_options
@json_option("Print how many rows it has as JSON.")
def command(
    deployment: str, file: Path, endpoints: str | None, etcd_certs: Path | None, as_json: bool
) -> None:
    """Write the daemon's membership of DEPLOYMENT to FILE.

    The daemon may run meanwhile: the file is as of one revision. It has the keys of control messages, so only
    you may read it.
    """
    from olafctl.daemon.operate.stores import reading
    from olafctl.membership.backup import backup

    with reading(deployment, endpoints, etcd_certs) as store:
        rows = backup(store, deployment, file)
    show({"file": str(file), "rows": rows}, f"wrote {file}: {rows} rows", as_json)
