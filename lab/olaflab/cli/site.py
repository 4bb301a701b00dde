"""``olaflab site``: the documents as a site."""

from pathlib import Path

import click


@click.command()
@click.option(
    "-o", "--output", type=click.Path(file_okay=False, path_type=Path), default=Path("build/site"),
    show_default=True, help="Folder of the site.",
)  # fmt: skip
@click.option("--check", is_flag=True, help="Write nothing; fail if a link or a docstring is broken.")
def command(output: Path, check: bool) -> None:
    """Write the documents as a site that a browser reads offline.

    It has the pages of docs/, and pages made from the commands, the interfaces and the docstrings. A
    broken link is an error.
    """
    from olaflab.site import build

    if check:
        build.check_site()
    else:
        click.echo(f"wrote {build.build_site(output)}")
