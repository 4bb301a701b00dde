"""Proofs about the Verilog: with a known defect put back, the bounded check of the whole queue finds it."""

from dataclasses import replace
from pathlib import Path

import pytest

from olafctl.bench.formal import design, proofs
from olafctl.bench.synthesis import yosys
from olafctl.errors import MissingTool


def _tools() -> str | None:
    try:
        yosys(), proofs.abc()
    except MissingTool as error:
        return str(error)
    return None


needs_tools = pytest.mark.skipif(_tools() is not None, reason=f"{_tools()}")
OVERFLOW = {
    "olaf_ingress": (
        "{1'b0, size} != size_by_length || !whole_gradients",
        "size != size_by_length[15:0] || size[1:0] != 2'd0",
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
def test_a_finished_round_that_accumulates_on_is_found() -> None:
    control = _proof("control-iswitch")
    changed = {"olaf_enqueue": ("commit_row = {!completes,", "commit_row = {1'b1,")}
    broken = replace(control.design, changed={**control.design.changed, **changed})
    assert proofs.run(replace(control, design=broken)).failed_at is not None


@needs_tools
def test_every_check_of_the_simulations_is_an_assertion(tmp_path: Path) -> None:
    assert design.circuit(proofs.WHOLE, tmp_path).stat().st_size > 10_000
    made = "".join(path.read_text() for path in (tmp_path / "hdl").glob("*.v"))
    assert "$stop" not in made and made.count("assert(1'b0)") >= 5
