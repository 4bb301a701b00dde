"""``olafctl build``: render, check, compile and Verilate a testbed's pipeline."""

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from olafswitch.console.output import json_option, print_lines, show_progress, show_result
from olafswitch.errors import BadInput, Problem

if TYPE_CHECKING:
    from olafctl.targets.interface import Build


@click.command()
@click.argument("testbed")
@click.option("--target", metavar="NAME", help="Use this target instead of the testbed's own.")
@click.option("--board", metavar="NAME", help="Build for this board, with the target corundum.")
@json_option("Print the build as JSON.")
def command(testbed: str, target: str | None, board: str | None, as_json: bool) -> None:
    """Build the pipeline of TESTBED.

    TESTBED is a YAML file, or the name of a shipped testbed; or, for the target corundum, a P4 program for
    v1model, which takes the box' place. Results are kept by the content of everything that goes into them,
    so a second build takes no time.
    """
    from olafctl.control.deploy import build_testbed
    from olafctl.targets import testbeds

    if testbed.endswith(".p4"):
        if target != "corundum":
            raise BadInput(Problem("is a P4 program, not a testbed", testbed, "add --target corundum"))
        from olafctl.targets.corundum.target import build_program

        with show_progress() as log_progress:
            built = build_program(Path(testbed), board, log_progress)
        _show_build(built, as_json)
        return
    bed = replace(testbeds.load_testbed(testbeds.locate_testbed(testbed), target=target), board=board)
    if board and bed.target != "corundum":
        raise BadInput(
            Problem(f"target {bed.target} builds for no board", "--board", "add --target corundum")
        )
    with show_progress() as log_progress:
        built = build_testbed(bed, log_progress)
    _show_build(built, as_json)


def _show_build(built: "Build", as_json: bool) -> None:
    document = {**vars(built), "folder": str(built.folder)}
    show_result(document, f"{'built' if built.fresh else 'already built:'} {built.folder}", as_json)
    if built.next_steps and not as_json:
        print_lines(*built.next_steps.splitlines())
