"""``olafctl backup``: a deployment's membership in one file."""

from pathlib import Path

import click

from olafctl.cli import naming
from olafctl.cli.asking import etcd_options
from olafswitch.console.output import json_option, show


@click.command()
@click.argument("file", type=click.Path(dir_okay=False, path_type=Path))
@naming.deployment_option
@etcd_options
@json_option("Print how many rows it has as JSON.")
def command(
    file: Path, deployment: str | None, endpoints: str | None, etcd_certs: Path | None, as_json: bool
) -> None:
    """Write the membership of a deployment to FILE.

    The daemon may run meanwhile: the file is as of one revision. It has the keys of control messages, so only
    you may read it.
    """
    from olafctl.control.store import pick
    from olafctl.daemon.operate.opening import reading
    from olafctl.membership.backup import backup

    name = pick(deployment).folder.name
    with reading(name, endpoints, etcd_certs) as store:
        rows = backup(store, name, file)
    show({"file": str(file), "rows": rows}, f"wrote {file}: {rows} rows", as_json)
