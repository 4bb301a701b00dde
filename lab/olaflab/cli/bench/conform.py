"""``olaflab bench conform``: the queue against its golden model, P4 programs as Verilog against C++."""

from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path

import click

from olafswitch.console.output import json_option, log_progress, print_json, table
from olafswitch.errors import OlafError, Problem

_FILE = click.Path(exists=True, dir_okay=False, path_type=Path)
_LOSSES = (0.0, 0.001, 0.01, 0.05)
_WORKERS, _SEGMENTS, _CHANCE = 4, 2, 0.05
"""Of lossy rounds; a frame's chance to be lost, and to be doubled, of numbered sums."""
_ENGINES = {"one engine": 0, "two levels": 2}
"""Engines below the root, by name."""


@click.command()
@click.option("--frames", type=click.IntRange(1), default=200_000, show_default=True, help="In all.")
@click.option(
    "--per-seed", type=click.IntRange(1), default=2_000, show_default=True, help="Frames of one seed."
)
@click.option("--lossy", type=click.IntRange(1), metavar="N",
              help="Instead: N rounds and N numbered contributions over links that lose frames.")  # fmt: skip
@click.option("--shards", type=click.IntRange(1, 16), metavar="N",
              help="Instead: N queues in C++ as shards of one, whose indices move between them.")  # fmt: skip
@click.option("--resume", type=click.Path(dir_okay=False, path_type=Path), metavar="FILE",
              help="Keep in FILE after each seed what is done, and go on from there.")  # fmt: skip
@click.option("--programs", type=click.IntRange(1), metavar="N",
              help="Instead: N random P4 programs, as Verilog and as C++.")  # fmt: skip
@click.option("--program", "files", type=_FILE, multiple=True,
              help="Instead: this v1model program, as Verilog and as C++. Repeat it.")  # fmt: skip
@click.option("--each", type=click.IntRange(1), default=500, show_default=True, help="Frames of a program.")
@json_option("Print how often each rule was met as JSON; else the figures of each run or program.")
def command(
    frames: int,
    per_seed: int,
    lossy: int | None,
    shards: int | None,
    resume: Path | None,
    programs: int | None,
    files: tuple[Path, ...],
    each: int,
    as_json: bool,
) -> None:
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
        _programs(programs or 0, files, each, as_json)
        return
    if lossy is not None:
        _over_lossy_links(lossy, as_json)
        return
    from olaftest.queue import conform, sharded
    from olaftest.queue.golden import Unexplained

    reported = 0

    def report(so_far: conform.Coverage) -> None:
        nonlocal reported
        if so_far.frames - reported >= frames // 10:
            reported = so_far.frames
            log_progress(f"{so_far.frames} of {frames} frames")

    try:
        if shards is None:
            coverage = conform.run(frames, per_seed, report, resume)
        else:
            coverage = sharded.run(frames, shards, report, resume)
    except Unexplained as difference:
        raise OlafError(Problem(str(difference), "the queues and their golden model differ")) from None
    if as_json:
        print_json(vars(coverage))
    else:
        table("rules", ("rule", "met"), sorted(coverage.rules.items()))
        click.echo(f"\n{coverage.frames} frames, {coverage.seeds} seeds, no difference")
    if shards is None and coverage.unmet:
        raise OlafError(*(Problem("was never met", rule, "raise --frames") for rule in coverage.unmet))


def _programs(count: int, files: tuple[Path, ...], frames: int, as_json: bool) -> None:
    from olaflab.pipeline.programs.generator import Generator
    from olafswitch.p4.syntax.preprocess import preprocess, preprocess_text
    from olaftest.programs.equality import Difference, compared

    def texts() -> Iterator[tuple[str, str]]:
        for file in files:
            yield str(file), preprocess(file, (), {})
        for seed in range(count):
            name = f"seed {seed}"
            yield name, preprocess_text(Generator(seed).program()[0], name)

    made = {}
    for name, text in texts():
        log_progress(f"{name}: {frames} frames")
        try:
            made[name] = compared(text, frames, name)
        except Difference as difference:
            raise OlafError(Problem(str(difference), name)) from None
    if as_json:
        print_json({name: asdict(one) for name, one in made.items()})
        return
    rows = [(name, one.frames, one.left, one.cycles) for name, one in made.items()]
    table("the same as Verilog and as C++", ("program", "frames", "left", "cycles"), rows)


def _over_lossy_links(count: int, as_json: bool) -> None:
    from olafctl.queue.verilate import build_queue
    from olaflab.queue import loss, numbered

    library = build_queue(loss.GEOMETRY, log_progress)
    rounds = {}
    for chance in _LOSSES:
        log_progress(f"{count} rounds, {chance:.1%} of all frames lost")
        rounds[f"{chance:.1%} lost"] = loss.run(library, _WORKERS, _SEGMENTS, count, chance, 1)
    library = build_queue(numbered.GEOMETRY, log_progress)
    sums = {}
    for name, below in _ENGINES.items():
        log_progress(f"{count} contributions, {name}")
        sums[name] = numbered.run(library, _WORKERS, below, count, _CHANCE, 1)
    if as_json:
        print_json({"rounds": {name: asdict(one) for name, one in rounds.items()},
                    "numbered": {name: asdict(one) for name, one in sums.items()}})  # fmt: skip
        return
    shown = ("rounds", "lost", "contributions", "repeated", "helps", "resets")
    table(
        f"{_WORKERS} workers over links that lose frames: every result exact, no round hangs",
        ("", *rounds),
        [
            *((name, *(getattr(one, name) for one in rounds.values())) for name in shown),
            ("passed on", *(one.forwarded for one in rounds.values())),
            ("sent again", *(one.resent for one in rounds.values())),
        ],
    )
    counted = ("contributions", "sent", "lost", "doubled", "taken", "results", "helped", "void")
    table(
        "numbered sums: every result exact, none twice, no gap",
        ("", *sums),
        [(name, *(getattr(one, name) for one in sums.values())) for name in counted],
    )
