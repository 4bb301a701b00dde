"""What the shell is offered where a name is due, of what was deployed."""

from collections.abc import Callable
from pathlib import Path

import pytest

from olafctl.cli import main
from olafctl.control.store import Record, Role, Store

BED = """
name: {name}
engine: {{indices: 4, slots: 2, beats: 4}}
ports: [{{number: 1, name: ps}}, {{numbers: 2-3, name: tor}}]
parameter_servers: [{{name: ps, port: ps, ip: 10.0.0.254}}]
clusters: []
"""
Completed = Callable[[str], list[str]]


@pytest.fixture
def completed(state: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Completed:
    for name in ("lab", "laptop"):
        store = Store(state / name)
        store.put(Role.RUNNING, Record(BED.format(name=name), state / f"{name}.yaml", "twin", "key"))

    def complete(words: str) -> list[str]:
        monkeypatch.setenv("_OLAFCTL_COMPLETE", "bash_complete")
        monkeypatch.setenv("COMP_WORDS", f"olafctl {words}")
        monkeypatch.setenv("COMP_CWORD", str(len(words.split(" "))))
        with pytest.raises(SystemExit):
            main.olafctl.main(prog_name="olafctl")
        return [line.partition(",")[2] for line in capsys.readouterr().out.split()]

    return complete


@pytest.mark.parametrize(
    "verb", ["status", "destroy", "logs", "graph", "test", "backup", "exec --deployment"]
)
def test_names_of_deployments(completed: Completed, verb: str) -> None:
    assert completed(f"{verb} la") == ["lab", "laptop"]
    assert completed(f"{verb} lap") == ["laptop"]


def test_names_of_ports(completed: Completed) -> None:
    assert completed("capture --deployment lab t") == ["tor2", "tor3"]
    assert completed("capture t") == []  # which deployment's?


def test_names_of_hosts_where_there_are_none(completed: Completed) -> None:
    assert completed("exec --deployment lab p") == []
