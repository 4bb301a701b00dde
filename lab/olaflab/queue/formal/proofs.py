"""Proofs of properties of OlafQueue, and the proving.

Bounded: no check fails within so many cycles of power-up, whatever comes in. Unbounded: none ever does;
either ABC finds the invariant by itself (property directed reachability), or the assertions are such that
they follow from themselves (induction). docs/formal.md lists each proof's assumptions.
"""

import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from olaflab.queue.formal.design import Design, write_circuit
from olafswitch.errors import OlafError, Problem
from olaftest.queue import abc

_UNBOUNDED_SECONDS = 3600
_SEARCHED = 20
"""Cycles in which a failure is looked for when an induction does not go through."""
_AXIS_STABILITY = "an offered beat changed"
_ARITHMETIC = (
    "olaf_fp32_add",
    "olaf_payload_store",
    "olaf_activity",
    "olaf_reward_bounds",
    "olaf_reward_key",
)
_WITH_MEMORIES = (
    *("olaf_queue_checks", "olaf_free_list", "olaf_out_list", "olaf_slots", "olaf_index_table"),
    *("olaf_accumulate", "olaf_settings", "olaf_merged_headers"),
)


@dataclass(frozen=True)
class Proof:
    """A claim about a design, how it is proved, and its assumptions."""

    name: str
    claim: str
    design: Design
    cycles: int | None = None
    """Clock cycles from power-up on that are looked at; None proves it for ever."""
    induction: int | None = None
    """Prove it by induction over so many cycles; None lets ABC search for an invariant."""
    assumptions: tuple[str, ...] = ()
    """Restrictions of the inputs or of what is cut, which are not proved here."""


@dataclass(frozen=True)
class ProofOutcome:
    """``failed_at``: the first cycle in which a check fails; None when none does."""

    proof: Proof
    checks: int
    failed_at: int | None


WHOLE = Design("queue_top.v", cut_modules=_ARITHMETIC, without=(_AXIS_STABILITY,))
CONTROL = Design(
    "queue_top.v",
    cut_modules=(*_ARITHMETIC, "olaf_output", "olaf_rate_limiter", "olaf_skid"),
    cut_wires=(
        "queue.ingress.data",
        *(f"queue.enqueue.{name}" for name in ("f_data", "d_data", "merged.d_key", "d_missing")),
    ),
    added={"formal_top": ("control_invariant.vh", "departure_invariant.vh", "numbers_invariant.vh")},
    words=_WITH_MEMORIES,
    without=(_AXIS_STABILITY,),
)
_BEAT_IN_LINE = tuple(f"out.next_{name}" for name in ("user", "data", "keep"))
_GEOMETRY = "2 indices, 2 slots of 2 beats, 2 members, adder latency 4"
_ALONE = (
    "at most one beat is issued in a cycle, and only while the output says it is free (`control` proves it)",
)
PROOFS = (
    Proof("whole", "no check of the queue fails", WHOLE, cycles=22, assumptions=(_GEOMETRY,)),
    Proof(
        "control",
        "no slot is both free and queued, no buffer is lost, at most one unlocked update an index, every "
        "update is settled as exactly one thing, none departs before its end, results of numbered sums have "
        "numbers without gaps; any mode, any command",
        CONTROL,
        induction=4,
        assumptions=(_GEOMETRY,),
    ),
    Proof(
        "stability",
        "what the output offers stays as it is until it is taken (AXI4-Stream)",
        Design("output_top.v", cut_wires=_BEAT_IN_LINE),
        assumptions=_ALONE,
    ),
    Proof(
        "newest",
        "what is known of an index is an ACK's version; sixteen older ACKs in a row set it back, sixteen "
        "stale updates in a row forget it, and nothing but a command does so sooner",
        Design("newest_top.v", added={"formal_top": ("newest_moves.vh",)}, words=("olaf_newest",)),
        induction=5,
        assumptions=(
            "frames come in one after the other; a command waits while one teaches (`control` checks it)",
        ),
    ),
    Proof(
        "windows",
        "no numbered contribution is taken twice, and none within the window is refused that was not taken",
        Design("windows_top.v", added={"olaf_windows": ("windows_once.vh",)}),
        induction=4,
        assumptions=(
            "an update is looked up, compared, then taken at most once; it is known of whose members "
            "something was taken (`control` proves both)",
        ),
    ),
    Proof(
        "conservation",
        "every update that was read from its slot is sent once",
        Design(
            "output_top.v",
            cut_wires=_BEAT_IN_LINE,
            added={"olaf_output": ("output_conservation.vh",)},
            without=("if (waits) assert",),
        ),
        induction=4,
        assumptions=_ALONE,
    ),
)


def run_proof(proof: Proof) -> ProofOutcome:
    """Prove it.

    Raises MissingTool without Yosys or ABC, OlafError when there is neither a proof nor a failure.
    """
    abc.find_abc()
    with tempfile.TemporaryDirectory(prefix="olaf-formal-") as folder:
        work = Path(folder)
        return ProofOutcome(proof, write_circuit(proof.design, work), _find_failure(proof, work))


def _find_failure(proof: Proof, work: Path) -> int | None:
    """Find the first cycle in which a check fails; None when it is proved that none does."""
    if proof.cycles:
        return _check_bounded(proof, work, proof.cycles)
    if proof.induction:
        # A step takes so many cycles for granted; they must hold to start with, after those of reset.
        failed_at = _check_bounded(proof, work, proof.induction + 5)
        if failed_at is not None:
            return failed_at
        method = f"ind -F {proof.induction} -C 0"
    else:
        method = f"pdr -T {_UNBOUNDED_SECONDS}"
    verdict, cycle = abc.prove_circuit(work, method)
    if verdict == "UNK" and proof.induction:
        # The step does not go through: perhaps because a check can fail, and then in so many cycles mostly.
        failed_at = _check_bounded(proof, work, _SEARCHED)
        if failed_at is not None:
            return failed_at
    if verdict == "UNK":
        raise OlafError(Problem("neither a proof nor a failure is found", where=f"proof {proof.name}"))
    return cycle if verdict == "SAT" else None


def _check_bounded(proof: Proof, work: Path, cycles: int) -> int | None:
    verdict, cycle = abc.prove_circuit(work, f"bmc3 -F {cycles}")
    if verdict == "SAT":
        return cycle
    if cycle < cycles - 1:
        raise OlafError(Problem(f"only {cycle + 1} cycles were looked at", where=f"proof {proof.name}"))
    return None


def run_all(proofs: tuple[Proof, ...] = PROOFS) -> Iterator[ProofOutcome]:
    """Run every proof, one after the other."""
    for proof in proofs:
        yield run_proof(proof)
