"""``olaflab bench samples``: run programs against the STF files next to them."""

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from olaflab.verb import EXISTING_FOLDER, FILE, VerbReport, argument, option, verb

if TYPE_CHECKING:
    from olaflab.pipeline.samples.run import Result


@verb("Print all results as JSON.")
def command(
    as_json: bool,
    folder: Path = argument(type=EXISTING_FOLDER),
    names: tuple[str, ...] = argument(()),
    jobs: int = option(2, "Samples at a time.", "-j", "--jobs", least=1),
    verilog: bool = option(False, "As Verilog, in Verilator, instead of as C++."),
    page: Path | None = option(None, "Markdown file for the results.", type=FILE),
    quiet: bool = option(False, "Do not list the samples that pass.", "-q", "--quiet"),
) -> VerbReport:
    """Run the v1model programs of FOLDER that have an STF file.

    Or only NAMES of them. Exit code 1 when a program ran wrongly or the compiler itself failed; a refusal is
    no failure.
    """
    from olaflab.pipeline.samples.run import OUTCOMES, find_samples, run_all

    programs = [program for program in find_samples(folder) if not names or program.stem in names]
    results = []
    for result in run_all(programs, jobs, verilog):
        results.append(result)
        if not as_json and not (quiet and result.outcome == "pass"):
            click.echo(f"{result.outcome:10} {result.name}" + (f": {result.reason}" if result.reason else ""))
    if page is not None:
        page.write_text(write_markdown(results, "Verilog" if verilog else "C++"))
    counts = Counter(result.outcome for result in results)
    rows = [{"name": r.name, "outcome": r.outcome, "reason": r.reason} for r in results]
    text = f"{len(results)} run: " + ", ".join(f"{counts[o]} {o}" for o in OUTCOMES if counts[o])
    document = {"run": len(results), **{o: counts[o] for o in OUTCOMES}, "samples": rows}
    return VerbReport(document, [text], failed=bool(counts["wrong"] or counts["defect"]))


def write_markdown(results: "Sequence[Result]", form: str) -> str:
    """Write a page of how many programs pass, and of the reasons why others do not."""
    done = sorted(results, key=lambda result: result.name)
    passed = sum(result.outcome == "pass" for result in done)
    lines = [
        f"# p4c's STF programs as {form}",
        "",
        f"{passed} of {len(done)} programs for v1model that have an STF file pass;"
        " `olaflab bench samples` writes this page,"
        " and with `--json` names those that pass.",
        "",
        "| program | outcome | reason |",
        "|---|---|---|",
    ]
    for result in done:
        if result.outcome != "pass":
            at = result.reason.partition(f"{result.name}.p4:")[2] or result.reason
            first = at.splitlines()[0].replace("|", "\\|") if at else ""
            lines.append(f"| `{result.name}` | {result.outcome} | {first} |")
    return "\n".join([*lines, ""])
