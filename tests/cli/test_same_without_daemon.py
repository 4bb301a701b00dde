"""`cluster` and `worker` do, answer and refuse the same, whether or not a daemon keeps the deployment."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Any

import click
import pytest

from olafctl.cli import main
from olafctl.control.destroy import destroy_deployment
from olafctl.control.status import read_status
from olafctl.control.store import Store, folder_of
from olafctl.daemon.daemon import serve_deployments
from olafctl.daemon.keeping import kept_by, open_keeper
from olafctl.daemon.site import Deployment
from olafctl.targets import testbeds
from tests.cli.conftest import run_for_json
from tests.control.test_members import TEXT
from tests.targets.conftest import need_target

COMMANDS: tuple[tuple[object, ...], ...] = (
    ("cluster", "create", "rounds", "--mode", "iswitch", "--values", 1000, "--reward-threshold", "off"),
    ("worker", "join", "rounds", "10.0.3.1", "--port", 2, "--name", "w1"),
    ("worker", "join", "2", "10.0.3.2", "--port", 3, "--name", "w2"),
    ("worker", "join", "rounds", "10.0.3.2", "--port", 4, "--name", "w3"),
    ("cluster", "threshold", "rounds", 1),
    ("cluster", "threshold", "rounds", 3),
    ("cluster", "fbcast", "rounds", "--segment", 2),
    ("cluster", "fbcast", "red"),
    ("cluster", "reset", "rounds"),
    ("cluster", "help", "rounds", "w1", "--segment", 0, "--round", 7),
    ("cluster", "help", "red", "w1", "--segment", 0, "--round", 7),
    ("cluster", "halt", "red"),
    ("cluster", "resume", "red"),
    ("cluster", "mode", "red", "fifo"),
    ("cluster", "reward", "red", "0.5"),
    ("cluster", "reward", "red", "nan"),
    ("cluster", "reward", "red", "1e300"),
    ("cluster", "create", "n" * 33),
    ("worker", "move", "w2", "blue", "--port", 4),
    ("worker", "move", "w2", "nowhere"),
    ("worker", "leave", "w1"),
    ("worker", "leave", "w1"),
    ("cluster", "delete", "rounds"),
    ("cluster", "create", "again", "--values", 5000),
)
Answer = tuple[object, Any]


@pytest.fixture
def run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Iterator[Callable[..., Answer]]:
    need_target("twin")
    monkeypatch.setenv("OLAF_STATE", str(tmp_path / "s"))
    monkeypatch.delenv("OLAF_DAEMON", raising=False)
    yield partial(run_for_json, capsys)
    destroy_deployment(Store(folder_of("kept")))


def test_the_same_is_done_and_reported(run: Callable[..., Answer], tmp_path: Path) -> None:
    file = tmp_path / "kept.yaml"
    file.write_text(TEXT)
    store = Store(folder_of("kept"))
    outcomes = []
    for with_daemon in (False, True):
        assert run("deploy", file)[0] == 0
        with ExitStack() as stack:
            if with_daemon:
                site = Deployment(store, testbeds.load_testbed(file), lambda step: None)
                stack.enter_context(serve_deployments([site], f"unix:{tmp_path}/d.sock"))
            text = [run(*command) for command in COMMANDS]
            code, [shown] = run("cluster", "list")
            kept = stack.enter_context(open_keeper(store.folder))
            report = read_status(store, kept_by(kept, "kept") if kept else None)
        listed = {key: shown[key] for key in ("name", "ready", "problem", "clusters", "workers")}
        assert (code, report["drift"]) == (0, [])
        outcomes.append((text, listed, report["devices"]["vnp4_2"]["groups"]))
        destroy_deployment(store)
    without, by_daemon = outcomes
    for command, one, other in zip(COMMANDS, without[0], by_daemon[0], strict=True):
        assert one == other, command
    assert without[1:] == by_daemon[1:]
    refused = [command for command, (code, _) in zip(COMMANDS, without[0], strict=True) if code]
    assert [command[:3] for command in refused] == [
        ("worker", "join", "rounds"),
        ("cluster", "threshold", "rounds"),
        ("cluster", "fbcast", "red"),
        ("cluster", "help", "red"),
        ("cluster", "reward", "red"),
        ("cluster", "reward", "red"),
        ("cluster", "create", "n" * 33),
        ("worker", "move", "w2"),
        ("worker", "leave", "w1"),
    ]


def test_only_a_daemon_reports_changes(run: Callable[..., Answer], tmp_path: Path) -> None:
    file = tmp_path / "kept.yaml"
    file.write_text(TEXT)
    assert run("deploy", file)[0] == 0
    code, text = run("cluster", "watch")
    assert (code, text["error"]["problems"][0]["what"]) == (
        1,
        "no daemon keeps it, and only a daemon reports changes",
    )


@pytest.mark.parametrize("lease", ["nan", "inf", "-1"])
@pytest.mark.parametrize("verb", [["worker", "join", "red", "10.0.1.1", "--port", "2"], ["daemon"]])
def test_a_lease_is_a_number_of_seconds(verb: list[str], lease: str) -> None:
    with pytest.raises(click.BadParameter, match=r"--lease|finite|range"):
        main.olafctl.main([*verb, "--lease", lease], standalone_mode=False)
