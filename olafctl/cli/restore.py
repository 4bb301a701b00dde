"""``olafctl restore``: a deployment's membership out of a backup."""

from pathlib import Path

import click

from olafctl.cli import naming
from olafctl.cli.asking import etcd_options
from olafswitch.console.output import counted, json_option, show


@click.command()
@click.argument("file", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@naming.deployment_option
@etcd_options
@json_option("Print how many rows differed as JSON.")
def command(
    file: Path, deployment: str | None, endpoints: str | None, etcd_certs: Path | None, as_json: bool
) -> None:
    """Make the membership of a deployment that of the backup FILE.

    No daemon may own it meanwhile. The devices follow with the next deploy, or when a daemon starts. A
    damaged, newer or foreign file is refused.
    """
    from olafctl.control.deploy import recorded
    from olafctl.control.store import pick
    from olafctl.daemon.keeping import changing
    from olafctl.membership import backup
    from olafctl.testbed.ground import ground

    deployed = pick(deployment)
    name, testbed = deployed.folder.name, recorded(deployed)
    kept = backup.read(file, ground(testbed))
    with changing(name, endpoints, etcd_certs) as store:
        rows = backup.restore(store, kept)
    text = f"restored {name}: {counted(rows, 'row')} differed"
    if rows:
        text += f"; the devices hold the old membership until `olafctl deploy {testbed.source}` or a daemon"
    show({"file": str(file), "rows": rows}, text, as_json)
