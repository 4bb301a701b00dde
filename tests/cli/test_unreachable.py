"""A verb ends with 1 when it cannot reach a daemon or machine: the request itself is right."""

from pathlib import Path

import pytest

from olafctl import paths
from olafctl.machines.certificates import issue_pair

from .conftest import Run

NOWHERE = "127.0.0.1:9"
VERBS = ("status", "logs", "graph", "capture 1 -w frames", "test", "shell root --print", "destroy")
MEMBERSHIP = ("backup file", "cluster list", "worker leave w", "top")
"""Verbs that a daemon carries out, or that work without one."""


@pytest.fixture
def desk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Provide a folder with an operator's certificates and no known deployment."""
    certificate, key = issue_pair(tmp_path / "made", "operator", (), 1, "operator")
    certificate.rename(tmp_path / "client.pem")
    key.rename(tmp_path / "client.key")
    (tmp_path / "made" / "ca.pem").rename(tmp_path / "ca.pem")
    monkeypatch.setenv("OLAF_CERTS", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize("verb", ["deploy", "deploy --dry-run", "build", "daemon"])
def test_a_testbeds_machine_that_is_away(verb: str, run: Run, desk: Path) -> None:
    text = (paths.sources() / "testbeds" / "laptop.yaml").read_text()
    machine = f"target: software\nmachines:\n  - {{name: m1, address: {NOWHERE}}}\n"
    text = text.replace("target: twin\n", machine).replace("engine:\n", "engine:\n  machine: m1\n")
    (desk / "bed.yaml").write_text(text)
    ended = run(*verb.split(), "bed.yaml")
    assert (ended.code, f"{NOWHERE}: machine m1 cannot be reached" in ended.err) == (1, True), ended


@pytest.mark.parametrize(
    ("setting", "verb"),
    [
        *(("OLAF_AGENT", verb) for verb in (*VERBS, *MEMBERSHIP)),
        *(("OLAF_DAEMON", verb) for verb in MEMBERSHIP),
    ],
)
def test_an_agent_or_a_daemon_that_is_away(
    setting: str, verb: str, run: Run, desk: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(setting, NOWHERE)
    first, *rest = verb.split()
    ended = run(first, *rest[:1], "--deployment", "bed", *rest[1:])
    assert (ended.code, NOWHERE in ended.err) == (1, True), ended
