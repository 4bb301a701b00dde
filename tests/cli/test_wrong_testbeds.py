"""Every verb answers a wrong testbed with one clear line per problem and exit code 2; nothing starts."""

from pathlib import Path

import pytest

from olafctl import paths
from tests.cli.conftest import Run
from tests.testbed.wrong_testbeds import TABLE, Wrong


@pytest.mark.parametrize("wrong", TABLE, ids=lambda wrong: wrong.name)
def test_deploy_says_one_line_per_problem_and_starts_nothing(
    wrong: Wrong, run: Run, state: Path, tmp_path: Path
) -> None:
    path = tmp_path / "wrong.yaml"
    path.write_text(wrong.text)
    ended = run("deploy", path)
    assert (ended.code, ended.out) == (2, "")
    assert ended.err.splitlines() == [f"error: {path}:{line}" for line in wrong.errors]
    assert not state.exists()


@pytest.mark.parametrize("verb", ["build", "deploy"])
def test_a_testbed_that_is_not_there(verb: str, run: Run, state: Path) -> None:
    ended = run(verb, "nowhere.yaml")
    assert ended.code == 2
    shipped = ", ".join(sorted(path.stem for path in (paths.sources() / "testbeds").glob("*.yaml")))
    assert ended.err == (
        f"error: nowhere.yaml: no such file (`olafctl init` writes a testbed; shipped: {shipped})\n"
    )
    assert not state.exists()
