"""The audit log is complete and in order, and a change to it shows."""

import fcntl
import hashlib
import json
import resource
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Thread

import pytest

from olafctl.daemon.api.client import DaemonClient
from olafctl.daemon.api.server import Server
from olafctl.daemon.controller import Controller
from olafctl.daemon.operate.audit import AuditLog, read_audit_log
from olafswitch.errors import BadInput, OlafError
from tests.daemon.deployment import DEADLINE
from tests.daemon.test_api import own_deployment


@pytest.fixture
def path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("OLAF_STATE", str(tmp_path / "state"))
    return tmp_path / "log" / "audit.log"


@pytest.fixture
def log(path: Path) -> Iterator[AuditLog]:
    opened = AuditLog(path)
    yield opened
    opened.close()


def fill_log(path: Path, lines: int) -> list[bytes]:
    log = AuditLog(path)
    for number in range(lines):
        log.append("unix", f"Call{number}", "ok").result(DEADLINE)
    log.close()
    return path.read_bytes().splitlines(keepends=True)


def test_changes_and_refusals_are_noted_without_keys(
    controller: Controller, log: AuditLog, path: Path
) -> None:
    server = Server(own_deployment(controller), f"unix:{path.parent}/d/olaf.sock", audit=log)
    try:
        with DaemonClient(server.address, timeout=DEADLINE) as client:
            client.call("CreateCluster", name="red", key="5ec2e7" * 8)
            with pytest.raises(BadInput):
                client.call("Leave", worker="w1")
            client.call("GetStatus")
    finally:
        server.stop()
    lines = list(read_audit_log(path))
    assert [(line["who"], line["what"]) for line in lines] == [("unix", "CreateCluster"), ("unix", "Leave")]
    assert lines[0]["request"] == {"name": "red", "key": "given"}
    assert (lines[0]["outcome"], "does not exist" in lines[1]["outcome"]) == ("ok", True)
    assert "5ec2e7" not in path.read_text()


def test_only_its_owner_may_read_it(log: AuditLog, path: Path) -> None:
    assert (path.stat().st_mode & 0o077, path.parent.stat().st_mode & 0o077) == (0, 0)


def test_an_outcome_that_is_not_utf8_is_noted(log: AuditLog, path: Path) -> None:
    for outcome in ("cannot be used: /srv/caf\udce9", "ok"):
        log.append("unix", "Leave", outcome).result(DEADLINE)
    assert [line["outcome"] for line in read_audit_log(path)] == ["cannot be used: /srv/caf\udce9", "ok"]


def test_many_at_once_are_all_there(log: AuditLog, path: Path) -> None:
    def append(who: int) -> None:
        for number in range(50):
            log.append(f"w{who}", f"Call{number}", "ok").result(DEADLINE)

    threads = [Thread(target=append, args=(who,)) for who in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(list(read_audit_log(path))) == 400


def test_the_chain_goes_on_after_a_restart_and_a_rotation(path: Path) -> None:
    fill_log(path, 3)
    fill_log(path, 2)
    log = AuditLog(path)
    path.rename(path.with_suffix(".1"))
    log.append("unix", "Join", "ok").result(DEADLINE)
    log.close()
    old = list(read_audit_log(path.with_suffix(".1")))
    assert len(old) == 5
    [new] = read_audit_log(path)
    joined = path.with_suffix(".all")
    joined.write_bytes(path.with_suffix(".1").read_bytes() + path.read_bytes())
    assert list(read_audit_log(joined))[-1] == new


@pytest.mark.parametrize("damage", ["changed", "removed", "inserted", "swapped"])
def test_a_line_that_was_tampered_with_shows(path: Path, damage: str) -> None:
    lines = fill_log(path, 5)
    match damage:
        case "changed":
            lines[1] = lines[1].replace(b"Call1", b"Call9")
        case "removed":
            del lines[1]
        case "inserted":
            lines.insert(2, json.dumps({"what": "Leave", "previous": "0" * 64}).encode() + b"\n")
        case _:
            lines[1], lines[2] = lines[2], lines[1]
    path.write_bytes(b"".join(lines))
    with pytest.raises(OlafError, match=r"audit\.log:[23]: does not follow from the line before it"):
        list(read_audit_log(path))


def test_a_line_cut_off_by_a_crash_is_found_and_the_log_goes_on(path: Path) -> None:
    lines = fill_log(path, 2)
    path.write_bytes(b"".join(lines)[:-20])
    fill_log(path, 1)
    with pytest.raises(OlafError, match=r"audit\.log:2: is not a line of an audit log"):
        list(read_audit_log(path))
    assert len(path.read_bytes().splitlines()) == 3


def test_processes_that_write_one_log_keep_one_chain(log: AuditLog, path: Path) -> None:
    other = AuditLog(path)
    for number in range(4):
        for each in (log, other):
            each.append("unix", f"Call{number}", "ok").result(DEADLINE)
    other.close()
    assert [line["what"] for line in read_audit_log(path)] == [f"Call{n // 2}" for n in range(8)]


def test_what_something_else_appended_meanwhile_breaks_the_chain(log: AuditLog, path: Path) -> None:
    log.append("unix", "Join", "ok").result(DEADLINE)
    first = path.read_bytes()
    forged = {"what": "Leave", "previous": hashlib.sha256(first.rstrip(b"\n")).hexdigest()}
    with path.open("ab") as file:
        file.write(json.dumps(forged).encode() + b"\n")
    log.append("unix", "Halt", "ok").result(DEADLINE)
    with pytest.raises(OlafError, match=r"audit\.log:3: does not follow"):
        list(read_audit_log(path))


def test_a_log_that_cannot_be_written_says_so(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(OlafError, match="cannot be written"):
        AuditLog(tmp_path / "file" / "audit.log")


def test_a_missing_folder_is_reported_until_it_is_back(log: AuditLog, path: Path) -> None:
    log.append("unix", "Join", "ok").result(DEADLINE)
    path.parent.rename(path.parent.with_name("away"))
    for _ in range(3):
        with pytest.raises(OlafError, match=r"audit\.log: cannot be written"):
            log.append("unix", "Leave", "ok").result(DEADLINE)
    path.parent.with_name("away").rename(path.parent)
    log.append("unix", "Halt", "ok").result(DEADLINE)
    assert [line["what"] for line in read_audit_log(path)] == ["Join", "Halt"]


def test_a_log_begun_by_another_daemon_stays_the_others(log: AuditLog, path: Path) -> None:
    log.append("unix", "Join", "ok").result(DEADLINE)
    path.rename(path.with_suffix(".1"))
    with path.open("wb") as other:
        fcntl.flock(other, fcntl.LOCK_EX)
        with pytest.raises(OlafError, match="another process holds its lock"):
            log.append("unix", "Leave", "ok").result(DEADLINE)
    assert path.read_bytes() == b""
    log.append("unix", "Halt", "ok").result(DEADLINE)
    joined = path.with_suffix(".all")
    joined.write_bytes(path.with_suffix(".1").read_bytes() + path.read_bytes())
    assert [line["what"] for line in read_audit_log(joined)] == ["Join", "Halt"]


@contextmanager
def files_of_at_most(size: int) -> Iterator[None]:
    """Limit files to ``size`` like a full disk: the kernel writes what still fits, and only then refuses."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


def test_a_line_that_fits_the_disk_in_part_is_refused_whole(log: AuditLog, path: Path) -> None:
    log.append("unix", "Join", "ok").result(DEADLINE)
    with files_of_at_most(path.stat().st_size + 20), pytest.raises(OlafError, match="make room on its disk"):
        log.append("unix", "Leave", "ok").result(DEADLINE)
    log.append("unix", "Halt", "ok").result(DEADLINE)
    assert [line["what"] for line in read_audit_log(path)] == ["Join", "Halt"]


@pytest.mark.parametrize("left", [0, 2])
def test_lines_that_are_cut_off_at_the_end_show(path: Path, left: int) -> None:
    lines = fill_log(path, 4)
    path.write_bytes(b"".join(lines[:left]))
    with pytest.raises(OlafError, match="lines at its end are missing"):
        list(read_audit_log(path))


def test_a_log_that_was_cut_off_is_gone_on_with_so_that_it_shows(
    path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    lines = fill_log(path, 4)
    path.write_bytes(b"".join(lines[:2]))
    fill_log(path, 1)
    assert "lines at its end are missing" in caplog.text
    with pytest.raises(OlafError, match=r"audit.log:3: does not follow from the line before it"):
        list(read_audit_log(path))


@pytest.mark.parametrize("meanwhile", ["the daemon runs", "no daemon runs"])
def test_a_log_that_was_emptied_does_not_look_rotated(path: Path, meanwhile: str) -> None:
    fill_log(path, 4)
    log = AuditLog(path)
    if meanwhile == "no daemon runs":
        log.close()
    path.write_bytes(b"")
    if meanwhile == "no daemon runs":
        log = AuditLog(path)
    log.append("unix", "Join", "ok").result(DEADLINE)
    log.close()
    with pytest.raises(OlafError, match="it was emptied"):
        list(read_audit_log(path))
    fill_log(path, 1)
    with pytest.raises(OlafError, match="it was emptied"):
        list(read_audit_log(path))
    path.rename(path.with_suffix(".1"))
    fill_log(path, 2)
    assert len(list(read_audit_log(path))) == 2


def test_a_log_that_is_rotated_between_two_daemons_is_whole(path: Path) -> None:
    fill_log(path, 4)
    path.rename(path.with_suffix(".1"))
    fill_log(path, 2)
    [*_, last] = path.with_suffix(".1").read_bytes().splitlines()
    first, _ = read_audit_log(path)
    assert first["previous"] == hashlib.sha256(last).hexdigest()
    assert len(list(read_audit_log(path.with_suffix(".1")))) == 4
