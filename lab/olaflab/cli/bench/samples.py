"""``olaflab bench samples``: run programs against the STF files next to them."""

from collections import Counter
from pathlib import Path

import click

from olafswitch.console.output import json_option, print_json


@click.command()
@click.argument("folder", type=click.Path(exists=True, file_okay=False, path_type=Path))
@click.argument("names", nargs=-1)
@click.option("-j", "--jobs", type=click.IntRange(1), default=2, show_default=True, help="Samples at a time.")
@click.option("--verilog", is_flag=True, help="As Verilog, in Verilator, instead of as C++.")
@json_option("Print all results as JSON.")
@click.option("-q", "--quiet", is_flag=True, help="Do not list the samples that pass.")
def command(
    folder: Path, names: tuple[str, ...], jobs: int, verilog: bool, as_json: bool, quiet: bool
) -> int:
    """Run the v1model programs of FOLDER that have an STF file.

    Or only NAMES of them. Exit code 1 when a program ran wrongly or the compiler itself failed; a refusal is
    no failure.
    """
    from olaflab.pipeline.samples.run import OUTCOMES, find, run_all

    programs = [program for program in find(folder) if not names or program.stem in names]
    results = []
    for result in run_all(programs, jobs, verilog):
        results.append(result)
        if not as_json and not (quiet and result.outcome == "pass"):
            click.echo(f"{result.outcome:10} {result.name}" + (f": {result.reason}" if result.reason else ""))
    counts = Counter(result.outcome for result in results)
    if as_json:
        rows = [{"name": r.name, "outcome": r.outcome, "reason": r.reason} for r in results]
        print_json({"run": len(results), **{o: counts[o] for o in OUTCOMES}, "samples": rows})
    else:
        click.echo(f"{len(results)} run: " + ", ".join(f"{counts[o]} {o}" for o in OUTCOMES if counts[o]))
    return 1 if counts["wrong"] or counts["defect"] else 0
