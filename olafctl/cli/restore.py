"""``olafctl restore``: a deployment's membership out of a backup."""

from pathlib import Path

import click

from olafctl.cli import naming
from olafctl.cli.asking import etcd_options
from olafswitch.console.output import count_noun, json_option, show_result


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
    from olafctl.control.deploy import recorded_testbed
    from olafctl.control.store import pick_store
    from olafctl.daemon.keeping import open_for_changing
    from olafctl.membership import backup
    from olafctl.testbed.ground import make_ground

    deployed = pick_store(deployment)
    name, testbed = deployed.folder.name, recorded_testbed(deployed)
    kept = backup.read_backup(file, make_ground(testbed))
    with open_for_changing(name, endpoints, etcd_certs) as store:
        rows = backup.restore_backup(store, kept)
    text = f"restored {name}: {count_noun(rows, 'row')} differed"
    if rows:
        text += f"; the devices hold the old membership until `olafctl deploy {testbed.source}` or a daemon"
    show_result({"file": str(file), "rows": rows}, text, as_json)
