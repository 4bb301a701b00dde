import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from olafctl.cli.main import olafctl
from olafctl.wire.modes import Mode
from olaflab.main import olaflab
from olafswitch.errors import OlafError
from tests.lab.training.replay import small


@pytest.fixture(autouse=True)
def nothing_deployed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OLAF_STATE", str(tmp_path / "state"))


def run_replay(*words: str) -> Result:
    return CliRunner().invoke(olaflab, ["replay", *words])


WRONG = {
    "a rate of no unit": (["--rate", "40X"], "--rate: '40X"),
    "an empty rate": (["--rate", ""], "--rate: is empty"),
    "a negative rate": (["--rate", "-1G"], "--rate"),
    "a rate beyond the bus": (["--rate", "500G"], "--rate"),
    "an offered rate that is off": (["--offered", "off"], "--offered: cannot be unlimited"),
    "a link that is off": (["--link", "off"], "--link: cannot be unlimited"),
    "frames of no whole value": (["--frame-bytes", "257"], "frames of 257 bytes"),
    "frames beyond the model": (["--frame-bytes", "9036"], "frames of 9036 bytes"),
    "a testbed that is none": (["--testbed", "absent.yaml"], "absent.yaml"),
    "a deployment that is none": (["--testbed", "absent"], "deployment 'absent' does not exist"),
    "nothing deployed": ([], "nothing is deployed"),
}


@pytest.mark.parametrize("wrong", WRONG)
def test_wrong_input_is_one_line_and_nothing_is_replayed(wrong: str) -> None:
    words, message = WRONG[wrong]
    result = run_replay(str(small.SHIPPED), *words)
    assert isinstance(result.exception, OlafError)
    assert result.exception.exit_code == 2
    assert message in str(result.exception)
    assert len(result.exception.problems) == 1


def test_a_file_that_is_not_a_trace_is_reported() -> None:
    result = run_replay(__file__)
    assert isinstance(result.exception, OlafError)
    assert "is not an Olaf trace" in str(result.exception)


def test_a_deployed_engine_is_replayed_through_and_put_back(tmp_path: Path) -> None:
    runner = CliRunner()
    deployed = runner.invoke(olafctl, ["deploy", "laptop"])
    assert deployed.exit_code == 0, deployed.output
    try:
        words = ["--updates", "50", "--mode", "fifo", "--rate", "5G", "--plot", str(tmp_path / "ages.png")]
        figures = json.loads(run_replay(str(small.SHIPPED), *words, "--json").stdout)
        assert (figures["mode"], figures["rate"], figures["sent"]) == ("fifo", 5 * 10**9, 100)
        assert figures["violations"] == []
        assert figures["received"] + figures["lost"] == 100
        assert (tmp_path / "ages.png").read_bytes().startswith(b"\x89PNG")
        status = json.loads(runner.invoke(olafctl, ["status", "--json"]).stdout)
        assert {part["mode"] for part in status["queues"]["engine"]["indices"]} == {Mode.OLAF}
        assert (status["queues"]["engine"]["registers"]["rate"], status["drift"]) == (0, [])
        text = run_replay(str(small.SHIPPED), "--updates", "50", "--testbed", "laptop").stdout
        assert "Olaf, output" in text and "NOT CONSERVED" not in text
    finally:
        assert runner.invoke(olafctl, ["destroy", "-d", "laptop"]).exit_code == 0
