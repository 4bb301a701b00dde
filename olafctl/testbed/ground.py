"""The part of a testbed on which its membership depends."""

from olafctl.membership.ground import Ground
from olafctl.testbed.model import Testbed
from olafctl.testbed.topology import Topology


def make_ground(testbed: Testbed) -> Ground:
    """Return all facts of a testbed that the rules of a membership need."""
    children = Topology(testbed).children.items()
    root = testbed.root
    return Ground(
        name=testbed.name,
        modes={engine.name: engine.mode for engine in testbed.engines},
        reward="off" if root.reward_threshold is None else root.reward_threshold,
        engine_at={port.number: port.engine for port in testbed.ports},
        address=root.address,
        indices=testbed.indices,
        beats=testbed.beats,
        is_limited=root.output_rate is not None,
        hosts=(*testbed.parameter_servers, *testbed.hosts),
        routes=len(testbed.routes),
        between=max(len(below) + (name != root.name) for name, below in children),
    )
