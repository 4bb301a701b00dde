"""The periodic check repairs changes of others, and leaves alone the daemon's own changes."""

import logging
import random
import re
from collections.abc import Callable, Iterator

import pytest

from olafctl.control.desired import desired_state
from olafctl.daemon.controller import Controller
from olafctl.membership.model import Cluster
from olafctl.membership.sqlite import SqliteStore
from olafctl.queue.registers import IndexSettings
from olafctl.wire.modes import Mode
from olafswitch.errors import OlafError
from olafswitch.p4runtime.entities import Entity, Lpm, MulticastGroup, Replica, TableEntry
from olafswitch.p4runtime.session import Change
from olaftest.daemon.daemon_process import wait_until
from tests.daemon.conftest import lab, read_held
from tests.daemon.deployment import behind_its_back
from tests.daemon.pair import DaemonPair
from tests.daemon.test_controller import ASK, answer_of, join_worker


@pytest.fixture
def checking(pair: DaemonPair) -> Iterator[Controller]:
    """Provide a controller that compares without a pause."""
    controller = Controller(pair, SqliteStore(pair.folder), check_every=0)
    controller.start()
    yield controller
    controller.close()


STRAY = TableEntry("forwarding", {"dst_addr": Lpm(0x0A090000, 16)}, "forward", {"port": 2})


@pytest.mark.parametrize(
    ("name", "change", "entity", "logged"),
    [
        (
            "vnp4_1",
            Change.DELETE,
            TableEntry("workers", {"worker_addr": 0x0A000101}),
            r"\+ vnp4_1 .*10\.0\.1\.1",
        ),
        ("vnp4_2", Change.INSERT, STRAY, r"- vnp4_2 .*10\.9\.0\.0"),
        ("vnp4_2", Change.MODIFY, MulticastGroup(1, [Replica(4, 1)]), r"~ vnp4_2 group 1"),
    ],
)
def test_what_others_changed_is_repaired_and_logged(
    checking: Controller,
    pair: DaemonPair,
    caplog: pytest.LogCaptureFixture,
    name: str,
    change: Change,
    entity: Entity,
    logged: str,
) -> None:
    answer_of(checking, ASK.create_cluster(Cluster("red")))
    answer_of(checking, join_worker(1))
    before = read_held(pair)
    with caplog.at_level(logging.INFO):
        running = pair.running()
        assert running is not None
        behind_its_back(running, name, change, entity)
        wait_until(lambda: read_held(pair) == before and bool(caplog.messages))
    assert any(re.search(logged, line) for line in caplog.messages)


def test_settings_that_others_changed_are_repaired(checking: Controller, pair: DaemonPair) -> None:
    answer_of(checking, ASK.create_cluster(Cluster("red", values=366 * 3, mode=Mode.ISWITCH)))
    answer_of(checking, join_worker(1))
    before = list(pair.registers.of_indices)
    pair.registers.configure(1, 9, IndexSettings(threshold=9))
    wait_until(lambda: pair.registers.of_indices == before)


def test_changes_that_go_on_meanwhile_are_no_drift(
    checking: Controller, pair: DaemonPair, caplog: pytest.LogCaptureFixture
) -> None:
    chance = random.Random(4)
    clusters = ["red", "blue", "green"]
    for cluster in clusters:
        answer_of(checking, ASK.create_cluster(Cluster(cluster, mode=Mode.ISWITCH)))
    present: set[int] = set()
    with caplog.at_level(logging.INFO):
        for _ in range(300):
            number = chance.randrange(1, 9)
            name = f"w{number}"
            if number not in present:
                answer_of(checking, join_worker(number, cluster=chance.choice(clusters)))
                present.add(number)
            elif chance.random() < 0.5:
                answer_of(checking, ASK.leave(name))
                present.discard(number)
            else:
                answer_of(checking, ASK.move(name, chance.choice(clusters)))
        for number in present:
            answer_of(checking, ASK.leave(f"w{number}"))
        for cluster in clusters:
            answer_of(checking, ASK.delete_cluster(cluster))
    assert caplog.messages == []
    assert read_held(pair) == desired_state(lab()).devices


def test_a_failed_check_leads_to_a_comparison_before_a_change(
    checking: Controller, pair: DaemonPair, registers_fail: Callable[[bool], None]
) -> None:
    answer_of(checking, ASK.create_cluster(Cluster("red")))
    registers_fail(True)
    wait_until(lambda: not checking.southbound.ready)
    registers_fail(False)
    answer_of(checking, join_worker(1))
    assert checking.southbound.ready


@pytest.fixture
def registers_fail(pair: DaemonPair, monkeypatch: pytest.MonkeyPatch) -> Callable[[bool], None]:
    """Provide a function that makes reads of the queue's settings fail, or work again."""
    settings = pair.registers.settings

    def refuse() -> object:
        raise OlafError

    return lambda fails: monkeypatch.setattr(pair.registers, "settings", refuse if fails else settings)
