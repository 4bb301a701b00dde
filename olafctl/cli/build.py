"""``olafctl build``: render, check, compile and Verilate a testbed's pipeline."""

import json

import click


@click.command()
@click.argument("testbed")
@click.option("--json", "as_json", is_flag=True, help="Print the build as JSON.")
def command(testbed: str, as_json: bool) -> None:
    """Build the pipeline of TESTBED (a YAML file, or the name of a shipped testbed).

    Results are kept by the content of everything that goes into them, so a second build takes no time.
    """
    from olafctl.control.console import tell
    from olafctl.control.deploy import build
    from olafctl.targets import testbeds

    built = build(testbeds.load(testbeds.locate(testbed)), tell)
    if as_json:
        click.echo(json.dumps({"folder": str(built.folder), "key": built.key, "fresh": built.fresh}))
    else:
        click.echo(f"{'built' if built.fresh else 'already built:'} {built.folder}")
