"""A testbed as a scenario: its one engine, and its workers, each updating periodically."""

from collections.abc import Mapping

from olafctl.errors import BadInput, Problem
from olafctl.simulate.scenario import Engine, Scenario, Source
from olafctl.testbed.model import Mode, Testbed
from olafctl.wire.layouts import BEAT_BYTES, GRADIENT_OFFSET


def scenario_of(
    testbed: Testbed,
    period: int | None,
    periods: Mapping[str, int],
    *,
    jitter: int = 0,
    size: int | None = None,
    seed: int = 0,
) -> Scenario:
    """Every worker of ``testbed`` sends each ``period`` ns, those of a cluster in ``periods`` each that long.

    ``size`` is that of a frame in bytes, by default a slot's. The reward rule does not apply: all rewards are
    equal. Raises BadInput for a cluster that has no period or does not exist, or that sends in rounds or in
    segments, and for a frame beyond a slot.
    """
    room = testbed.engine.beats * BEAT_BYTES
    if size is not None and not GRADIENT_OFFSET <= size <= room:
        what = f"frames of {size} bytes: the headers take {GRADIENT_OFFSET}, a slot holds {room}"
        raise BadInput(Problem(what, "--frame-bytes", f"choose {GRADIENT_OFFSET} … {room}"))
    names = {cluster.name for cluster in testbed.clusters}
    problems = [
        Problem(f"no cluster is called {name!r}", "--period", f"known: {', '.join(sorted(names))}")
        for name in periods
        if name not in names
    ]
    silent = [name for name in sorted(names) if period is None and name not in periods]
    if silent:
        problems.append(
            Problem(
                f"it does not say how often {', '.join(silent)} updates",
                str(testbed.source),
                "--period 100ms, or --period NAME=100ms",
            )
        )
    where, remedy = str(testbed.source), "simulate clusters of mode olaf or fifo with one segment"
    for cluster in testbed.clusters:
        if cluster.mode is Mode.ISWITCH:
            problems.append(Problem(f"cluster {cluster.name} sends in rounds (iswitch)", where, remedy))
        elif cluster.segments > 1:
            what = f"cluster {cluster.name} has {cluster.segments} segments"
            problems.append(Problem(what, where, remedy))
    if problems:
        raise BadInput(*problems)
    given = testbed.engine
    engine = Engine(
        "engine",
        given.slots,
        given.output_rate,
        modes={cluster.index: cluster.mode for cluster in testbed.clusters},
        adder_latency=given.adder_latency,
    )
    sources = tuple(
        Source(
            cluster=cluster.index,
            worker=number,
            engine=engine.name,
            period=periods.get(cluster.name, period or 0),
            jitter=jitter,
            size=size or room,
        )
        for cluster in testbed.clusters
        for number, _ in enumerate(cluster.workers)
    )
    return Scenario((engine,), sources, seed=seed)
