"""``olaflab bench conform``: the queue against its golden model, P4 programs as Verilog against C++."""

from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path

import click

from olaflab.verb import EXISTING_FILE, FILE, TextTable, VerbReport, option, verb
from olafswitch.console.output import log_progress
from olafswitch.errors import OlafError, Problem, importing

_LOSSES = (0.0, 0.001, 0.01, 0.05)
_CHANCE = 0.05
"""Chance that a frame of numbered sums is lost, and that it is doubled."""
_ENGINES = {"one engine": 1, "two levels": 2}
"""Levels of engines, by name."""


@verb("Print how often each rule was met as JSON; else the figures of each run or program.")
def command(
    frames: int = option(200_000, "Number of frames in all.", least=1),
    per_seed: int = option(2_000, "Number of frames of one seed.", least=1),
    lossy: int | None = option(
        None, "Instead: N rounds and N numbered contributions over links that lose frames.",
        least=1, metavar="N",
    ),
    shards: int | None = option(
        None, "Instead: N queues in C++ as shards of one, whose indices move between them.",
        least=1, most=16, metavar="N",
    ),
    resume: Path | None = option(
        None, "File that keeps what is done after each seed; an ended run goes on from there.",
        type=FILE, metavar="FILE",
    ),
    programs: int | None = option(
        None, "Instead: N random P4 programs, as Verilog and as C++.", least=1, metavar="N"
    ),
    files: tuple[Path, ...] = option(
        (), "Instead: this v1model program, as Verilog and as C++. Repeat it.", "--program",
        type=EXISTING_FILE,
    ),
    each: int = option(500, "Number of frames of a program.", least=1),
) -> VerbReport:  # fmt: skip
    """Compare the queue with its golden model, or P4 with C++.

    The queue, Verilated and in C++: every byte, status and counter of random frames and commands, with
    several geometries and adder latencies, stalls and back-pressure. Exit code 1 at the first difference,
    with its seed, and when a rule was never met. With --lossy, sums of iSwitch's rounds and numbered sums of
    mode iswitch-async go over links that lose, double and reorder frames; exit code 1 when a sum is not
    exact, is made twice or is missing.
    With --shards, what leaves of each index and all counters added up must be those of the one queue. Either
    takes hours for 10,000,000 frames, and goes on with --resume after it was ended.

    With --programs or --program random frames go through a program as Verilog, with pauses on both sides, and
    as C++: exit code 1 at the first frame, counter or register that differs. What was the same is kept: a
    command that was ended goes on where it was.
    """
    if resume is not None and (programs is not None or files or lossy is not None):
        raise click.UsageError("--resume is for --frames, with or without --shards")
    if programs is not None or files:
        return _compare_programs(programs or 0, files, each)
    if lossy is not None:
        return _sum_over_lossy_links(lossy)
    from olaftest.queue import conform
    from olaftest.queue import in_cpp as sharded
    from olaftest.queue.golden import Unexplained

    reported = 0

    def report(so_far: conform.Coverage) -> None:
        nonlocal reported
        if so_far.frames - reported >= frames // 10:
            reported = so_far.frames
            log_progress(f"{so_far.frames} of {frames} frames")

    try:
        if shards is None:
            coverage = conform.run_conformance(frames, per_seed, report, resume)
        else:
            coverage = sharded.run_shards(frames, shards, report, resume)
    except Unexplained as difference:
        raise OlafError(Problem(str(difference), "the queues and their golden model differ")) from None
    return VerbReport(
        vars(coverage),
        [
            TextTable("rules", ("rule", "met"), sorted(coverage.rules.items())),
            f"\n{coverage.frames} frames, {coverage.seeds} seeds, no difference",
        ],
        [Problem("was never met", rule, "raise --frames") for rule in coverage.unmet_rules if shards is None],
    )


def _compare_programs(count: int, files: tuple[Path, ...], frames: int) -> VerbReport:
    from olafswitch.p4.syntax.preprocess import preprocess_file, preprocess_text
    from olaftest.programs.equality import Difference, compare_cached
    from olaftest.programs.generator import Generator

    def texts() -> Iterator[tuple[str, str]]:
        for file in files:
            yield str(file), preprocess_file(file, (), {})
        for seed in range(count):
            name = f"seed {seed}"
            yield name, preprocess_text(Generator(seed).generate_program()[0], name)

    made = {}
    for name, text in texts():
        log_progress(f"{name}: {frames} frames")
        try:
            made[name] = compare_cached(text, frames, name)
        except Difference as difference:
            raise OlafError(Problem(str(difference), name)) from None
    rows = [(name, one.frames, one.left, one.cycles) for name, one in made.items()]
    heads = ("program", "frames", "left", "cycles")
    return VerbReport(
        {name: asdict(one) for name, one in made.items()},
        [TextTable("the same as Verilog and as C++", heads, rows)],
    )


def _sum_over_lossy_links(count: int) -> VerbReport:
    with importing("--lossy"):
        from olaflab.training.replicas.sums import MEMBERS, sum_numbered, sum_rounds
    rounds = {}
    for chance in _LOSSES:
        log_progress(f"{count} rounds, {chance:.1%} of all frames lost")
        rounds[f"{chance:.1%} lost"] = sum_rounds(count, chance, 1, log_progress)
    sums = {}
    for name, levels in _ENGINES.items():
        log_progress(f"{count} contributions, {name}")
        sums[name] = sum_numbered(-(-count // MEMBERS), levels, _CHANCE, 1, log_progress)
    found = {
        "rounds": {name: asdict(one) for name, one in rounds.items()},
        "numbered": {name: asdict(one) for name, one in sums.items()},
    }
    titles = {
        "rounds": f"{MEMBERS} workers over links that lose frames: every result exact, no round hangs",
        "numbered": "numbered sums: every result exact, none twice, no gap",
    }
    tables = []
    for what, title in titles.items():
        runs = found[what]
        counters = next(iter(runs.values()))
        rows = [(name.replace("_", " "), *(run[name] for run in runs.values())) for name in counters]
        tables.append(TextTable(title, ("", *runs), rows))
    return VerbReport(found, tables)
