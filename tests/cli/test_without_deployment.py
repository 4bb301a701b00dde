"""Verbs on deployments that do not exist, or of which only parts are left."""

import errno
import json
import os
from pathlib import Path

import pytest

from olafctl.cli.test import settings_from_elsewhere
from olafctl.control.locks import lock_deployment
from olafctl.machines.certificates import role_of
from olafswitch.errors import OlafError, Problem
from tests.cli.conftest import Run

VERBS = [("status",), ("test",), ("logs",), ("destroy",), ("shell", "vnp4_1")]


def begun(folder: Path) -> None:
    """Make a deployment of which only the lock exists."""
    folder.mkdir(parents=True)
    (folder / "olaf.lock").touch()


@pytest.mark.parametrize(
    "verb",
    [*VERBS, *(("cluster", *verb) for verb in (("threshold", "a", "2"), ("halt", "a"), ("fbcast", "a")))],
    ids=" ".join,
)
def test_nothing_is_deployed(verb: tuple[str, ...], run: Run, state: Path) -> None:
    ended = run(*verb)
    assert (ended.code, ended.err) == (2, "error: nothing is deployed (olafctl deploy TESTBED)\n")
    assert not state.exists()


@pytest.mark.parametrize(("options", "role"), [((), "reader"), (("--role", "operator"), "operator")])
def test_a_certificate_lets_its_holder_read_unless_a_role_is_given(
    run: Run, tmp_path: Path, options: tuple[str, ...], role: str
) -> None:
    assert run("certs", str(tmp_path), "client", *options).code == 0
    assert role_of((tmp_path / "client.pem").read_bytes()) == role


def test_a_board_is_refused_where_the_target_builds_for_none(run: Run) -> None:
    ended = run("build", "laptop", "--board", "AU200-100g")
    assert (ended.code, ended.out) == (2, "")
    assert ended.err == "error: --board: target twin builds for no board (add --target corundum)\n"


def test_errors_are_json_where_the_output_is(run: Run, state: Path) -> None:
    ended = run("status", "--json")
    remedy = "olafctl deploy TESTBED"
    problem = {"what": "nothing is deployed", "where": "", "remedy": remedy}
    assert json.loads(ended.out) == {"error": {"problems": [problem], "exit_code": 2}}
    assert (ended.code, ended.err) == (2, "")
    wrong = run("status", "--no-such-option", "--json")
    assert "--no-such-option" in json.loads(wrong.out)["error"]["problems"][0]["what"]
    assert wrong.code == 2


@pytest.mark.parametrize("verb", VERBS, ids=lambda verb: verb[0])
def test_of_several_one_must_be_named(verb: tuple[str, ...], run: Run, state: Path) -> None:
    begun(state / "one")
    begun(state / "two")
    ended = run(*verb)
    assert (ended.code, ended.err) == (2, "error: several deployments (name one of one, two)\n")


def test_a_name_that_is_none(run: Run, state: Path) -> None:
    begun(state / "one")
    ended = run("destroy", "-d", "../one")
    assert (ended.code, ended.err) == (2, "error: deployment '../one' does not exist (deployed: one)\n")
    assert (state / "one").is_dir()


def test_destroy_removes_what_a_crash_left(run: Run, state: Path) -> None:
    left = state / "one"
    (left / "ports").mkdir(parents=True)
    (left / "deployment.json").write_text("{half a rec")
    (left / "deployment.db").write_text("not a database")
    ended = run("destroy", "-d", "one")
    assert (ended.code, ended.out) == (0, "destroyed one\n")
    assert list(state.iterdir()) == []


def test_folders_of_others_are_no_deployments(run: Run, state: Path) -> None:
    theirs = state / "thesis" / "chapter.tex"
    theirs.parent.mkdir(parents=True)
    theirs.touch()
    assert run("destroy", "--all").out == "nothing is deployed\n"
    assert run("destroy", "-d", "thesis").code == 2
    assert theirs.is_file()


def test_destroy_all(run: Run, state: Path) -> None:
    begun(state / "one")
    begun(state / "two")
    assert run("destroy", "--all").out == "destroyed one\ndestroyed two\n"
    assert run("destroy", "--all").out == "nothing is deployed\n"
    begun(state / "one")
    assert [json.loads(run("destroy", "--all", "--json").out) for _ in range(2)] == [
        {"destroyed": ["one"]},
        {"destroyed": []},
    ]
    assert run("destroy", "-d", "one", "--all").code == 2
    assert run("destroy", "--orphans", "--all").code == 2


def test_logs_of_what_has_crashed(run: Run, state: Path) -> None:
    begun(state / "one")
    (state / "one" / "twin.log").write_bytes(b"first\nsecond\nlast \xff words\n")
    assert run("logs", "-n", 2).out == "twin.log: second\ntwin.log: last \\xff words\n"
    assert run("logs", "--paths").out == f"{state}/one/twin.log\n"
    assert run("logs", "-n", 1, "--json").out == '{"log": "twin.log", "line": "last \\\\xff words"}\n'
    assert json.loads(run("logs", "--paths", "--json").out) == {"path": f"{state}/one/twin.log"}


def test_results_of_a_command_that_fails_are_the_only_document(
    run: Run, state: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(store: object) -> None:
        raise OlafError(Problem("something stays", "one"))

    begun(state / "one")
    monkeypatch.setattr("olafctl.control.destroy.destroy_deployment", fails)
    ended = run("destroy", "--all", "--json")
    assert (ended.code, json.loads(ended.out)) == (1, {"destroyed": []})
    assert "one: something stays" in ended.err


def test_a_testbed_names_its_deployment(run: Run, state: Path) -> None:
    begun(state / "nine-clusters")
    assert run("destroy", "-d", "nine-clusters.yaml").out == "destroyed nine-clusters\n"
    assert run("destroy", "-d", "nine-clusters.yaml").err == (
        "error: deployment 'nine-clusters' does not exist (deployed: none)\n"
    )


@pytest.mark.parametrize("verb", [("status",), ("test",), ("shell", "vnp4_1")], ids=lambda verb: verb[0])
def test_a_store_that_is_not_a_database_is_reported(verb: tuple[str, ...], run: Run, state: Path) -> None:
    begun(state / "one")
    (state / "one" / "deployment.db").write_text("not a database, but long enough to look like a file")
    ended = run(*verb)
    assert ended.code == 1
    assert "cannot be used: file is not a database (`olafctl destroy` removes it)" in ended.err


def test_what_was_only_begun_was_never_deployed(run: Run, state: Path) -> None:
    begun(state / "one")
    ended = run("status")
    assert (ended.code, ended.err) == (1, "error: one: nothing was ever deployed (olafctl deploy TESTBED)\n")


def test_what_the_system_refuses_is_one_line(run: Run, state: Path) -> None:
    state.parent.mkdir(parents=True, exist_ok=True)
    begun(state / "one")
    (state / "one" / "twin.log").mkdir()
    ended = run("logs")
    assert (ended.code, ended.err) == (1, f"error: {state}/one/twin.log: Is a directory\n")


def test_more_lines_than_can_be_counted_are_all_lines(run: Run, state: Path) -> None:
    begun(state / "one")
    (state / "one" / "queue.log").write_text("first\nlast\n")
    ended = run("logs", "-n", 10**30)
    assert (ended.code, ended.out) == (0, "queue.log: first\nqueue.log: last\n")


def test_one_that_stays_does_not_keep_the_others(run: Run, state: Path) -> None:
    begun(state / "one")
    begun(state / "two")
    with lock_deployment(state / "one"):
        ended = run("destroy", "--all")
    assert (ended.code, ended.out) == (1, "destroyed two\n")
    assert "one: another olafctl is at work on this deployment" in ended.err


@pytest.mark.parametrize("where", ["file/report.xml", ""], ids=["in a file", "nothing"])
def test_an_unwritable_report_is_reported_before_any_test(
    where: str, run: Run, state: Path, tmp_path: Path
) -> None:
    (tmp_path / "file").touch()
    ended = run("test", "--junit", tmp_path / where if where else "")
    assert ended.code == 2
    assert "cannot be written" in ended.err and "choose another file for --junit" in ended.err


@pytest.mark.parametrize(
    ("word", "verb"),
    [
        ("plan", "deploy --dry-run"),
        ("down", "destroy"),
        ("up", "deploy"),
        ("depoly", "deploy"),
        ("xyzzy", ""),
    ],
)
def test_a_word_of_another_tool_gets_ours(word: str, verb: str, run: Run) -> None:
    ended = run(word)
    assert ended.code == 2
    assert ended.err.endswith(f"Error: No such command '{word}'.{f' Did you mean {verb}?' if verb else ''}\n")


def test_a_full_disk_is_reported_with_where_to_make_room(
    run: Run, state: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("olafctl.targets.testbeds.locate_testbed", full)
    ended = run("deploy", "laptop")
    assert (ended.code, f"(make room for {state} and " in ended.err) == (1, True)


def test_logs_and_audit_say_when_there_is_nothing_yet(run: Run, state: Path) -> None:
    begun(state / "one")
    (state / "one" / "queue.log").touch()
    assert run("logs").err == "one has logged nothing yet\n"
    ended = run("audit")
    assert (ended.code, "no daemon has written an audit log yet" in ended.err) == (1, True)


def test_a_state_folder_that_cannot_be_made_is_named(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OLAF_STATE", "/proc/nope")
    ended = run("deploy", "laptop")
    assert ended.code == 2
    assert "error: /proc/nope: the state folder cannot be made" in ended.err
    assert "(set OLAF_STATE to a folder of your own)" in ended.err


def test_packet_tests_find_relative_settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    names = ("OLAF_STATE", "OLAF_CACHE", "OLAF_CERTS", "OLAF_CARD", "OLAF_DAEMON")
    (tmp_path / "at").mkdir()
    for name in names:
        monkeypatch.setenv(name, "unix:at" if name == "OLAF_DAEMON" else "at")
    found = settings_from_elsewhere(os.environ)
    assert {found[name].removeprefix("unix:") for name in names} == {str(tmp_path / "at")}
