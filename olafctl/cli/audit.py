"""``olafctl audit``: show who changed memberships."""

import json
from pathlib import Path

import click

from olafswitch.console.output import json_option, print_lines


@click.command()
@click.argument("file", required=False, type=click.Path(dir_okay=False, path_type=Path))
@json_option("Print each line as JSON.")
def command(file: Path | None, as_json: bool) -> None:
    """Show the daemon's audit log (or FILE) and check its chain.

    Each line has the SHA-256 of the one before it, and those at the file's two ends are kept in the state
    folder. Exit code 1 when one has not, or lines at an end are missing.
    """
    from olafctl.daemon.operate.audit import anchor_of, default_path, read_audit_log
    from olafswitch.errors import OlafError, Problem

    path = file or default_path()
    if file is None and not path.exists() and not anchor_of(path).exists():
        remedy = "of a daemon with --audit-log FILE: olafctl audit FILE"
        raise OlafError(Problem("no daemon has written an audit log yet", str(path), remedy))
    for line in read_audit_log(path):
        if as_json:
            print_lines(json.dumps(line))
        else:
            fields = " ".join(f"{name}={value}" for name, value in line.get("request", {}).items())
            print_lines(f"{line['time']} {line['who']}: {line['what']} {fields} → {line['outcome']}")
