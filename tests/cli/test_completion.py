"""The names of deployed objects that the shell offers."""

from collections.abc import Callable
from pathlib import Path

import pytest

from olafctl.cli import main
from olafctl.control.store import Record, RecordRole, Store
from tests.cli.commands import every
from tests.cli.conftest import Run

BED = """
name: {name}
engine: {{indices: 4, slots: 2, beats: 4}}
ports: [{{number: 1, name: ps}}, {{numbers: 2-3, name: tor}}]
parameter_servers: [{{name: ps, port: ps, ip: 10.0.0.254}}]
clusters: []
"""
Completed = Callable[[str], list[str]]
NAMING = [
    *((verb,) for verb in ("status", "destroy", "logs", "graph", "test", "top", "shell")),
    *(("exec",), ("exec", "HOST"), ("capture", "PORT"), ("backup", "FILE"), ("restore", "FILE")),
    *(("cluster", "list"), ("cluster", "halt", "CLUSTER"), ("worker", "leave", "WORKER")),
]


@pytest.fixture
def completed(state: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Completed:
    for name in ("lab", "laptop"):
        store = Store(state / name)
        store.put(RecordRole.RUNNING, Record(BED.format(name=name), state / f"{name}.yaml", "twin", "key"))

    def complete(words: str) -> list[str]:
        monkeypatch.setenv("_OLAFCTL_COMPLETE", "bash_complete")
        monkeypatch.setenv("COMP_WORDS", f"olafctl {words}")
        monkeypatch.setenv("COMP_CWORD", str(len(words.split(" "))))
        with pytest.raises(SystemExit):
            main.olafctl.main(prog_name="olafctl")
        return [line.partition(",")[2] for line in capsys.readouterr().out.split()]

    return complete


@pytest.mark.parametrize("verb", NAMING, ids=" ".join)
def test_names_of_deployments(completed: Completed, verb: tuple[str, ...]) -> None:
    """Every verb about a deployment names it in the same way."""
    assert completed(f"{' '.join(verb)} --deployment la") == ["lab", "laptop"]
    assert completed(f"{' '.join(verb)} -d lap") == ["laptop"]


def test_no_verb_names_a_deployment_as_an_argument() -> None:
    for verb, command in every():
        for each in command.params:
            if "--deployment" in each.opts or each.name == "deployment":
                assert each.opts == ["-d", "--deployment"], verb


def test_names_of_ports(completed: Completed) -> None:
    assert completed("capture --deployment lab t") == ["tor2", "tor3"]
    assert completed("capture t") == []  # it is not known which deployment's ports


def test_names_of_hosts_where_there_are_none(completed: Completed) -> None:
    assert completed("exec --deployment lab p") == []


def test_options_of_exec_stand_before_or_behind_the_host(run: Run, state: Path) -> None:
    for name in ("lab", "laptop"):
        (state / name).mkdir(parents=True)
        (state / name / "olaf.lock").touch()
    asked = (
        ("-d", "lab", "w1"),
        ("w1", "-d", "lab"),
        ("w1", "--deployment=lab"),
        ("w1", "--deployment", "lab"),
    )
    for words in asked:
        ended = run("exec", *words, "--", "true", "--deployment", "laptop")
        assert "lab" in ended.err and "several deployments" not in ended.err, words
    assert "several deployments" in run("exec", "w1", "true", "-d", "lab").err


def test_a_deployment_as_an_argument_gets_the_option(run: Run) -> None:
    ended = run("status", "lab")
    assert (ended.code, "A deployment is named with --deployment NAME." in ended.err) == (2, True)
