"""The stored membership counts: a deploy keeps it, and merges an edited testbed into it."""

import shutil
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from click.testing import CliRunner

from olafctl.cli.main import olafctl
from olafctl.control.deploy import deploy_testbed, find_deployment
from olafctl.control.status import is_healthy, read_status
from olafctl.control.store import Store, folder_of
from olafctl.daemon.keeping import LocalClient
from olafctl.membership.backup import backup_content, write_backup
from olafctl.membership.sqlite import SqliteStore
from olafctl.targets import testbeds
from olafctl.testbed.model import Testbed
from olafswitch.errors import BadInput, OlafError
from tests.control.conftest import quietly
from tests.targets.conftest import need_target

TEXT = """
name: kept
engine: {indices: 16, slots: 4, beats: 24, address: 10.0.0.250}
ports: [{numbers: 1-4, name: p, transport: unix}]
parameter_servers: [{name: ps, port: 1, ip: 10.0.0.254}]
clusters:
  - {name: red, workers: [{name: r0, port: 2, ip: 10.0.1.1}, {name: r1, port: 3, ip: 10.0.1.2}]}
  - {name: blue, workers: [{name: b0, port: 4, ip: 10.0.2.1}]}
"""


def bed(text: str = TEXT) -> Testbed:
    return testbeds.load_testbed("kept.yaml", text)


def members(store: Store) -> dict[str, str]:
    testbed, _ = find_deployment(store)
    return {worker.name: worker.cluster for worker in testbed.workers}


@pytest.fixture
def local(state: Path) -> Iterator[LocalClient]:
    """Provide the testbed above, deployed, with a member that joined at run time."""
    need_target("twin")
    quietly(bed())
    made = LocalClient(Store(folder_of("kept")))
    made.call("Join", cluster="red", ip="10.0.1.9", port=3, name="late")
    yield made


def test_a_deploy_keeps_members_that_joined(local: LocalClient) -> None:
    store = Store(folder_of("kept"))
    assert not quietly(bed()).changed
    assert members(store) == {"r0": "red", "r1": "red", "late": "red", "b0": "blue"}
    assert is_healthy(read_status(store))


def test_what_is_edited_and_what_was_changed_are_both_there(local: LocalClient) -> None:
    local.call("MoveWorker", worker="r1", cluster="blue")
    local.call("CreateCluster", name="own")
    local.call("Join", cluster="own", ip="10.0.3.1", port=2, name="mine")
    text = TEXT.replace("port: 4, ip: 10.0.2.1", "port: 3, ip: 10.0.2.1").replace(
        ", {name: r1", ", {name: r2"
    )
    text = text.replace("ip: 10.0.1.2}", "ip: 10.0.1.3}") + "  - {name: new, workers: []}\n"
    quietly(bed(text))
    store = Store(folder_of("kept"))
    assert members(store) == {"r0": "red", "r2": "red", "late": "red", "b0": "blue", "mine": "own"}
    testbed, _ = find_deployment(store)
    assert {cluster.name for cluster in testbed.clusters} == {"red", "blue", "own", "new"}
    assert next(worker.port for worker in testbed.workers if worker.name == "b0") == 3
    assert is_healthy(read_status(store))


def test_what_cannot_be_both_is_refused_unless_forced(local: LocalClient) -> None:
    store = Store(folder_of("kept"))
    taken = TEXT.replace("10.0.1.2", "10.0.1.9")
    without = TEXT.replace("name: red", "name: rot")
    host = "hosts: [{name: %s, port: 4, ip: %s, mac: '%s'}]\n"
    for text, reason in (
        (taken, "10.0.1.9"),
        (TEXT + host % ("extra", "10.0.1.9", "02:00:00:00:00:01"), "late: 10.0.1.9 is the address of extra"),
        (TEXT + host % ("late", "10.0.9.9", "02:00:00:00:00:01"), "the name 'late' is taken"),
        (TEXT + host % ("extra", "10.0.9.9", "02:00:0a:00:01:09"), "is the MAC address of extra"),
        (TEXT.replace("10.0.0.250", "10.0.1.9"), "10.0.1.9 is the address of the engine"),
        (TEXT.replace("10.0.0.254", "10.0.1.9"), "10.0.1.9 is the address of ps"),
        (without, "no longer has the cluster 'red', in which there is late"),
    ):
        before = members(store)
        with pytest.raises(BadInput, match=f"does not fit the testbed: .*{reason}.*--force"):
            quietly(bed(text))
        assert (members(store), is_healthy(read_status(store))) == (before, True)
    deploy_testbed(bed(taken), lambda step: None, force=True)
    assert members(store) == {"r0": "red", "r1": "red", "b0": "blue"}


@pytest.mark.parametrize("left", [None, b"", b"no database", b"SQLite format 3\0" + bytes(4000)])
def test_a_membership_that_is_gone_or_damaged_is_not_begun_again(
    local: LocalClient, left: bytes | None, tmp_path: Path
) -> None:
    store = Store(folder_of("kept"))
    with closing(SqliteStore(store.folder)) as kept:
        write_backup(backup_content(kept, "kept"), tmp_path / "backup")
    for file in store.folder.glob("membership.db*"):
        file.unlink()
    if left is not None:
        (store.folder / "membership.db").write_bytes(left)
    for ask in (
        lambda: quietly(bed()),
        lambda: local.call("Leave", worker="late"),
        lambda: find_deployment(store),
    ):
        with pytest.raises(OlafError, match=r"(missing or empty|is damaged).*olafctl restore"):
            ask()
    restored = CliRunner().invoke(olafctl, ["restore", str(tmp_path / "backup")])
    assert restored.exit_code == 0, restored.output
    assert "the devices hold the old membership until `olafctl deploy" in restored.output
    assert not quietly(bed()).changed
    assert "late" in members(store)


def test_without_its_log_the_store_has_nearly_all(local: LocalClient) -> None:
    """This happens when a machine is copied while the daemon runs, or its disk loses the newest file."""
    folder = folder_of("kept")
    with closing(SqliteStore(folder)) as kept:
        for number in range(200):
            kept.finish({"meta/number": {"last": number}})
        copied = folder.parent / "copied"
        copied.mkdir()
        shutil.copy(folder / "membership.db", copied)
    with closing(SqliteStore(copied)) as left:
        _, rows = left.rows()
    assert "member/late" in rows
    assert rows["meta/number"]["last"] > 150
    shutil.rmtree(copied)


def test_an_objective_of_the_testbed_is_proven_before_deploy(state: Path) -> None:
    need_target("twin")
    text = TEXT.replace("beats: 24", "beats: 24, output_rate: 1 Gb/s").replace(
        "name: blue,", "name: blue, objective: peak<=BOUND, period: 1 ms,"
    )
    with pytest.raises(BadInput, match="cannot be proven: it is not known how often the workers of 'red'"):
        quietly(bed(text.replace("BOUND", "20ms")))
    known = text.replace("name: red,", "name: red, period: 1 ms,")
    with pytest.raises(BadInput, match=r"would break peak<=0\.01ms of 'blue'"):
        quietly(bed(known.replace("BOUND", "0.01ms")))
    quietly(bed(known.replace("BOUND", "20ms")))
    local = LocalClient(Store(folder_of("kept")))
    for change, field, reason in (
        ("SetMode", {"mode": 2}, "cluster 'red' is of mode fifo"),
        ("SetReward", {"reward_threshold": 1}, "cluster 'red' has a reward rule"),
        ("SetStaleness", {"staleness_bound": 1}, "cluster 'red' has a staleness bound"),
    ):
        with pytest.raises(BadInput, match=reason):
            local.call(change, cluster="red", **field)
    # The engine itself is edited, not a cluster.
    for edit, reason in (
        ("output_rate: 100 kb/s", "would break peak<=20ms of 'blue'"),
        ("output_rate: off", "no rate"),
        ("output_rate: 1 Gb/s, reward_threshold: 1", "has a reward rule"),
    ):
        with pytest.raises(BadInput, match=reason):
            quietly(bed(known.replace("BOUND", "20ms").replace("output_rate: 1 Gb/s", edit)))
