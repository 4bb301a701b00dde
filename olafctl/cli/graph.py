"""``olafctl graph``: the topology, with the rates at its ports."""

import time
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import click

from olafctl.cli import naming
from olafswitch.console.output import json_option, print_document, print_json, print_lines

if TYPE_CHECKING:
    from olafctl.targets.interface import Running
    from olafctl.testbed.graph.tree import Rates
    from olafctl.testbed.model import Testbed


@click.command()
@click.argument("testbed", required=False)
@naming.deployment_option
@click.option(
    "-o", "file", type=click.Path(dir_okay=False, path_type=Path),
    help="Write the SVG here.  [default: print it]",
)  # fmt: skip
@click.option("--text", "as_text", is_flag=True, help="Print the topology as text instead.")
@click.option(
    "--seconds", type=click.FloatRange(0.01), default=1.0, show_default=True,
    help="Over which rates are counted.",
)  # fmt: skip
@json_option("Print the topology as JSON instead.")
def command(
    testbed: str | None,
    deployment: str | None,
    file: Path | None,
    as_text: bool,
    seconds: float,
    as_json: bool,
) -> None:
    """Draw a deployment's engines, links and hosts, with live rates.

    TESTBED draws one that need not be deployed; then there are no rates.
    """
    import dataclasses

    from olafctl.testbed.graph.svg import draw_svg
    from olafctl.testbed.graph.tree import make_tree
    from olafctl.testbed.graph.words import draw_text
    from olafswitch.errors import OlafError, Problem

    if testbed is not None and deployment is not None:
        raise click.UsageError("give a TESTBED or --deployment, not both")
    bed, running = _find_testbed(deployment) if testbed is None else _draw_tree(testbed)
    measured, used = ({}, None) if running is None else _measure_rates(running, seconds)
    root = make_tree(bed, measured, used, {} if running is None else running.stats().get("carriers", {}))
    if as_json:
        print_json({"name": bed.name, "running": running is not None, "root": dataclasses.asdict(root)})
        return
    if as_text:
        print_lines(*draw_text(root).splitlines())
        return
    state = f"rates over {seconds:g} s" if measured else "not running"
    drawn = draw_svg(f"{bed.name} on {bed.target}, {state}", root)
    if file is None:
        print_document(drawn)
        return
    try:
        file.write_text(drawn, encoding="utf-8")
    except OSError as error:
        what = f"cannot be written: {error.strerror}"
        raise OlafError(Problem(what, str(file), "choose another -o")) from None
    print_lines(f"wrote {file}")


def _find_testbed(name: str | None) -> tuple["Testbed", "Running | None"]:
    """Return the deployed testbed of that name, and its running target. Raises BadInput."""
    from olafctl.control.deploy import find_deployment
    from olafctl.control.store import pick_store

    testbed, running = find_deployment(pick_store(name))
    return testbed, running if running is not None and running.alive() else None


def _draw_tree(place: str) -> tuple["Testbed", "Running | None"]:
    """Return the testbed at ``place``, with its running target where it is deployed. Raises BadInput."""
    from olafctl.control.store import all_names
    from olafctl.targets import testbeds

    testbed = testbeds.load_testbed(testbeds.locate_testbed(place))
    return _find_testbed(testbed.name) if testbed.name in all_names() else (testbed, None)


def _measure_rates(running: "Running", seconds: float) -> tuple[Mapping[int, "Rates"], Mapping[str, int]]:
    """Return rates by port, and each queue's occupancy."""
    from olafctl.testbed.graph.tree import count_rates

    begin, before = time.monotonic(), _read_counts(running)
    time.sleep(seconds)
    after = _read_counts(running)
    used = {engine: registers.read("occupancy") for engine, registers in running.queues.items()}
    return count_rates(before, after, time.monotonic() - begin), used


def _read_counts(running: "Running") -> dict[int, dict[str, int]]:
    return {int(number): counters for number, counters in running.stats()["ports"].items()}
