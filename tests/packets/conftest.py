"""A live deployment for the packet tests: the one that ``olafctl test`` names, or one of our own.

In the suite, a small testbed is deployed for the session on every target whose tools are there.
"""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from olafctl.control.deploy import deploy, find
from olafctl.control.destroy import destroy
from olafctl.control.store import Store, folder_of, pick
from olafctl.ports import interfaces
from olafctl.targets import registry, testbeds
from tests.packets.live import Live

NAMED = os.environ.get("OLAF_TEST_DEPLOYMENT")
TARGETS = ("deployed",) if NAMED else ("twin", "bmv2", "opennic-sim")
SLOW = {"opennic-sim": "OLAF_BOX"}
"""Targets that take some minutes, and what must be set for the suite to test them."""


@pytest.fixture(scope="session", params=TARGETS)
def deployment(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    """The store of a running deployment."""
    if NAMED:
        yield pick(NAMED)
        return
    if (variable := SLOW.get(request.param, "")) and variable not in os.environ:
        pytest.skip(f"the target {request.param} takes some minutes: set {variable}")
    missing = registry.get(request.param).missing()
    if missing:
        pytest.skip(f"the target {request.param} needs {', '.join(missing)}")
    if request.param == "bmv2" and (reason := interfaces.why_not()):
        pytest.skip(f"the target bmv2 needs network interfaces: {reason}")
    # Short, because a UNIX socket's path has 107 bytes.
    state = tmp_path_factory.mktemp("s")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("OLAF_STATE", str(state))
        path = Path(__file__).parent / "testbed.yaml"
        text = f"target: {request.param}\n{path.read_text()}"
        deploy(testbeds.load(path, text), lambda step: None)
        store = Store(folder_of("packets"))
        try:
            yield store
        finally:
            destroy(store)


@pytest.fixture(scope="session")
def session(deployment: Store) -> Iterator[Live]:
    testbed, running = find(deployment)
    assert running is not None, "it does not run: olafctl deploy it first"
    live = Live(deployment, testbed, running)
    yield live
    live.close()


@pytest.fixture
def live(session: Live) -> Iterator[Live]:
    """The deployment with an empty queue; afterwards no update may be unaccounted for."""
    session.reset_rounds()
    session.arrivals()
    yield session
    session.reset_rounds()
    session.arrivals()
    session.assert_conserved()


def needs(live: Live, *, clusters: int = 1, workers: int = 1) -> None:
    """Skip a test when the deployed testbed is too small for it."""
    found = [cluster for cluster in live.asynchronous if len(cluster.workers) >= workers]
    if len(found) < clusters:
        pytest.skip(f"needs {clusters} clusters of {workers} workers")
