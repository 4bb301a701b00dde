"""A testbed as a scenario: its engines, their links, and its workers, each updating periodically."""

from collections.abc import Mapping

from olafctl.testbed import model
from olafctl.testbed.model import Testbed
from olafctl.testbed.topology import Topology
from olafctl.wire.layouts import BEAT_BYTES, GRADIENT_OFFSET
from olaflab.model.scenario import EngineModel, LinkModel, Scenario, Source, TransmissionModel
from olafswitch.errors import BadInput, Problem


def scenario_of(
    testbed: Testbed,
    period: int | None,
    periods: Mapping[str, int],
    *,
    jitter: int = 0,
    size: int | None = None,
    control: TransmissionModel | None = None,
    seed: int = 0,
) -> Scenario:
    """Make a scenario in which every worker of ``testbed`` sends each ``period`` ns, those of a cluster in
    ``periods`` each that long.

    ``size`` is that of a frame in bytes, by default the smallest slot's. The reward rule does not apply: all
    rewards are equal. In a cluster that sends in rounds the period is that from a result to the next update.
    Raises BadInput for a cluster that has no period or does not exist, and for a frame beyond a slot.
    """
    room = min(engine.beats for engine in testbed.engines) * BEAT_BYTES
    if size is not None and not GRADIENT_OFFSET <= size <= room:
        what = f"frames of {size} bytes: the headers take {GRADIENT_OFFSET}, a slot holds {room}"
        raise BadInput(Problem(what, "--frame-bytes", f"choose {GRADIENT_OFFSET} … {room}"))
    _check_testbed(testbed, period, periods)
    topology = Topology(testbed)
    cables = {link.port: link for link in testbed.links if link.peer is None}
    sources = tuple(
        Source(
            cluster=cluster.number,
            worker=number,
            engine=topology.home(worker),
            period=periods.get(cluster.name, period or 0),
            jitter=jitter,
            delay=_travel_time(cables.get(worker.port), size or room),
            size=size or room,
            control=control,
        )
        for cluster in testbed.clusters
        for number, worker in enumerate(cluster.workers)
    )
    return Scenario(
        engines_of(testbed),
        sources,
        segments={cluster.number: cluster.segments for cluster in testbed.clusters},
        seed=seed,
    )


def engines_of(testbed: Testbed) -> tuple[EngineModel, ...]:
    """Return the testbed's engines, each with its link towards the parameter server."""
    topology = Topology(testbed)
    return tuple(_convert_engine(topology, engine) for engine in testbed.engines)


def _convert_engine(topology: Topology, engine: model.TestbedEngine) -> EngineModel:
    testbed = topology.testbed
    servers = [server.port for server in testbed.parameter_servers[:1]]
    up = topology.up.get(engine.name) or next(
        (link for link in testbed.links if link.port in servers and link.peer is None), None
    )
    onward = topology.parent(engine.name)
    link = LinkModel(onward) if up is None else LinkModel(onward, up.rate, up.delay, up.queue)
    modes = {cluster.number: engine.mode_of(cluster) for cluster in testbed.clusters}
    return EngineModel(
        engine.name,
        engine.slots,
        engine.output_rate,
        link,
        modes=modes,
        adder_latency=engine.adder_latency,
        active_window=engine.active_window,
        accumulate_quota=engine.accumulate_quota,
    )


def _travel_time(cable: model.TestbedLink | None, size: int) -> int:
    """Return the ns of a frame on the cable of a front port."""
    if cable is None:
        return 0
    return cable.delay + (0 if cable.rate is None else round(size * 8e9 / cable.rate))


def _check_testbed(testbed: Testbed, period: int | None, periods: Mapping[str, int]) -> None:
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
    if problems:
        raise BadInput(*problems)
