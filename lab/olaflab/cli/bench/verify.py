"""``olaflab bench verify``: how long verdicts take, and whether they are right."""

from collections.abc import Iterator

from olaflab.verb import TextTable, VerbReport, option, verb
from olafswitch.console.output import log_progress


@verb("Print JSON.")
def command(
    paper: bool = option(False, "The paper's two cases, under each reading; median of --runs."),
    scale: bool = option(False, "2 … 16 clusters, 10 … 40 updates."),
    agreement: bool = option(False, "Random small systems against exhaustive simulation."),
    runs: int = option(5, "Runs a median is of.", least=1),
    count: int = option(500, "Systems of --agreement.", least=1),
    seed: int = option(1, "Random seed of --agreement."),
    timeout: float = option(60.0, "Seconds a verdict.", least=0, above=True),
) -> VerbReport:
    """Measure the verifier; without a choice, the paper's cases.

    Exit code 1 when a verdict of --agreement differs from exhaustive simulation; one without
    a verdict after a minute counts as undecided.
    """
    from olaflab.model.agreement import verdicts

    chosen: dict[str, Iterator[verdicts.Row]] = {}
    if paper or not (scale or agreement):
        chosen["paper"] = verdicts.time_paper_cases(runs, timeout)
    if scale:
        chosen["scale"] = verdicts.time_scale_cases(timeout)
    if agreement:
        chosen["agreement"] = verdicts.count_disagreements(count, seed, log_progress)
    results: dict[str, list[verdicts.Row]] = {name: [] for name in chosen}
    for name, rows in chosen.items():
        for row in rows:
            results[name].append(row)
            log_progress("  ".join(f"{key}: {value}" for key, value in row.items()))
    wrong = sum(int(row["disagreeing"]) for row in results.get("agreement", []))
    return VerbReport(
        results,
        [TextTable(name, [*rows[0]], [[*row.values()] for row in rows]) for name, rows in results.items()],
        [f"{wrong} verdicts differ from exhaustive simulation"] if wrong else (),
    )
