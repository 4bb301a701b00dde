"""``olafctl logs``: the output of a deployment's processes."""

import json

import click

from olafctl.cli import naming
from olafswitch.console.output import json_option, print_lines


@click.command()
@naming.deployment_option
@click.option(
    "-n", "--lines", type=click.IntRange(min=0), default=50, show_default=True, help="Last lines of each."
)
@click.option("-f", "--follow", is_flag=True, help="Go on as they grow, until interrupted.")
@click.option("--paths", is_flag=True, help="Print where the logs are, and nothing else.")
@json_option("Print each line, or path, as a JSON object.")
def command(deployment: str | None, lines: int, follow: bool, paths: bool, as_json: bool) -> None:
    """Show the logs of a deployment, also of what has crashed."""
    from olafctl.control import logs, store
    from olafctl.control.deploy import readable_testbeds

    picked = store.pick_store(deployment)
    found = logs.paths_of(picked)
    if paths:
        for path in found:
            print_lines(json.dumps({"path": str(path)}) if as_json else path)
        return
    show = _as_json if as_json else _as_text
    if testbed := next((each for each in readable_testbeds(picked) if each.machines), None):
        for name, line in logs.read_elsewhere(testbed, lines):
            print_lines(show(name, line))
        for name, line in logs.follow_elsewhere(testbed) if follow else ():
            print_lines(show(name, line))
        return
    if not any(path.stat().st_size for path in found):
        print_lines(f"{picked.folder.name} has logged nothing yet", err=True)
    for path in found:
        for line in logs.last_lines(path, lines):
            print_lines(show(path.name, line))
    if follow:
        for path, line in logs.follow_logs(found):
            print_lines(show(path.name, line))


def _as_text(name: str, line: str) -> str:
    return f"{name}: {line}"


def _as_json(name: str, line: str) -> str:
    return json.dumps({"log": name, "line": line})
