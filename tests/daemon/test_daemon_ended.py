"""A deployment whose daemon has ended, or whose engine was stopped: what commands report, and how soon."""

import json
import os
import signal
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path

import psutil
import pytest
from click.testing import CliRunner

from olafctl.cli.main import olafctl
from olafctl.control.deploy import deploy_testbed
from olafctl.control.destroy import destroy_deployment
from olafctl.control.locks import CHANGE, hold_lock
from olafctl.control.store import Store, folder_of
from olafctl.daemon.api.client import DaemonClient
from olafctl.daemon.daemon import Shared, serve_deployments
from olafctl.daemon.leadership import NotLeader
from olafctl.daemon.site import Deployment, Site
from olafctl.targets import processes, testbeds
from olaftest.daemon import etcd_server
from olaftest.daemon.daemon_process import wait_until
from tests.cli.conftest import Run, run, state
from tests.daemon.conftest import needs_etcd
from tests.targets.conftest import need_target

__all__ = ["run", "state"]

TEXT = """
name: ended
engine: {indices: 16, slots: 4, beats: 24, address: 10.0.0.250}
ports: [{numbers: 1-3, name: p, transport: unix}]
parameter_servers: [{name: ps, port: 1, ip: 10.0.0.254}]
clusters:
  - {name: red, workers: [{name: r0, port: 2, ip: 10.0.1.1}]}
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "ended.yaml"
    path.write_text(TEXT)
    return path


@pytest.fixture
def store(state: Path, file: Path) -> Iterator[Store]:
    """Provide a twin, without a daemon."""
    need_target("twin")
    deploy_testbed(testbeds.load_testbed(file), lambda step: None)
    made = Store(folder_of("ended"))
    yield made
    destroy_deployment(made)


@pytest.fixture
def engine(store: Store) -> psutil.Process:
    """Provide the engine's process."""
    (found,) = (each for each in processes.of_engine(store.folder) if "python" in each.name())
    return found


@pytest.fixture
def etcd() -> Iterator[etcd_server.EtcdCluster]:
    needs_etcd()
    with etcd_server.running_cluster(1) as made:
        yield made


@pytest.fixture
def endpoint(etcd: etcd_server.EtcdCluster) -> str:
    return etcd.endpoints[0]


def _join_late(client: DaemonClient) -> None:
    """Join a worker as soon as the daemon leads."""

    def has_joined() -> bool:
        try:
            client.call("Join", cluster="red", ip="10.0.1.9", port=3, name="late")
        except NotLeader:
            return False
        return True

    wait_until(has_joined)


def test_a_daemon_waits_for_the_command_that_changes_its_deployment(
    store: Store, file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with ExitStack() as command:
        command.enter_context(hold_lock(store.folder, CHANGE))
        monkeypatch.setattr(time, "sleep", lambda seconds: command.close())
        Deployment(store, testbeds.load_testbed(file), lambda step: None).close()


def test_a_membership_in_etcd_is_not_drift_without_its_daemon(
    store: Store, file: Path, endpoint: str, run: Run, state: Path
) -> None:
    site = Deployment(store, testbeds.load_testbed(file), lambda step: None)
    shared = Shared([endpoint])
    with (
        serve_deployments([site], f"unix:{state}/d/olaf.sock", shared=shared) as server,
        DaemonClient(server.address) as client,
    ):
        _join_late(client)
    ended = run("status", "--json")
    report = json.loads(ended.out)
    assert (ended.code, report["drift"], report["membership_unread"]) == (1, [], f"etcd at {endpoint}")
    assert f"its membership is kept in etcd at {endpoint}" in run("status").out
    shown = run("status", "--etcd", endpoint, "--json")
    report = json.loads(shown.out)
    assert (shown.code, report["drift"], report["membership_unread"]) == (0, [], None)
    assert [worker["name"] for worker in report["clusters"][0]["workers"]] == ["r0", "late"]
    for verb in (("worker", "join", "red", "10.0.1.7", "--port", 2), ("cluster", "list"), ("deploy", file)):
        refused = run(*verb)
        assert f"(start its daemon: olafctl daemon ended --etcd {endpoint})" in refused.err, refused.err
    forced = run("deploy", file, "--force")
    assert f"forgot what joined at run time: every member in etcd at {endpoint}" in forced.err


def test_an_etcd_that_is_away_is_not_drift(
    store: Store, file: Path, run: Run, state: Path, etcd: etcd_server.EtcdCluster
) -> None:
    site = Deployment(store, testbeds.load_testbed(file), lambda step: None)
    with (
        serve_deployments([site], f"unix:{state}/d/olaf.sock", shared=Shared(etcd.endpoints)) as server,
        DaemonClient(server.address) as client,
    ):
        _join_late(client)
        etcd.kill(0)
        wait_until(lambda: "the store cannot be read" in run("status").out)
        report = json.loads(run("status", "--json").out)
        assert (report["running"], report["drift"]) == (True, [])
        assert "etcd does not answer" in report["membership_unread"]
        refused = run("worker", "join", "red", "10.0.1.8", "--port", 3)
        assert "nothing was changed: it is not known who leads: " in refused.err
        assert "etcd does not answer" in refused.err
        etcd.start(0)
        wait_until(lambda: run("worker", "join", "red", "10.0.1.8", "--port", 3).code == 0)
        assert run("status").code == 0


def test_a_join_is_audited_and_force_names_what_it_forgets(store: Store, file: Path, run: Run) -> None:
    assert run("worker", "join", "red", "10.0.1.9", "--port", 3, "--name", "late").code == 0
    assert run("worker", "join", "red", "10.0.1.9", "--port", 99).code == 2
    noted = run("audit").out.splitlines()
    assert [" Join " in line for line in noted] == [True, True]
    assert noted[0].endswith("ok") and "front port 99 does not exist" in noted[1]
    foreseen = run("deploy", file, "--force", "--dry-run")
    assert "would forget what joined at run time: red/late" in foreseen.err
    assert json.loads(run("deploy", file, "--force", "--json").out)["forgotten"] == ["red/late"]


def test_a_stopped_engine_is_reported_at_once_without_a_daemon(
    store: Store, engine: psutil.Process, run: Run
) -> None:
    engine.suspend()
    try:
        begin = time.monotonic()
        assert f"kill -CONT {engine.pid}" in run("status").out
        assert f"kill -CONT {engine.pid}" in run("top", "--once").err
        refused = run("worker", "join", "red", "10.0.1.9", "--port", 3)
        assert (refused.code, f"kill -CONT {engine.pid}" in refused.err) == (1, True)
        assert time.monotonic() - begin < 10
    finally:
        os.kill(engine.pid, signal.SIGCONT)


def test_a_stopped_engine_is_reported_soon_with_a_daemon(
    store: Store, file: Path, engine: psutil.Process, run: Run, state: Path
) -> None:
    site = Deployment(store, testbeds.load_testbed(file), lambda step: None)
    with serve_deployments([site], f"unix:{state}/d/olaf.sock"):
        assert run("worker", "join", "red", "10.0.1.9", "--port", 3).code == 0
        engine.suspend()
        try:
            begin = time.monotonic()
            assert f"kill -CONT {engine.pid}" in run("status").out
            assert f"kill -CONT {engine.pid}" in run("top", "--once").err
            refused = run("worker", "join", "red", "10.0.1.8", "--port", 3)
            assert (refused.code, f"kill -CONT {engine.pid}" in refused.err) == (1, True)
            assert time.monotonic() - begin < 10
        finally:
            os.kill(engine.pid, signal.SIGCONT)


def test_a_daemon_keeps_the_target_that_runs(
    store: Store, file: Path, state: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    quiet = ["--listen", f"unix:{state}/d/olaf.sock"]
    served: list[str] = []

    def serves(sites: Sequence[Site], *rest: object) -> None:
        served.extend(site.testbed.target for site in sites)
        raise KeyboardInterrupt

    monkeypatch.setattr("olafctl.daemon.daemon.serve_deployments", serves)
    deploy_testbed(testbeds.load_testbed(file, target="software"), lambda step: None)
    for words in ([], [file], [file, "--target", "software"]):
        CliRunner().invoke(olafctl, ["daemon", *map(str, words), *quiet])
    refused = CliRunner().invoke(olafctl, ["daemon", str(file), "--target", "twin", *quiet])
    assert "was deployed from another text" in str(refused.exception)
    assert served == ["software"] * 3
