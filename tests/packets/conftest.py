"""A live deployment for the packet tests: the one that ``olafctl test`` names, or one of the tests' own.

In the suite, small testbeds are deployed for the session on every target whose tools are present.
"""

import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from olafctl.control.deploy import current_testbed, deploy_testbed, find_deployment
from olafctl.control.destroy import destroy_deployment
from olafctl.control.store import Store, folder_of, pick_store
from olafctl.daemon.keeping import LocalClient
from olafctl.network import interfaces
from olafctl.targets import registry, testbeds
from tests.packets import mixed
from tests.packets.live import Live

NAMED = os.environ.get("OLAF_TEST_DEPLOYMENT")
TARGETS = registry.target_names()
MIXED = [int(seed) for seed in os.environ.get("OLAF_MIXED", "1,2").split(",")]
"""The seeds of the testbeds of all modes that are deployed, too."""
BEDS = [("testbed", target) for target in TARGETS] + [(f"mixed-{seed}", "software") for seed in MIXED]
HISTORIES = [int(seed) for seed in os.environ.get("OLAF_HISTORIES", "1").split(",")]
"""The seeds of the histories that a testbed has behind it: clusters and members came, moved and went."""
BEDS += [(f"testbed+{seed}", "software") for seed in HISTORIES]
CARDS = ("opennic", "opennic-sim", "corundum", "corundum-sim")
"""The targets of one engine."""
SEVERAL = ("two-engines", "three-engines")
SLOW = {
    *(("testbed", "opennic-sim"), ("testbed", "corundum-sim")),
    *(("mixed-2", "software"), ("testbed+1", "software")),
    *(("two-engines", "software"), ("three-engines", "twin")),
}
"""Testbeds that take some minutes, or test little more than others do."""


def _params(beds: Iterable[tuple[str, str]]) -> list[Any]:
    if NAMED:
        return ["deployed"]
    return [pytest.param(bed, marks=pytest.mark.slow if bed in SLOW else ()) for bed in beds]


@pytest.fixture(
    scope="session",
    params=_params(BEDS),
    ids=lambda given: given if NAMED else given[given[0] == "testbed"],
)
def deployment(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    """Provide the store of a running deployment."""
    if NAMED:
        yield pick_store(NAMED)
        return
    bed, target = request.param
    with _deployed(bed, target, tmp_path_factory) as store:
        yield store


@pytest.fixture(scope="session")
def session(deployment: Store) -> Iterator[Live]:
    with _seen(deployment) as live:
        yield live


@pytest.fixture
def live(session: Live) -> Iterator[Live]:
    """Provide the deployment with an empty queue; afterwards no update may be unaccounted for."""
    with _undisturbed(session) as live:
        yield live


@pytest.fixture(
    scope="session",
    params=_params(
        [
            *((bed, target) for target in TARGETS if target not in CARDS for bed in SEVERAL),
            *((f"two-engines+{seed}", "software") for seed in HISTORIES),
        ]
    ),
    ids=lambda given: given if NAMED else "-".join(given),
)
def tree_session(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Live]:
    """Provide a deployment of several engines."""
    if NAMED:
        with _seen(pick_store(NAMED)) as live:
            if len(live.testbed.engines) == 1:
                pytest.skip("needs a testbed of several engines")
            yield live
        return
    bed, target = request.param
    with _deployed(bed, target, tmp_path_factory) as store, _seen(store) as live:
        yield live


@pytest.fixture
def tree(tree_session: Live) -> Iterator[Live]:
    """Provide a deployment as ``live`` does, of several engines."""
    with _undisturbed(tree_session) as live:
        yield live


@contextmanager
def _deployed(bed: str, target: str, folders: pytest.TempPathFactory) -> Iterator[Store]:
    missing = registry.get_target(target).missing()
    if missing:
        pytest.skip(f"the target {target} needs {', '.join(missing)}")
    if target == "bmv2" and (reason := interfaces.why_not()):
        pytest.skip(f"the target bmv2 needs network interfaces: {reason}")
    # The path is short, because a UNIX socket's path has 107 bytes.
    state = folders.mktemp("s")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("OLAF_STATE", str(state))
        bed, _, history = bed.partition("+")
        path = Path(__file__).parent / f"{bed}.yaml"
        name, _, seed = bed.partition("mixed-")
        text = path.read_text() if name else mixed.testbed(int(seed))
        if history:  # there is room for more clusters
            text = text.replace("indices: 8", "indices: 16")
        testbed = testbeds.load_testbed(path, f"target: {target}\n{text}")
        if problems := registry.get_target(target).problems(testbed, folder_of(testbed.name)):
            pytest.skip(f"the target {target} cannot run it here: {problems[0]}")
        deploy_testbed(testbed, lambda step: None)
        store = Store(folder_of(testbed.name))
        try:
            if history:
                mixed.live_through(lambda: current_testbed(store), int(history), LocalClient(store).call)
            yield store
        finally:
            destroy_deployment(store)


@contextmanager
def _seen(store: Store) -> Iterator[Live]:
    testbed, running = find_deployment(store)
    assert running is not None, "it does not run: olafctl deploy it first"
    live = Live(store, testbed, running)
    try:
        yield live
    finally:
        live.close()


@contextmanager
def _undisturbed(session: Live) -> Iterator[Live]:
    session.reset_rounds()
    session.arrivals()
    yield session
    session.reset_rounds()
    session.arrivals()
    session.assert_conserved()


def need_slots(live: Live, slots: int) -> None:
    """Skip a test when the deployed engine's queue has fewer slots."""
    if live.slots < slots:
        pytest.skip(f"needs {slots} slots")
