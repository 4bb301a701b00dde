"""``olafctl build``: render, check, compile and Verilate a testbed's pipeline."""

import click

from olafctl.cli.output import json_option, print_json, progress


@click.command()
@click.argument("testbed")
@click.option("--target", metavar="NAME", help="Use this target instead of the testbed's own.")
@json_option("Print the build as JSON.")
def command(testbed: str, target: str | None, as_json: bool) -> None:
    """Build the pipeline of TESTBED.

    TESTBED is a YAML file, or the name of a shipped testbed. Results are kept by the content of everything
    that goes into them, so a second build takes no time.
    """
    from olafctl.control.deploy import build
    from olafctl.targets import testbeds

    bed = testbeds.load(testbeds.locate(testbed), target=target)
    with progress() as log_progress:
        built = build(bed, log_progress)
    if as_json:
        print_json(
            {
                "folder": str(built.folder),
                "key": built.key,
                "fresh": built.fresh,
                "next_steps": built.next_steps,
            }
        )
    else:
        click.echo(f"{'built' if built.fresh else 'already built:'} {built.folder}")
        if built.next_steps:
            click.echo(built.next_steps)
