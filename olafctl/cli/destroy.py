"""``olafctl destroy``: end a deployment and remove everything of it."""

import click

from olafctl.cli.output import json_option, print_json


@click.command()
@click.argument("name", required=False)
@click.option("--all", "everything", is_flag=True, help="Destroy every deployment.")
@json_option("Print what was destroyed as JSON.")
def command(name: str | None, everything: bool, as_json: bool) -> None:
    """End deployment NAME (the only one, when left out): processes, ports and files, also after a crash.

    A daemon that keeps it lets it go first.
    """
    from olafctl.control import store
    from olafctl.control.destroy import destroy
    from olafctl.daemon.keeper import keeper
    from olafctl.errors import BadInput, OlafError, Problem

    if everything and name:
        raise BadInput(Problem("a name and --all", remedy="give one of them"))
    if everything and not store.all_names() and not as_json:
        click.echo("nothing is deployed")
        return
    chosen = [store.pick(each) for each in store.all_names()] if everything else [store.pick(name)]
    done: list[str] = []
    problems: list[Problem] = []
    for deployment in chosen:
        try:
            with keeper(deployment.folder) as daemon:
                if daemon is not None:
                    daemon.call("LetGo", deployment=deployment.folder.name)
            destroy(deployment)
        except OlafError as error:
            if not everything:
                raise
            problems.extend(error.problems)  # one that stays is no reason to leave the others
            continue
        done.append(deployment.folder.name)
        if not as_json:
            click.echo(f"destroyed {deployment.folder.name}")
    if as_json:
        print_json({"destroyed": done})
    if problems:
        raise OlafError(*problems)
