"""``olafctl simulate``: a testbed's engine and workers in the event-level model."""

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import click

from olafctl.cli.output import json_option, log_progress, print_json, table
from olafctl.errors import BadInput, Problem
from olafctl.testbed import limits, quantities
from olafctl.testbed.model import Mode

if TYPE_CHECKING:
    from olafctl.simulate.run import Result


@click.command()
@click.argument("testbed")
@click.option(
    "--period",
    "periods",
    multiple=True,
    metavar="[NAME=]TIME",
    help="How often each worker updates; for one cluster with NAME=.",
)
@click.option(
    "--jitter", metavar="TIME", default="0ns", show_default=True, help="Each update is late by up to this."
)
@click.option("--duration", metavar="TIME", default="10s", show_default=True, help="Virtual time.")
@click.option(
    "--warm-up", metavar="TIME", default="0ns", show_default=True, help="Ages are observed after it."
)
@click.option("--frame-bytes", type=int, help="Of an update; by default it fills a slot.")
@click.option("--mode", type=click.Choice(["olaf", "fifo"]), help="Instead of the testbed's.")
@click.option("--rate", metavar="RATE", help="Output rate instead of the testbed's: 40Gb/s, off.")
@click.option("--seed", type=click.IntRange(0), default=0, show_default=True, help="Of phases and jitter.")
@json_option("Print JSON; ages in ns.")
def command(
    testbed: str,
    periods: tuple[str, ...],
    jitter: str,
    duration: str,
    warm_up: str,
    frame_bytes: int | None,
    mode: str | None,
    rate: str | None,
    seed: int,
    as_json: bool,
) -> None:
    """Simulate TESTBED's engine and periodic workers in the event-level model (docs/simulate.md).

    Phases are drawn at random from --seed, with which a run repeats exactly. The reward rule does not apply.

    \b
      olafctl simulate nine-clusters --period 1us --rate 40Gb/s --frame-bytes 256 --duration 10ms
    """
    every, named = None, {}
    for text in periods:
        name, equals, value = text.rpartition("=")
        if equals:
            named[name] = _time(f"--period {name}", value, 1)
        else:
            every = _time("--period", value, 1)
    lateness, length, before = (
        _time(option, text, 0)
        for option, text in (("--jitter", jitter), ("--duration", duration), ("--warm-up", warm_up))
    )

    from olafctl.simulate.from_testbed import scenario_of
    from olafctl.simulate.run import run
    from olafctl.targets.testbeds import load, locate

    bed = load(locate(testbed))
    engine = bed.engine
    if mode is not None:
        clusters = tuple(replace(cluster, mode=Mode(mode)) for cluster in bed.clusters)
        bed = replace(bed, clusters=clusters)
    if rate is not None:
        engine = replace(
            engine, output_rate=_read("--rate", rate, quantities.rate(limits.MIN_RATE, limits.MAX_RATE))
        )
    bed = replace(bed, engine=engine)
    scenario = scenario_of(bed, every, named, jitter=lateness, size=frame_bytes, seed=seed)
    result = run(scenario, length, warm_up=before, progress=lambda events: log_progress(f"{events} events"))
    names = {cluster.index: cluster.name for cluster in bed.clusters}
    if as_json:
        print_json(_values(result, names))
    else:
        _show(result, names)


def _show(result: "Result", names: dict[int, str]) -> None:
    table(
        "clusters; ages in µs",
        ["cluster", "updates", "frames", "aggregated", "replaced", "lost", "AoM", "mean peak"],
        [
            [
                names[one.cluster],
                one.generated,
                one.frames,
                one.aggregated,
                one.replaced,
                one.lost,
                _us(one.average_age),
                _us(one.mean_peak),
            ]
            for one in result.clusters
        ],
    )
    fairness = "–" if result.fairness is None else f"{result.fairness:.4f}"
    click.echo(
        f"\nlost {result.loss:.2%} of {result.generated} updates;"
        f" AoM {_us(result.average_age)} µs on average, Jain's index over clusters {fairness}"
    )


def _values(result: "Result", names: dict[int, str]) -> dict[str, Any]:
    return {
        "generated": result.generated,
        "loss": result.loss,
        "aom_average": result.average_age,
        "fairness": result.fairness,
        "under_way": result.under_way,
        "events": result.events,
        "engines": result.engines,
        "clusters": [
            {**vars(one), "cluster": names[one.cluster], "aggregated": one.aggregated}
            for one in result.clusters
        ],
    }


def _time(option: str, text: str, least: int) -> int:
    return _read(option, text, quantities.duration(least, 10**15))


def _read(option: str, text: str, reader: "quantities.Reader[quantities.V]") -> "quantities.V":
    try:
        return reader(text.strip())
    except quantities.Unreadable as error:
        raise BadInput(Problem(error.what, option, error.remedy)) from error


def _us(age: float | None) -> str:
    return "–" if age is None else f"{age / 1e3:.6g}"
