"""``olafctl deploy``: make a testbed run."""

import os
import time
from typing import TYPE_CHECKING

import click

from olafswitch.console.output import (
    count_noun,
    json_option,
    print_json,
    print_lines,
    show_progress,
    show_result,
)

if TYPE_CHECKING:
    from olafctl.control.deploy import DeployOutcome
    from olafctl.testbed.model import Testbed


@click.command()
@click.argument("testbed")
@click.option("--target", metavar="NAME", help="Use this target instead of the testbed's own.")
@click.option("--dry-run", is_flag=True,
              help="Print the plan as a diff and change nothing. What is not built yet is built first,"
                   " which takes minutes.")  # fmt: skip
@click.option("--take-over", is_flag=True, help="Displace another P4Runtime controller that is primary.")
@click.option(
    "--force", is_flag=True,
    help="Forget members that joined and what else was changed at run time: all is as TESTBED says.",
)  # fmt: skip
@click.option(
    "--hosts/--no-hosts", default=None,
    help="Give each worker, parameter server and host a network namespace of its own, for `olafctl exec`; or"
         " take them away.  [default: as it is; at first without]",
)  # fmt: skip
@click.option(
    "--engine-cpu", type=click.IntRange(0), envvar="OLAF_ENGINE_CPU", metavar="NUMBER",
    help="Let the engine's thread run on this processor, when it is started; further shards on the next ones."
         "  [default: $OLAF_ENGINE_CPU]",
)  # fmt: skip
@click.option("--wait", type=click.FloatRange(0), default=0, metavar="SECONDS",
              help="Wait for machines that cannot be reached.  [default: name them and end]")  # fmt: skip
@click.option("--without", "away", multiple=True, metavar="MACHINE",
              help="Go on without a machine and what is behind its engines; may be repeated.")  # fmt: skip
@json_option("Print what was done as JSON.")
def command(
    testbed: str, target: str | None, dry_run: bool, take_over: bool, force: bool, hosts: bool | None,
    engine_cpu: int | None, wait: float, away: tuple[str, ...], as_json: bool,
) -> None:  # fmt: skip
    """Make TESTBED run, programmed and verified.

    TESTBED is a YAML file, or the name of a shipped testbed. What already fits stays untouched; a second
    deploy changes nothing, and so does one of what a daemon keeps. Its clusters are what a membership begins
    with: members that joined, and what else was changed since, stay beside what was edited in TESTBED. If
    anything fails, what ran before runs again. Lines of the plan begin with + (added), ~ (changed) or
    - (removed).
    """
    from olafctl.control.deploy import check_kept, deploy_testbed
    from olafctl.control.store import RecordRole, Store, folder_of
    from olafctl.daemon.keeping import open_keeper
    from olafctl.targets import front_ports, testbeds
    from olafctl.targets.twin.attach import ENGINE_CPU
    from olafctl.testbed.shortages import find_shortages
    from olafswitch.errors import BadInput, Problem

    if engine_cpu is not None:
        if engine_cpu not in os.sched_getaffinity(0):
            usable = ", ".join(map(str, sorted(os.sched_getaffinity(0))))
            raise BadInput(
                Problem(f"processor {engine_cpu} does not exist", "--engine-cpu", f"one of {usable}")
            )
        os.environ[ENGINE_CPU] = str(engine_cpu)
    bed = testbeds.load_testbed(testbeds.locate_testbed(testbed), target=target)
    for note in (*find_shortages(bed), *front_ports.note_cards(bed)):
        print_lines(f"note: {note}", err=True)
    _check_away(bed, wait, away)
    store = Store(folder_of(bed.name))
    with open_keeper(store.folder) as daemon:
        if daemon is not None:
            outcome = check_kept(store, bed)
            text = f"the daemon at {daemon.address} keeps {bed.name} running; nothing changed"
            show_result(_as_json(outcome, dry_run), text, as_json)
            return
    with show_progress() as log_progress:
        outcome = deploy_testbed(
            bed, log_progress, dry_run=dry_run, take_over=take_over, with_hosts=hosts, force=force, away=away
        )
    for line in outcome.unplugged:
        print_lines(f"note: {line}", err=True)
    if as_json:
        print_json(_as_json(outcome, dry_run))
        return
    if outcome.forgotten:
        verb = "would forget" if dry_run else "forgot"
        print_lines(f"{verb} what joined at run time: {', '.join(outcome.forgotten)}", err=True)
    if dry_run:
        _show_plan(outcome, bed, again=store.record(RecordRole.RUNNING) is not None)
        return
    if not outcome.changed:
        print_lines(f"{outcome.name} runs already; nothing changed")
        return
    done = "started" if outcome.started else "changed in place"
    print_lines(
        f"{outcome.name}: {done}, {count_noun(outcome.changes.size, 'change')} programmed and verified "
        f"in {outcome.programming:.2f} s"
    )
    for line in outcome.renamed:
        print_lines(line)
    if outcome.hosts:
        print_lines(f"{count_noun(len(outcome.hosts), 'host')} changed: olafctl exec HOST -- PROGRAM")


def _check_away(bed: "Testbed", wait: float, away: tuple[str, ...]) -> None:
    """Wait for machines, and report what is cut off without some. Raises BadInput."""
    from olafctl.machines import everywhere
    from olafctl.testbed.machines import without_machines
    from olafswitch.errors import BadInput, Problem

    if unknown := set(away) - {machine.name for machine in bed.machines}:
        what = f"machine {min(unknown)!r} does not exist"
        raise BadInput(Problem(what, "--without", "name one of the testbed's machines"))
    rest = without_machines(bed, away)
    end = time.monotonic() + wait
    while wait and time.monotonic() < end and (missing := everywhere.find_unreachable(rest)):
        print_lines(f"waiting for {', '.join(missing)}", err=True)
        time.sleep(min(1.0, wait))  # an agent announces nothing: its machine is asked again each second
    for before, after in zip(bed.clusters, rest.clusters, strict=True):
        if lost := len(before.workers) - len(after.workers):
            print_lines(f"cut off: cluster {before.name}: {lost} of {len(before.workers)} members", err=True)


def _show_plan(outcome: "DeployOutcome", bed: "Testbed", again: bool) -> None:
    if not outcome.changed:
        print_lines(f"{outcome.name} runs already; nothing to change")
    if outcome.started:
        if not bed.machines:
            how = "~ the processes start again, and are programmed from nothing"
            print_lines(how if again else "+ processes and ports")
        for machine in bed.machines:
            engines = ", ".join(engine.name for engine in bed.engines if engine.machine == machine.name)
            if machine.name in outcome.going_on:
                print_lines(f"  machine {machine.name}: {engines} go on")
            else:
                print_lines(f"+ machine {machine.name}: {engines or 'nothing'}")
    for device in outcome.pushed:
        print_lines(f"+ {device} pipeline")
    for line in (*outcome.ports, *outcome.changes.lines(), *outcome.hosts, *outcome.renamed):
        print_lines(line, colour={"+": "green", "-": "red"}.get(line[0], "yellow"))


def _as_json(outcome: "DeployOutcome", dry_run: bool) -> dict[str, object]:
    return {
        "name": outcome.name,
        "dry_run": dry_run,
        "changed": outcome.changed,
        "started": outcome.started,
        "pipelines": list(outcome.pushed),
        "ports": list(outcome.ports),
        "going_on": list(outcome.going_on),
        "changes": list(outcome.changes.lines()),
        "hosts": list(outcome.hosts),
        "renamed": list(outcome.renamed),
        "forgotten": list(outcome.forgotten),
        "unplugged": list(outcome.unplugged),
        "programming_seconds": round(outcome.programming, 4),
    }
