"""Backups of a membership are taken while it is in use; damaged, newer and foreign ones are refused."""

import json
from collections.abc import Callable
from dataclasses import replace
from ipaddress import IPv4Address
from pathlib import Path
from typing import Any

import pytest

from olafctl.daemon.controller import Controller
from olafctl.membership.backup import backup_content, read_backup, restore_backup, write_backup
from olafctl.membership.model import Cluster
from olafctl.membership.sqlite import SqliteStore
from olafctl.testbed.ground import make_ground as ground_of
from olafswitch.errors import BadInput, OlafError
from tests.daemon.conftest import Started, lab, read_held
from tests.daemon.pair import DaemonPair
from tests.daemon.test_controller import ASK, answer_of, join_worker

GROUND = ground_of(lab())


@pytest.fixture
def made(controller: Controller, pair: DaemonPair, tmp_path: Path) -> Path:
    """Provide a running controller's backup of one cluster with one member."""
    answer_of(controller, ASK.create_cluster(Cluster("red", key="ab" * 16)))
    answer_of(controller, join_worker(1))
    store = SqliteStore(pair.folder)
    write_backup(backup_content(store, "lab"), tmp_path / "backup.json")
    store.close()
    return tmp_path / "backup.json"


def test_what_was_backed_up_comes_back_to_store_and_devices(
    made: Path, controller: Controller, started: Started, pair: DaemonPair
) -> None:
    before = read_held(pair)
    answer_of(controller, ASK.leave("w1"))
    answer_of(controller, ASK.create_cluster(Cluster("blue")))
    revision = controller.status().revision
    controller.close()
    store = SqliteStore(pair.folder)
    assert restore_backup(store, read_backup(made, GROUND)) > 0
    assert restore_backup(store, read_backup(made, GROUND)) == 0
    store.close()
    again = started()
    answer_of(again, ASK.set_threshold("red", 0))
    assert ([row["name"] for row in again.status().members], read_held(pair)) == (["w1"], before)
    assert again.status().revision == revision + 1, "who watched can go on watching"


def test_a_control_message_stays_used(made: Path, pair: DaemonPair, controller: Controller) -> None:
    controller.close()
    store = SqliteStore(pair.folder)
    store.finish({"nonce/red/10.0.1.1": {"last": 7}})
    restore_backup(store, read_backup(made, GROUND))
    assert store.rows()[1]["nonce/red/10.0.1.1"] == {"last": 7}
    store.close()


def test_only_its_owner_may_read_a_backup(made: Path) -> None:
    assert made.stat().st_mode & 0o077 == 0


def cut_off(text: str) -> str:
    return text[:-10]


def one_digit(text: str) -> str:
    return text.replace("10.0.1.1", "10.0.1.2")


def make_newer(text: str) -> str:
    return text.replace('"version": 1', '"version": 2')


def make_foreign(text: str) -> str:
    content: dict[str, Any] = json.loads(text)
    return json.dumps(content["rows"])


@pytest.mark.parametrize(
    ("damage", "output"),
    [(cut_off, "damaged"), (one_digit, "damaged"), (make_newer, "newer Olaf"), (make_foreign, "no backup")],
)
def test_a_file_that_is_not_whole_or_newer_changes_nothing(
    made: Path, tmp_path: Path, damage: Callable[[str], str], output: str
) -> None:
    store = SqliteStore(tmp_path / "other")
    made.write_text(damage(made.read_text()))
    with pytest.raises(BadInput, match=rf"backup\.json: .*{output}"):
        restore_backup(store, read_backup(made, GROUND))
    assert store.rows() == (0, {})
    store.close()


def test_it_must_fit_the_deployment(made: Path, tmp_path: Path) -> None:
    store = SqliteStore(tmp_path / "other")
    with pytest.raises(BadInput, match="a backup of 'lab', not of 'office'"):
        read_backup(made, replace(GROUND, name="office"))
    for ground in (replace(GROUND, indices=0), replace(GROUND, address=IPv4Address("10.0.1.1"))):
        with pytest.raises(BadInput, match="does not fit this deployment"):
            read_backup(made, ground)
    store.close()


def test_a_folder_that_is_missing_is_an_error_for_people(pair: DaemonPair, tmp_path: Path) -> None:
    store = SqliteStore(tmp_path / "other")
    with pytest.raises(OlafError, match="cannot be written"):
        write_backup(backup_content(store, "lab"), tmp_path / "missing" / "backup.json")
    store.close()
