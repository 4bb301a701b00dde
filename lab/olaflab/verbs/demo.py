"""``olafctl demo``: the main job from testbed to figures, in one command."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import click

from olafswitch.console.output import json_option, log_progress, print_json, progress
from olafswitch.errors import OlafError, Problem

if TYPE_CHECKING:
    from olafctl.control.store import Store

TESTBED = "nine-clusters"


@click.command()
@click.option(
    "-o",
    "--output",
    type=click.Path(file_okay=False, path_type=Path),
    default=Path("demo"),
    show_default=True,
    help="Folder for the plots.",
)
@click.option("--no-tests", is_flag=True, help="Leave the packet tests out.")
@json_option("Print the figures as JSON.")
def command(output: Path, no_tests: bool, as_json: bool) -> None:
    """Show the main job: deploy, test, replay a training, table 1.

    The testbed is nine-clusters. A recorded training of 27 workers in 9 clusters goes through FIFO and
    through Olaf at 60 → 40 and 60 → 20 Gb/s; figure 6 and Age-of-Model over time are saved as PNG and SVG.
    What was deployed is destroyed at the end.
    """
    from olafctl.control.deploy import using
    from olaflab.papers.olaf.demo import experiment, table1

    try:
        output.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise OlafError(
            Problem(f"cannot be made: {error.strerror}", str(output), "choose another --output")
        ) from error
    with _deployed() as store:
        failed = not no_tests and _packet_tests()
        with using(store) as (testbed, running):
            in_turn, together = done = [
                experiment.run(running, testbed, loads, log_progress)
                for loads in (experiment.in_turn(), [experiment.TOGETHER])
            ]
    log_progress("plotting")
    pictures = experiment.plots(in_turn, output)
    if as_json:
        ours = [table1.data(one) for one in done]
        print_json({"paper": table1.published(), "ours": ours})
    else:
        _show(table1.table(in_turn), table1.table(together), pictures)
    violations = [
        Problem(violation, "conservation")
        for one in done
        for run in one.runs
        for outcome in run.outcomes
        for violation in outcome.measurement.violations
    ]
    if failed:
        violations.append(Problem("a packet test failed", TESTBED, "olafctl deploy it, then olafctl test -v"))
    if violations:
        raise OlafError(*violations)


@contextmanager
def _deployed() -> "Iterator[Store]":
    """The testbed, deployed; destroyed afterwards, whatever happens."""
    from olafctl.control.deploy import deploy
    from olafctl.control.destroy import destroy
    from olafctl.control.store import Store, folder_of
    from olafctl.targets import testbeds

    testbed = testbeds.load(testbeds.locate(TESTBED))
    store = Store(folder_of(testbed.name))
    if store.exists():
        raise OlafError(
            Problem(
                "is deployed already, and the demo would change and end it",
                testbed.name,
                f"olafctl destroy --deployment {testbed.name}",
            )
        )
    with progress() as step:
        deploy(testbed, step)
    try:
        yield store
    finally:
        log_progress(f"destroying {testbed.name}")
        destroy(store)


def _packet_tests() -> bool:
    """Whether one failed; their report goes to standard error, so that --json stays JSON."""
    from olafctl.control import child

    log_progress("packet tests")
    line = [sys.executable, "-m", "olafctl", "test", "--deployment", TESTBED]
    return child.run(line, output=sys.stderr) != 0


def _show(in_turn: str, together: str, pictures: tuple[Path, ...]) -> None:
    click.echo("\nOLAF table 1: 27 workers in 9 clusters send 500 updates of 2048 bits each, 60 Gb/s in all,")
    click.echo("into a queue of 8 slots; ours is a recorded training, replayed in virtual time\n")
    click.echo("Four clusters train at a time, as the paper's Age-of-Model suggests of its traffic; means of")
    click.echo("five runs, each with another random order of the clusters (least–most):\n")
    click.echo(in_turn)
    click.echo("\nAll nine begin together and compete for the eight slots:\n")
    click.echo(together)
    click.echo(
        "\naggregated: merged with a waiting update; replaced: by a newer one of the same worker, neither"
    )
    click.echo("lost nor delivered. Where and why the figures differ from the paper's: docs/papers/olaf.md\n")
    for picture in pictures:
        click.echo(f"saved {picture}")
