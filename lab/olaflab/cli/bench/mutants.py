"""``olaflab bench mutants``: how many small defects in OlafQueue's Verilog its tests find."""

import json
from typing import TYPE_CHECKING

import click

from olafswitch.errors import EXIT_FAILED

if TYPE_CHECKING:
    from olaflab.queue.mutants.score import Verdict

GOAL_PERCENT = 95.0


@click.command()
@click.option("--count", default=120, show_default=True, help="Mutants, spread over all modules.")
@click.option("--seed", default=1, show_default=True, help="Chooses the mutants.")
@click.option("--seeds", default=10, show_default=True, help="Seeds of random traffic for each geometry.")
@click.option("--jobs", default=2, show_default=True, help="Mutants tried at a time.")
@click.option("--json", "as_json", is_flag=True, help="Print the verdicts as JSON.")
def command(count: int, seed: int, seeds: int, jobs: int, as_json: bool) -> None:
    """Put defects into OlafQueue's Verilog and count those found.

    One small defect at a time, found by random traffic. Exit code 1 when fewer than 95 % are found, not
    counting those that are argued to change nothing.
    """
    from olaflab.queue.mutants import score

    def tell(verdict: "Verdict") -> None:
        if verdict.killed_by is None:
            click.echo(f"survives: {verdict.mutant}", err=True)

    found = score.run(
        score.choose(count, seed),
        seeds,
        jobs,
        progress=lambda step: click.echo(step, err=True),
        done=tell,
    )
    if as_json:
        verdicts = [
            {"mutant": one.mutant.name, "killed_by": one.killed_by, "frames": one.frames, "why": one.argument}
            for one in found.verdicts
        ]
        click.echo(json.dumps({"percent": found.percent, "verdicts": verdicts}, indent=2))
    else:
        for one in found.survivors:
            click.echo(f"survives: {one.mutant}\n    {one.argument or 'no argument yet'}")
        click.echo(f"{found.killed} of {len(found.verdicts)} mutants found: {found.percent:.1f} %")
    if found.percent < GOAL_PERCENT:
        raise SystemExit(EXIT_FAILED)
