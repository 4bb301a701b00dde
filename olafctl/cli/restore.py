"""``olafctl restore``: a deployment's membership out of a backup."""

from pathlib import Path

import click

from olafctl.cli import names
from olafctl.cli.asking import etcd_options
from olafctl.cli.output import json_option, show


@click.command()
@click.argument("deployment", shell_complete=names.deployments)
@click.argument("file", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@etcd_options
@json_option("Print how many rows differed as JSON.")
def command(
    deployment: str, file: Path, endpoints: str | None, etcd_certs: Path | None, as_json: bool
) -> None:
    """Make the membership of DEPLOYMENT that of the backup FILE.

    No daemon may own it meanwhile. The next daemon makes the devices equal to it. A damaged, newer or foreign
    file is refused.
    """
    from olafctl.control.deploy import recorded
    from olafctl.control.store import Store, folder_of
    from olafctl.daemon.operate.stores import changing
    from olafctl.membership import backup
    from olafctl.testbed.ground import ground

    kept = backup.read(file, ground(recorded(Store(folder_of(deployment)))))
    with changing(deployment, endpoints, etcd_certs) as store:
        rows = backup.restore(store, kept)
    show({"file": str(file), "rows": rows}, f"restored {deployment}: {rows} rows differed", as_json)
