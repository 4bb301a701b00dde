"""Proofs about the Verilog: what is proved holds, and with a defect put back it does not."""

from dataclasses import replace
from pathlib import Path

import pytest

from olafctl.errors import MissingTool, OlafError
from olaflab.queue.formal import abc, design, proofs
from olaflab.queue.synthesis import yosys, yowasp


def _tools() -> str | None:
    try:
        yosys(), abc.available()
    except MissingTool as error:
        return str(error)
    return None


needs_tools = pytest.mark.skipif(_tools() is not None, reason=f"{_tools()}")
OVERFLOW = {
    "olaf_ingress": (
        "!size_by_length || !whole_gradients",
        "size != udp_length + OFFSET[15:0] || size[1:0] != 2'd0",
    )
}
"""A sum of too few bits: then a size of 0 passes as that of 65502 bytes of UDP."""


def _proof(name: str) -> proofs.Proof:
    return next(proof for proof in proofs.PROOFS if proof.name == name)


@needs_tools
def test_a_length_that_overflows_is_found() -> None:
    whole = _proof("whole")
    broken = replace(whole, design=replace(whole.design, changed=OVERFLOW), cycles=12)
    outcome = proofs.run(broken)
    assert outcome.failed_at is not None and outcome.failed_at < 12


@needs_tools
def test_an_update_that_is_sent_at_every_beat_is_found() -> None:
    conservation = _proof("conservation")
    changed = {
        "olaf_output": ("m_tready && m_tlast && wire_update;", "m_tready && wire_update;"),
    }
    outcome = proofs.run(replace(conservation, design=replace(conservation.design, changed=changed)))
    assert outcome.failed_at is not None


@needs_tools
def test_conservation_is_proved_for_ever() -> None:
    conservation = _proof("conservation")
    outcome = proofs.run(conservation)
    assert conservation.cycles is None and outcome.failed_at is None and outcome.checks > 1


@needs_tools
def test_the_control_is_proved_for_ever_in_every_mode_and_with_every_command() -> None:
    control = _proof("control")
    outcome = proofs.run(control)
    assert control.cycles is None and not control.design.assumed
    assert outcome.failed_at is None and outcome.checks > 50


@needs_tools
def test_a_lock_that_is_forgotten_is_not_proved() -> None:
    control = _proof("control")
    changed = {"olaf_enqueue": ("d_locked <= f_locked || f_locks;", "d_locked <= f_locked;")}
    with pytest.raises(OlafError, match="neither a proof nor a failure"):
        proofs.run(replace(control, design=replace(control.design, changed=changed)))


@needs_tools
def test_a_result_that_repeats_a_number_is_not_proved() -> None:
    control = _proof("control")
    changed = {"olaf_enqueue": ("d_finished_round + 1'b1 : d_seq", "d_finished_round : d_seq")}
    with pytest.raises(OlafError, match="neither a proof nor a failure"):
        proofs.run(replace(control, design=replace(control.design, changed=changed)))


@needs_tools
def test_what_is_learnt_of_versions_is_proved_and_a_step_back_is_found() -> None:
    newest = _proof("newest")
    assert proofs.run(newest).failed_at is None
    changed = {"olaf_newest": ("known && ahead[`OLAF_OLAF_POLICY_WIDTH-1]", "1'b0")}
    assert proofs.run(replace(newest, design=replace(newest.design, changed=changed))).failed_at is not None


@needs_tools
def test_a_contribution_is_taken_once_and_a_window_that_forgets_is_found() -> None:
    windows = _proof("windows")
    assert proofs.run(windows).failed_at is None
    changed = {"olaf_windows": ("older  ? earlier | place", "older  ? earlier")}
    assert proofs.run(replace(windows, design=replace(windows.design, changed=changed))).failed_at is not None


@needs_tools
def test_every_check_of_the_simulations_is_an_assertion(tmp_path: Path) -> None:
    assert design.circuit(proofs.WHOLE, tmp_path) >= 5
    made = "".join(path.read_text() for path in (tmp_path / "hdl").glob("*.v"))
    assert "$stop" not in made and made.count("assert(1'b0)") >= 5


@needs_tools
def test_the_abc_that_pip_installs_proves_as_well(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if yowasp() is None:
        pytest.skip("YoWASP's Yosys is missing: pip install './lab[synth]'")
    design.circuit(_proof("conservation").design, tmp_path)
    natively = abc.prove(tmp_path, "ind -F 4 -C 0")
    monkeypatch.setattr(abc, "_installed", lambda: None)
    assert abc.prove(tmp_path, "ind -F 4 -C 0")[0] == natively[0] == "UNSAT"
