"""``olafctl backup``: a deployment's membership in one file."""

import os
from pathlib import Path

import click

from olafctl.cli import naming
from olafctl.cli.asking import etcd_options
from olafswitch.console.output import json_option, show_result


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
    you may read it. Elsewhere than where it was deployed, name the deployment: --etcd has its membership, or
    the daemon that OLAF_DAEMON names.
    """
    from contextlib import AbstractContextManager, nullcontext

    from olafctl.control.store import all_names, pick_store
    from olafctl.daemon.api.client import ADDRESS, DaemonClient
    from olafctl.daemon.keeping import is_elsewhere, open_for_reading, open_keeper
    from olafctl.membership import backup

    address = os.environ.get(ADDRESS)
    asked: AbstractContextManager[DaemonClient | None]
    if deployment is not None and deployment not in all_names() and (endpoints or address):
        name, elsewhere, asked = deployment, True, nullcontext(None) if endpoints else DaemonClient(address)
    else:
        folder = pick_store(deployment).folder
        name, elsewhere, asked = folder.name, is_elsewhere(folder), open_keeper(folder)
    with asked as daemon:
        if daemon is not None and elsewhere and not endpoints:
            text = daemon.call("Backup", deployment=name).file.decode()
        else:
            with open_for_reading(name, endpoints, etcd_certs) as kept:
                text = backup.backup_content(kept, name)
    rows = backup.write_backup(text, file)
    show_result({"file": str(file), "rows": rows}, f"wrote {file}: {rows} rows", as_json)
