"""``olafctl destroy``: end a deployment and remove all of its parts."""

import shlex
from pathlib import Path

import click

from olafctl.cli import naming
from olafswitch.console.output import json_option, print_json, print_lines
from olafswitch.errors import BadInput, OlafError, Problem


@click.command()
@naming.deployment_option
@click.option("--all", "everything", is_flag=True, help="Destroy every deployment.")
@click.option(
    "--orphans", is_flag=True,
    help="Destroy what is left of deployments whose state folder was deleted, whatever OLAF_STATE was.",
)  # fmt: skip
@json_option("Print what was destroyed as JSON.")
def command(deployment: str | None, everything: bool, orphans: bool, as_json: bool) -> None:
    """End a deployment: its processes, ports and files.

    It works after a crash too. A daemon that keeps the deployment lets it go first.
    """
    if sum((deployment is not None, everything, orphans)) > 1:
        raise BadInput(
            Problem("more than one of --deployment, --all and --orphans", remedy="give one of them")
        )
    problems = _destroy_orphans(as_json) if orphans else _destroy_deployment(deployment, everything, as_json)
    if problems:
        raise OlafError(*problems)


def _destroy_deployment(deployment: str | None, everything: bool, as_json: bool) -> list[Problem]:
    from olafctl.control import store
    from olafctl.control.destroy import destroy_deployment
    from olafctl.daemon.keeping import open_keeper

    if everything and not store.all_names() and not as_json:
        print_lines("nothing is deployed")
        return []
    names = store.all_names() if everything else [deployment]
    done: list[str] = []
    problems: list[Problem] = []
    for chosen in map(store.pick_store, names):
        try:
            with open_keeper(chosen.folder) as daemon:
                if daemon is not None:
                    daemon.call("LetGo", deployment=chosen.folder.name)
            destroy_deployment(chosen)
        except OlafError as error:
            if not everything:
                raise
            problems.extend(error.problems)  # the others are removed even where one remains
            continue
        done.append(chosen.folder.name)
        if not as_json:
            print_lines(f"destroyed {chosen.folder.name}")
    if as_json:
        print_json({"destroyed": done})
    return problems


def _destroy_orphans(as_json: bool) -> list[Problem]:
    from olafctl.control import orphans

    left = orphans.find_orphans()
    done: list[Path] = []
    problems: list[Problem] = []
    for folder in left.orphans:
        try:
            orphans.remove_orphan(folder)
        except OlafError as error:
            problems.extend(error.problems)
        else:
            done.append(folder)
    if as_json:
        print_json(
            {
                "destroyed": list(map(str, done)),
                "elsewhere": list(map(str, left.elsewhere)),
                "unknown": list(left.unknown),
            }
        )
        return problems
    for folder in done:
        print_lines(f"destroyed what was left of {folder}")
    if not left.orphans:
        print_lines("nothing is left of a deployment whose state folder was deleted")
    for folder in left.elsewhere:
        line = f"OLAF_STATE={shlex.quote(str(folder.parent))} olafctl destroy --deployment {folder.name}"
        print_lines(f"not touched: {folder.name}, which has its state ({line})")
    for namespace in left.unknown:
        print_lines(
            f"not touched: namespace {namespace}, of an unknown state folder (ip netns delete {namespace})"
        )
    return problems
