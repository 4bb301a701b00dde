"""A testbed as what its membership stands on."""

from olafctl.membership.ground import Ground
from olafctl.testbed.model import Testbed
from olafctl.testbed.topology import Topology


def ground(testbed: Testbed) -> Ground:
    """All that the rules of a membership have to know of a testbed."""
    topology = Topology(testbed)
    children = topology.children.values() if testbed.others else ()
    return Ground(
        name=testbed.name,
        modes={engine.name: engine.mode for engine in testbed.engines},
        engine_at={port.number: port.engine for port in testbed.ports},
        address=testbed.engine.address,
        indices=testbed.indices,
        beats=testbed.beats,
        is_limited=testbed.engine.output_rate is not None,
        hosts=(*testbed.parameter_servers, *testbed.hosts),
        routes=len(testbed.routes),
        between=max((len(below) + 1 for below in children), default=0),
    )
