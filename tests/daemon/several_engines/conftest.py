"""Fixtures of the tests over a tree of three engines."""

from collections.abc import Iterator

import pytest

from tests.daemon.deployment import keep_deployment
from tests.daemon.several_engines.tree import TESTBED, Tree


@pytest.fixture(scope="module", params=["twin", "bmv2"])
def deployed(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Tree]:
    with keep_deployment(TESTBED, request.param, tmp_path_factory.mktemp("s")) as stands:
        tree = Tree(stands, stands.client, stands.running())
        tree.attach_hosts()
        yield tree
        tree.detach_hosts()


@pytest.fixture
def tree(deployed: Tree) -> Iterator[Tree]:
    """Provide the tree; each test leaves every engine as the testbed says."""
    yield deployed
    [status] = deployed.client.call("GetStatus").deployments
    for cluster in status.clusters:
        if cluster.name != "home":
            deployed.client.call("DeleteCluster", cluster=cluster.name)
    deployed.drain_ports(0.05)
    assert deployed.find_drift(deployed.testbed) == []
