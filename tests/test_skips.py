"""The suite's report of its skips, and the skips that fail it where everything is installed."""

import dataclasses
from pathlib import Path

import pytest

from olafctl.targets import registry
from olafctl.targets.testbeds import load_testbed
from tests.plugins import skips

pytest_plugins = ["pytester"]
LAPTOP = Path(__file__).parents[1] / "testbeds" / "laptop.yaml"
SUITE = """
import pytest

@pytest.mark.parametrize("number", [1, 2])
def test_trains(number):
    pytest.skip("torch is not installed")

@pytest.mark.skipif(True, reason="the kernel has no netem")
def test_is_late():
    pass

@pytest.mark.slow
def test_takes_long():
    pass

def test_passes():
    pass
"""


@pytest.fixture
def suite(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> pytest.Pytester:
    for name in (skips.RECORD, skips.STRICT):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("PYTHONPATH", str(Path(skips.__file__).parent))
    pytester.makepyfile(SUITE)
    return pytester


def run_suite(suite: pytest.Pytester) -> pytest.RunResult:
    return suite.runpytest_subprocess("-p", "skips", "-p", "no:cacheprovider")


@pytest.fixture
def record(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv(skips.RECORD, str(tmp_path / "skipped"))
    return tmp_path / "skipped"


def test_a_line_for_each_reason_and_a_record(suite: pytest.Pytester, record: Path) -> None:
    result = run_suite(suite)
    assert result.ret == pytest.ExitCode.OK
    result.stdout.fnmatch_lines(
        [
            "2 tests skipped: torch*",
            "1 test skipped: the kernel has no netem",
            f"1 test skipped: {skips.LEFT}",
        ]
    )
    names = [line.partition("::")[2] for line in record.read_text().splitlines()]
    assert names == ["test_trains[1]", "test_trains[2]", "test_is_late", "test_takes_long"]


def test_with_everything_installed_only_some_reasons_are_allowed(
    suite: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(skips.STRICT, "yes")
    result = run_suite(suite)
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    result.stdout.fnmatch_lines(["*must not skip*: torch is not installed*", "*::test_trains?2?"])
    result.stdout.no_fnmatch_line("*must not skip*netem*")
    result.assert_outcomes(passed=2, skipped=3)


@pytest.mark.parametrize("name", registry.target_names())
def test_a_target_without_its_card_and_its_checkout_may_skip(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for variable in ("OLAF_CARD", "OLAF_CARD_BOARD", "OLAF_CORUNDUM"):
        monkeypatch.delenv(variable, raising=False)
    bed = dataclasses.replace(load_testbed(LAPTOP), target=name)
    problems = registry.get_target(name).problems(bed, tmp_path)
    assert all(skips.allows_reason(f"the target {name} cannot run it here: {each}") for each in problems)
    assert problems or name not in ("opennic", "corundum", "corundum-sim")
