"""``olaflab bench samples``: run programs against the STF files next to them."""

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from olafswitch.console.output import json_option, print_json

if TYPE_CHECKING:
    from olaflab.pipeline.samples.run import Result


@click.command()
@click.argument("folder", type=click.Path(exists=True, file_okay=False, path_type=Path))
@click.argument("names", nargs=-1)
@click.option("-j", "--jobs", type=click.IntRange(1), default=2, show_default=True, help="Samples at a time.")
@click.option("--verilog", is_flag=True, help="As Verilog, in Verilator, instead of as C++.")
@click.option(
    "--page", type=click.Path(dir_okay=False, path_type=Path), help="Write the results as Markdown."
)
@json_option("Print all results as JSON.")
@click.option("-q", "--quiet", is_flag=True, help="Do not list the samples that pass.")
def command(
    folder: Path,
    names: tuple[str, ...],
    jobs: int,
    verilog: bool,
    page: Path | None,
    as_json: bool,
    quiet: bool,
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
    if page is not None:
        page.write_text(markdown(results, "Verilog" if verilog else "C++"))
    counts = Counter(result.outcome for result in results)
    if as_json:
        rows = [{"name": r.name, "outcome": r.outcome, "reason": r.reason} for r in results]
        print_json({"run": len(results), **{o: counts[o] for o in OUTCOMES}, "samples": rows})
    else:
        click.echo(f"{len(results)} run: " + ", ".join(f"{counts[o]} {o}" for o in OUTCOMES if counts[o]))
    return 1 if counts["wrong"] or counts["defect"] else 0


def markdown(results: "Sequence[Result]", form: str) -> str:
    """A page of what ran, and why the rest did not; the same for the same results."""
    done = sorted(results, key=lambda result: result.name)
    passed = [f"`{result.name}`" for result in done if result.outcome == "pass"]
    lines = [
        f"# p4c's STF programs as {form}",
        "",
        f"{len(passed)} of {len(done)} programs for v1model that have an STF file pass;"
        " `olaflab bench samples` writes this page.",
        "",
        "| program | outcome | reason |",
        "|---|---|---|",
    ]
    for result in done:
        if result.outcome != "pass":
            at = result.reason.partition(f"{result.name}.p4:")[2] or result.reason
            first = at.splitlines()[0].replace("|", "\\|") if at else ""
            lines.append(f"| `{result.name}` | {result.outcome} | {first} |")
    return "\n".join([*lines, "", "Passed: " + ", ".join(passed) + ".", ""])
