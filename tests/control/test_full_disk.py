"""A full disk gives one line, and leaves nothing half-done."""

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from olafctl.control.status import is_healthy, read_status
from olafctl.control.store import RecordRole, Store, folder_of
from olafctl.daemon.keeping import LocalClient
from olafctl.membership.sqlite import SqliteStore
from olafctl.targets import processes
from olafswitch.errors import OlafError, Problem
from tests.control.conftest import bed, quietly

REMEDY = "make room on its disk, or set OLAF_STATE"


@contextmanager
def disk(folder: Path, kilobytes: int) -> Iterator[None]:
    """Yield a disk of that size at ``folder``."""
    folder.mkdir()
    line = ["mount", "-t", "tmpfs", "-o", f"size={kilobytes}k", "tmpfs", str(folder)]
    if subprocess.run(line, capture_output=True, check=False).returncode:
        pytest.skip("a small disk cannot be mounted here")
    try:
        yield
    finally:
        subprocess.run(["umount", "--lazy", str(folder)], check=True)


@pytest.mark.parametrize(
    ("kilobytes", "where"),
    [(8, "deployment.db"), (44, "build/vnp4_"), (104, "membership.db"), (136, "membership.db")],
    ids=["store", "build", "journal", "membership"],
)
def test_a_first_deploy_without_room_leaves_nothing(
    kilobytes: int, where: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    small = tmp_path / "small"
    monkeypatch.setenv("OLAF_STATE", str(small / "s"))
    with disk(small, kilobytes):
        with pytest.raises(OlafError) as failed:
            quietly(bed(tmp_path / "bed.yaml"))
        (problem,) = failed.value.problems
        assert where in problem.where
        assert "make room on its disk" in problem.remedy
        assert list((small / "s").iterdir()) == []


def test_what_cannot_be_recorded_as_running_is_taken_back(
    state: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def no_room(store: Store) -> None:
        raise OlafError(Problem("no room", str(store.folder), REMEDY))

    old = bed(tmp_path / "old.yaml")
    new = bed(tmp_path / "new.yaml", ("\nparameter_servers:", "  - {number: 9}\n\nparameter_servers:"))
    store = Store(folder_of("laptop"))
    with monkeypatch.context() as patched:
        patched.setattr(Store, "confirm", no_room)
        with pytest.raises(OlafError, match="no room"):
            quietly(old)
    assert (list(processes.find_processes(store.folder)), list(state.iterdir())) == ([], [])
    quietly(old)
    with monkeypatch.context() as patched:
        patched.setattr(Store, "confirm", no_room)
        with pytest.raises(OlafError, match="no room"):
            quietly(new)
    report = read_status(store)
    assert (is_healthy(report), len(report["ports"])) == (True, 4)
    assert store.record(RecordRole.WANTED) is None


def test_a_change_that_cannot_be_recorded_is_taken_back(
    state: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(store: SqliteStore, change: object) -> int:
        raise OlafError(Problem("no room"))

    second = "  - {name: rover, workers: [{name: rover-w0, port: 3, ip: 10.0.1.9}]}\n\nhosts:"
    quietly(bed(tmp_path / "pair.yaml", ("\nhosts:", second)))
    store = Store(folder_of("laptop"))
    before = read_status(store)["devices"]
    for call, fields in (("MoveWorker", {"worker": "lander-w0"}), ("Halt", {})):
        with monkeypatch.context() as patched:
            patched.setattr(SqliteStore, "finish", fail)
            with pytest.raises(OlafError, match="no room"):
                LocalClient(store).call(call, cluster="rover", **fields)
        report = read_status(store)
        assert (is_healthy(report), report["devices"]) == (True, before)


def test_reading_writes_nothing(state: Path, tmp_path: Path) -> None:
    quietly(bed(tmp_path / "bed.yaml"))
    kept = [folder_of("laptop") / name for name in ("deployment.db", "membership.db")]
    before = [(path.stat().st_mtime_ns, path.stat().st_ino) for path in kept]
    assert is_healthy(read_status(Store(folder_of("laptop"))))
    assert [(path.stat().st_mtime_ns, path.stat().st_ino) for path in kept] == before
