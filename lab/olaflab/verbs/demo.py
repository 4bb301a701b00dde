"""``olafctl demo``: the main job from testbed to figures, in one command."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import click

from olaflab.verb import FOLDER, option, verb
from olafswitch.console.output import log_progress, print_json, show_progress
from olafswitch.errors import OlafError, Problem

if TYPE_CHECKING:
    from olafctl.control.store import Store

TESTBED = "nine-clusters"


@verb()
def command(
    as_json: bool,
    output: Path = option(Path("demo"), "Folder for the plots.", "-o", "--output", type=FOLDER),
    no_tests: bool = option(False, "Leave the packet tests out."),
    keep: bool = option(False, "Then show the deployment as a page in a browser, until Ctrl-C."),
) -> None:
    """Show the main job: deploy, test, replay a training, table 1.

    The testbed is nine-clusters. A recorded training of 27 workers in 9 clusters goes through FIFO and
    through Olaf at 60 → 40 and 60 → 20 Gb/s; figure 6 and Age-of-Model over time are saved as PNG and SVG.
    What was deployed is destroyed at the end.
    """
    if keep and as_json:
        raise click.UsageError("--keep shows a page and --json ends: give one of them")
    from olafctl.control.deploy import use_deployment
    from olaflab.papers.olaf.demo import experiment, table1

    try:
        output.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise OlafError(
            Problem(f"cannot be made: {error.strerror}", str(output), "choose another --output")
        ) from error
    _announce_step(
        "deploy: two P4 programs and the Verilog queue are compiled, and every table entry is read back"
    )
    with _deploy_testbed() as store:
        failed = False
        if not no_tests:
            _announce_step(
                "packet tests: each rule of the data plane holds, frame by frame, on what runs now"
            )
            failed = _packet_tests()
        _announce_step(
            "replay: one recorded training through FIFO and Olaf, in virtual time: the same figures anywhere"
        )
        with use_deployment(store) as (testbed, running):
            in_turn, together = done = [
                experiment.run_experiment(running, testbed, loads, log_progress)
                for loads in (experiment.in_turn(), [experiment.TOGETHER])
            ]
        _announce_step("figures: table 1 beside the paper's, and two plots")
        pictures = experiment.save_plots(in_turn, output)
        if as_json:
            ours = [table1.make_data(one) for one in done]
            print_json({"paper": table1.published_rows(), "ours": ours})
        else:
            _show_results(table1.format_table(in_turn), table1.format_table(together))
            _show_next(pictures, store if keep else None)
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


def _announce_step(step: str) -> None:
    """Announce a step of the demo, and what it proves."""
    click.echo(f"\n── {step}", err=True)


@contextmanager
def _deploy_testbed() -> "Iterator[Store]":
    """Deploy the testbed; destroy it afterwards, whatever happens."""
    from olafctl.control.deploy import deploy_testbed
    from olafctl.control.destroy import destroy_deployment
    from olafctl.control.store import Store, folder_of
    from olafctl.targets import testbeds

    testbed = testbeds.load_testbed(testbeds.locate_testbed(TESTBED))
    store = Store(folder_of(testbed.name))
    if store.exists():
        raise OlafError(
            Problem(
                "is deployed already, and the demo would change and end it",
                testbed.name,
                f"olafctl destroy --deployment {testbed.name}",
            )
        )
    with show_progress() as step:
        deploy_testbed(testbed, step)
    try:
        yield store
    finally:
        log_progress(f"destroying {testbed.name}")
        destroy_deployment(store)


def _packet_tests() -> bool:
    """Return whether a packet test failed; the report goes to standard error, so that --json stays JSON."""
    from olafctl.control import child

    line = [sys.executable, "-m", "olafctl", "test", "--deployment", TESTBED]
    return child.run_child(line, output=sys.stderr) != 0


def _show_results(in_turn: str, together: str) -> None:
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


def _show_next(pictures: tuple[Path, ...], kept: "Store | None") -> None:
    """Show what to look at now; the page of a deployment that is ``kept``, until Ctrl-C."""
    figure6, ages = (picture for picture in pictures if picture.suffix == ".svg")
    click.echo("Look at next (each also as PNG):")
    click.echo(f"  {ages}: how old the model is that workers train on, through FIFO and through Olaf")
    click.echo(f"  {figure6}: how many updates each outgoing frame carries")
    if kept is None:
        click.echo(f"  {Path(sys.argv[0])} demo --no-tests --keep: the deployment, live in a browser")
        return
    from olafctl.cli.top import serve_page

    click.echo(f"  the page; olafctl test --deployment {TESTBED} in another terminal sends it traffic:")
    serve_page(kept, 0)
