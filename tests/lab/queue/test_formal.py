"""Proofs about the Verilog: what is proved holds, and with a defect put back it does not."""

from dataclasses import replace
from pathlib import Path

import pytest

from olaflab.queue.formal import design, proofs
from olafswitch.errors import MissingTool
from olafswitch.simulation.mapping import find_yosys, find_yowasp
from olaftest.queue import abc


def _need_tools() -> str | None:
    try:
        find_yosys(), abc.find_abc()
    except MissingTool as error:
        return str(error)
    return None


needs_tools = pytest.mark.skipif(_need_tools() is not None, reason=f"{_need_tools()}")
OVERFLOW = {
    "olaf_ingress": (
        "!size_by_length || !whole_gradients",
        "size != udp_length + OFFSET[15:0] || size[1:0] != 2'd0",
    )
}
"""A sum of too few bits: then a size of 0 passes as that of 65502 bytes of UDP."""


def _find_proof(name: str) -> proofs.Proof:
    return next(proof for proof in proofs.PROOFS if proof.name == name)


@needs_tools
def test_a_length_that_overflows_is_found() -> None:
    whole = _find_proof("whole")
    broken = replace(whole, design=replace(whole.design, changed=OVERFLOW), cycles=12)
    outcome = proofs.run_proof(broken)
    assert outcome.failed_at is not None and outcome.failed_at < 12


@needs_tools
def test_an_update_that_is_sent_at_every_beat_is_found() -> None:
    conservation = _find_proof("conservation")
    changed = {
        "olaf_output": ("m_tready && m_tlast && wire_update;", "m_tready && wire_update;"),
    }
    outcome = proofs.run_proof(replace(conservation, design=replace(conservation.design, changed=changed)))
    assert outcome.failed_at is not None


@needs_tools
def test_conservation_is_proved_for_ever() -> None:
    conservation = _find_proof("conservation")
    outcome = proofs.run_proof(conservation)
    assert conservation.cycles is None and outcome.failed_at is None and outcome.checks > 1


@needs_tools
def test_the_control_is_proved_in_every_mode_and_command() -> None:
    control = _find_proof("control")
    outcome = proofs.run_proof(control)
    assert control.cycles is None and not control.design.assumed
    assert outcome.failed_at is None and outcome.checks > 50


@needs_tools
@pytest.mark.parametrize(
    ("module", "before", "after"),
    [
        pytest.param(
            "olaf_lock",
            "fetch ? f_locked || f_locks : d_locked",
            "fetch ? f_locked : d_locked",
            id="a lock is forgotten",
        ),
        pytest.param(
            "olaf_contribution",
            "d_finished_round + 1'b1 : own_round",
            "d_finished_round : own_round",
            id="a result repeats a number",
        ),
        pytest.param(
            "olaf_enqueue",
            ".take(committed && numbers)",
            ".take(ended && !disposition[`OLAF_IS_DROP] && numbers)",
            id="a truncated contribution uses up its number",
        ),
    ],
)
def test_a_defect_of_the_control_is_found_with_its_cycle(module: str, before: str, after: str) -> None:
    control = _find_proof("control")
    changed = {module: (before, after)}
    outcome = proofs.run_proof(replace(control, design=replace(control.design, changed=changed)))
    assert outcome.failed_at is not None and outcome.failed_at < 20


@needs_tools
def test_version_learning_is_proved_and_a_step_back_is_found() -> None:
    newest = _find_proof("newest")
    assert proofs.run_proof(newest).failed_at is None
    for before, after in (
        ("known && after_newest[`OLAF_OLAF_WEIGHTS_VERSION_WIDTH-1]", "1'b0"),
        ("!of_stale ? {known, newest, older_acks, {COUNT_BITS{1'b0}}}", "!of_stale ? rows[place]"),
    ):
        changed = {"olaf_newest": (before, after)}
        assert (
            proofs.run_proof(replace(newest, design=replace(newest.design, changed=changed))).failed_at
            is not None
        )


@needs_tools
def test_a_contribution_is_taken_once_within_its_window() -> None:
    windows = _find_proof("windows")
    assert proofs.run_proof(windows).failed_at is None
    changed = {"olaf_windows": ("older  ? earlier | place", "older  ? earlier")}
    assert (
        proofs.run_proof(replace(windows, design=replace(windows.design, changed=changed))).failed_at
        is not None
    )


@needs_tools
def test_every_check_of_the_simulations_is_an_assertion(tmp_path: Path) -> None:
    assert design.write_circuit(proofs.WHOLE, tmp_path) >= 5
    made = "".join(path.read_text() for path in (tmp_path / "hdl").glob("*.v"))
    assert "$stop" not in made and made.count("assert(1'b0)") >= 5


@needs_tools
def test_the_abc_that_pip_installs_proves_as_well(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if find_yowasp() is None:
        pytest.skip("YoWASP's Yosys is missing: pip install './lab[synth]'")
    design.write_circuit(_find_proof("conservation").design, tmp_path)
    natively = abc.prove_circuit(tmp_path, "ind -F 4 -C 0")
    monkeypatch.setattr(abc, "_is_installed", lambda: None)
    assert abc.prove_circuit(tmp_path, "ind -F 4 -C 0")[0] == natively[0] == "UNSAT"
