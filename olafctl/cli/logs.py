"""``olafctl logs``: what the processes of a deployment say."""

import click


@click.command()
@click.argument("name", required=False)
@click.option(
    "-n", "--lines", type=click.IntRange(min=0), default=50, show_default=True, help="Last lines of each."
)
@click.option("-f", "--follow", is_flag=True, help="Go on as they grow, until interrupted.")
@click.option("--paths", is_flag=True, help="Print where the logs are, and nothing else.")
def command(name: str | None, lines: int, follow: bool, paths: bool) -> None:
    """Show the logs of deployment NAME (the only one, when left out), also of what has crashed."""
    from olafctl.control import logs, store

    deployment = store.pick(name)
    found = logs.paths_of(deployment)
    if paths:
        for path in found:
            click.echo(path)
        return
    if not found:
        click.echo(f"{deployment.folder.name} has no logs yet", err=True)
    for path in found:
        for line in logs.last_lines(path, lines):
            click.echo(f"{path.name}: {line}")
    if follow:
        for path, line in logs.follow(found):
            click.echo(f"{path.name}: {line}")
