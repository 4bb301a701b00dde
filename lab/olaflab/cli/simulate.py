"""``olaflab simulate``: a testbed's engine and workers in the event-level model."""

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import click

from olafctl import quantities
from olafctl.cli import numbers
from olafctl.testbed import limits
from olafctl.testbed.model import Engine, Testbed
from olafctl.wire.modes import Mode
from olafswitch.console.output import json_option, log_progress, print_json, table
from olafswitch.errors import BadInput, Problem

if TYPE_CHECKING:
    from olaflab.model.run import Result


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
@click.option(
    "--rate",
    "rates",
    multiple=True,
    metavar="[ENGINE=]RATE",
    help="Output rate instead of the testbed's: 40Gb/s, off.",
)
@click.option(
    "--control",
    is_flag=True,
    help="Workers have transmission control (OLAF §5), which keeps a congested engine from losing updates.",
)
@click.option(
    "--tolerance",
    metavar="TIME",
    default="400ms",
    show_default=True,
    help="Δ_T of --control: older feedback is obsolete.",
)
@click.option("--urgent", is_flag=True, help="With --control: v = 1/Δ_T instead of Δ_T.")
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
    rates: tuple[str, ...],
    control: bool,
    tolerance: str,
    urgent: bool,
    seed: int,
    as_json: bool,
) -> None:
    """Simulate TESTBED in the event-level model (docs/simulate.md).

    Its engines, links and periodic workers. Phases are drawn at random from --seed, with which a run repeats
    exactly. The reward rule does not apply.

    \b
      olaflab simulate nine-clusters --period 1us --rate 40Gb/s --frame-bytes 256 --duration 10ms
      olaflab simulate multi-hop --period 100ms --frame-bytes 1000 --duration 60s --control
    """
    given = _by_name("--period", periods, quantities.duration(1, numbers.LONGEST))
    named = {name: period for name, period in given.items() if name is not None}
    lateness, length, before, obsolete = (
        numbers.read(option, text, quantities.duration(least, numbers.LONGEST))
        for option, text, least in (
            ("--jitter", jitter, 0),
            ("--duration", duration, 0),
            ("--warm-up", warm_up, 0),
            ("--tolerance", tolerance, 1),
        )
    )

    from olafctl.targets.testbeds import load, locate
    from olaflab.model.from_testbed import scenario_of
    from olaflab.model.run import run
    from olaflab.model.scenario import Control

    bed = load(locate(testbed))
    if mode is not None:
        clusters = tuple(replace(one, mode=Mode(mode)) for one in bed.clusters)
        bed = replace(bed, clusters=clusters)
    bed = _with_rates(bed, rates)
    seconds = obsolete / 1e9
    workers = Control(1 / seconds if urgent else seconds, seconds) if control else None
    scenario = scenario_of(
        bed, given.get(None), named, jitter=lateness, size=frame_bytes, control=workers, seed=seed
    )
    result = run(scenario, length, warm_up=before, progress=lambda events: log_progress(f"{events} events"))
    names = {cluster.number: cluster.name for cluster in bed.clusters}
    if as_json:
        print_json(_values(result, names))
    else:
        _show(result, names)


def _with_rates(testbed: Testbed, rates: tuple[str, ...]) -> Testbed:
    given = _by_name("--rate", rates, quantities.rate(limits.MIN_RATE, limits.MAX_RATE))
    known = [engine.name for engine in testbed.engines]
    for name in given:
        if name is not None and name not in known:
            raise BadInput(Problem(f"engine {name!r} does not exist", "--rate", f"known: {', '.join(known)}"))

    def changed(engine: Engine) -> Engine:
        every = given.get(None, engine.output_rate)
        return replace(engine, output_rate=given.get(engine.name, every))

    return replace(testbed, engines=tuple(map(changed, testbed.engines)))


def _show(result: "Result", names: dict[int, str]) -> None:
    table(
        "clusters; ages in µs",
        ["cluster", "updates", "frames", "aggregated", "replaced", "lost", "held", "AoM", "mean peak"],
        [
            [
                names[one.cluster],
                one.generated,
                one.frames,
                one.aggregated,
                one.replaced,
                one.lost,
                one.held,
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


def _by_name(
    option: str, texts: tuple[str, ...], reader: "quantities.Reader[quantities.V]"
) -> "dict[str | None, quantities.V]":
    """The values of ``[NAME=]VALUE`` by name; that of all others under None."""
    found: dict[str | None, quantities.V] = {}
    for text in texts:
        name, equals, value = text.rpartition("=")
        found[name if equals else None] = numbers.read(f"{option} {name}".strip(), value, reader)
    return found


def _us(age: float | None) -> str:
    return "–" if age is None else f"{age / 1e3:.6g}"
