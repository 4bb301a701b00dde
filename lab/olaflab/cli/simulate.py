"""``olaflab simulate``: a testbed's engine and workers in the event-level model."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import click

from olafctl import quantities
from olafctl.cli import numbers
from olafctl.testbed import limits
from olafctl.testbed.model import Testbed, TestbedEngine
from olafctl.wire.modes import Mode
from olaflab.verb import TextTable, VerbReport, argument, option, verb
from olafswitch.console.output import log_progress
from olafswitch.errors import BadInput, Problem

if TYPE_CHECKING:
    from olaflab.model.run import Result
    from olaflab.model.scenario import Scenario

_UNFINISHED = 0.05
"""Share of the updates under way at the end above which losses and ages are no steady state's."""


@verb("Print JSON; ages in ns.")
def command(
    testbed: str = argument(),
    periods: tuple[str, ...] = option(
        (), "Time between two updates of a worker; for one cluster with NAME=.", "--period",
        metavar="[NAME=]TIME",
    ),
    jitter: str = option("0ns", "Greatest delay of an update.", metavar="TIME"),
    duration: str = option("10s", "Virtual time.", metavar="TIME"),
    warm_up: str = option("0ns", "Time after which ages are observed.", metavar="TIME"),
    frame_bytes: int | None = option(None, "Bytes of an update; by default it fills a slot."),
    mode: str | None = option(None, "Queue mode instead of the testbed's.", choices=["olaf", "fifo"]),
    rates: tuple[str, ...] = option(
        (), "Output rate instead of the testbed's: 40Gb/s, off.", "--rate", metavar="[ENGINE=]RATE"
    ),
    control: bool = option(
        False, "Transmission control of workers (OLAF §5), so that a congested engine loses no updates."
    ),
    tolerance: str = option("400ms", "Δ_T of --control: older feedback is obsolete.", metavar="TIME"),
    urgent: bool = option(False, "With --control: v = 1/Δ_T instead of Δ_T."),
    seed: int = option(0, "Random seed of phases and jitter.", least=0),
) -> VerbReport:  # fmt: skip
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
        numbers.read_quantity(option, text, quantities.duration(least, numbers.LONGEST))
        for option, text, least in (
            ("--jitter", jitter, 0),
            ("--duration", duration, 0),
            ("--warm-up", warm_up, 0),
            ("--tolerance", tolerance, 1),
        )
    )

    from olafctl.targets.testbeds import load_testbed, locate_testbed
    from olaflab.model.from_testbed import scenario_of
    from olaflab.model.run import run_simulation
    from olaflab.model.scenario import TransmissionModel

    bed = load_testbed(locate_testbed(testbed))
    if mode is not None:
        clusters = tuple(replace(one, mode=Mode(mode)) for one in bed.clusters)
        bed = replace(bed, clusters=clusters)
    bed = _with_rates(bed, rates)
    seconds = obsolete / 1e9
    workers = TransmissionModel(1 / seconds if urgent else seconds, seconds) if control else None
    scenario = scenario_of(
        bed, given.get(None), named, jitter=lateness, size=frame_bytes, control=workers, seed=seed
    )
    result = run_simulation(
        scenario, length, warm_up=before, progress=lambda events: log_progress(f"{events} events")
    )
    names = {cluster.number: cluster.name for cluster in bed.clusters}
    for warning in (*_overloads(bed, scenario), *_unfinished(result)):
        click.echo(f"warning: {warning}", err=True)
    return VerbReport(_document_of(result, names), _report_parts(result, names))


def _with_rates(testbed: Testbed, rates: tuple[str, ...]) -> Testbed:
    given = _by_name("--rate", rates, quantities.rate(limits.MIN_RATE, limits.MAX_RATE))
    known = [engine.name for engine in testbed.engines]
    for name in given:
        if name is not None and name not in known:
            raise BadInput(Problem(f"engine {name!r} does not exist", "--rate", f"known: {', '.join(known)}"))

    def changed(engine: TestbedEngine) -> TestbedEngine:
        every = given.get(None, engine.output_rate)
        return replace(engine, output_rate=given.get(engine.name, every))

    return replace(testbed, engines=tuple(map(changed, testbed.engines)))


def _overloads(testbed: Testbed, scenario: "Scenario") -> Iterator[str]:
    """Describe each cable and each engine's input that is offered more than it carries.

    The model drops nothing there: such a cable only delays, and frames wait without limit before an engine.
    """
    if scenario.rounds:
        return  # A worker waits for its results, so no rate is offered.
    inputs, cables = Counter[str](), Counter[int]()
    for worker, source in zip(testbed.workers, scenario.sources, strict=True):
        bits = round(8e9 * source.size * scenario.segments.get(source.cluster, 1) / source.period)
        inputs[source.engine] += bits
        cables[worker.port] += bits
    for name, load in inputs.items():
        if load > limits.MAX_RATE:
            yield _above(f"the workers of {name} offer", load, "its input takes", limits.MAX_RATE)
    for link in testbed.links:
        if link.peer is None and link.rate is not None and cables[link.port] > link.rate:
            where = f"the workers behind port {link.port} offer"
            yield _above(where, cables[link.port], "its cable carries", link.rate)


def _above(who: str, load: int, where: str, rate: int) -> str:
    return f"{who} {load / 1e6:.6g} Mb/s, and {where} {rate / 1e6:.6g} Mb/s: choose a longer --period"


def _unfinished(result: "Result") -> Iterator[str]:
    """Describe updates that were neither delivered nor lost, where they are too many to ignore."""
    share = result.under_way / max(result.generated, 1)
    if share > _UNFINISHED:
        yield (
            f"{result.under_way} of {result.generated} updates ({share:.0%}) are still under way at the end:"
            " losses and ages are not those of a steady state (a longer --duration, or less load)"
        )


def _report_parts(result: "Result", names: dict[int, str]) -> list[str | TextTable]:
    heads = ["cluster", "updates", "frames", "aggregated", "replaced", "lost", "held", "AoM", "mean peak"]
    rows = [
        (
            names[one.cluster],
            one.generated,
            one.frames,
            one.aggregated_updates,
            one.replaced,
            one.lost,
            one.held,
            _format_us(one.average_age),
            _format_us(one.mean_peak),
        )
        for one in result.clusters
    ]
    fairness = "–" if result.fairness is None else f"{result.fairness:.4f}"
    text = (
        f"\nlost {result.loss:.2%} of {result.generated} updates, {result.under_way} under way at the end;"
        f" AoM {_format_us(result.average_age)} µs on average, Jain's index over clusters {fairness}"
    )
    return [TextTable("clusters; ages in µs", heads, rows), text]


def _document_of(result: "Result", names: dict[int, str]) -> dict[str, Any]:
    return {
        "generated": result.generated,
        "loss": result.loss,
        "aom_average": result.average_age,
        "fairness": result.fairness,
        "under_way": result.under_way,
        "events": result.events,
        "engines": result.engines,
        "clusters": [
            {**vars(one), "cluster": names[one.cluster], "aggregated": one.aggregated_updates}
            for one in result.clusters
        ],
    }


def _by_name(
    option: str, texts: tuple[str, ...], reader: "quantities.Reader[quantities.V]"
) -> "dict[str | None, quantities.V]":
    """Read the values of ``[NAME=]VALUE`` by name; the value of all others has the name None."""
    found: dict[str | None, quantities.V] = {}
    for text in texts:
        name, equals, value = text.rpartition("=")
        found[name if equals else None] = numbers.read_quantity(f"{option} {name}".strip(), value, reader)
    return found


def _format_us(age: float | None) -> str:
    return "–" if age is None else f"{age / 1e3:.6g}"
