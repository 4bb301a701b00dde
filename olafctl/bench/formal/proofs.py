"""What is proved about OlafQueue, and the proving.

Bounded: from reset on, no check fails within so many cycles, whatever comes in. Unbounded: it never does;
ABC finds the invariant by itself (property directed reachability), which includes k-induction.
"""

import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from olafctl.bench.formal.design import Design, circuit
from olafctl.errors import MissingTool, OlafError, Problem

_UNBOUNDED_SECONDS = 3600
_AXIS_STABILITY = "an offered beat changed"
_ARITHMETIC = (
    "olaf_fp32_add",
    "olaf_payload_store",
    "olaf_activity",
    "olaf_reward_bounds",
    "olaf_reward_key",
)


@dataclass(frozen=True)
class Proof:
    """``cycles``: how far it looks; None proves it for ever."""

    name: str
    claim: str
    design: Design
    cycles: int | None


@dataclass(frozen=True)
class Outcome:
    """``failed_at``: the first cycle in which a check fails; None when none does."""

    proof: Proof
    checks: int
    failed_at: int | None


WHOLE = Design("queue_top.v", cut_modules=_ARITHMETIC, without=(_AXIS_STABILITY,))
CONTROL = Design(
    "queue_top.v",
    cut_modules=(
        *_ARITHMETIC,
        *("olaf_merge", "olaf_filled", "olaf_bypass", "olaf_output", "olaf_rate_limiter", "olaf_skid"),
    ),
    cut_wires=(
        *("queue.ingress.fault", "queue.ingress.keep", "queue.ingress.tail_keep"),
        *(
            f"queue.enqueue.{name}"
            for name in (
                *("d_data", "d_same_worker", "d_replaceable", "d_member_known", "d_same_round"),
                *("d_older_round", "d_counted", "d_finished", "old_size", "counts", "enough", "newer"),
                "quota_reached",
            )
        ),
        "queue.commands.reached",
        "queue.dequeue.last_beat",
    ),
    assumed={
        "olaf_queue": "!(depart && arriving && leaving)",
        "olaf_ingress": "fault <= `OLAF_FAULT_INDEX && of_index < INDICES",
    },
    without=(_AXIS_STABILITY,),
)
_BEAT_IN_LINE = tuple(f"out.next_{name}" for name in ("user", "data", "keep"))
PROOFS = (
    Proof("whole", "no check of the queue fails within 24 cycles of reset", WHOLE, 24),
    Proof(
        "control",
        "no slot is both free and queued, no buffer is lost, at most one unlocked update an index, every "
        "update is settled as exactly one thing",
        CONTROL,
        None,
    ),
    Proof(
        "stability",
        "what the output offers stays as it is until it is taken (AXI4-Stream)",
        Design("output_top.v", cut_wires=_BEAT_IN_LINE, without=("assert(!(sent_update",)),
        None,
    ),
    Proof(
        "conservation",
        "every update that was read from its slot is sent once",
        Design("output_top.v", cut_wires=_BEAT_IN_LINE, without=("if (waits) assert",)),
        None,
    ),
)


def abc() -> str:
    """The ABC to run. Raises MissingTool when there is none."""
    found = shutil.which("berkeley-abc") or shutil.which("abc") or shutil.which("yosys-abc")
    if found is None:
        raise MissingTool(Problem("ABC is missing", remedy="install Debian's package berkeley-abc"))
    return found


def run(proof: Proof) -> Outcome:
    """Prove it.

    Raises MissingTool without Yosys or ABC, OlafError when there is neither a proof nor a failure.
    """
    tool = abc()
    with tempfile.TemporaryDirectory(prefix="olaf-formal-") as folder:
        work = Path(folder)
        circuit(proof.design, work)
        method = f"bmc3 -F {proof.cycles}" if proof.cycles else f"pdr -T {_UNBOUNDED_SECONDS}"
        read = "read_aiger circuit.aig; fold; scleanup; print_stats; orpos"
        result = subprocess.run(
            ["nice", "-n", "5", tool, "-q", f"{read}; {method}"], cwd=work, capture_output=True, text=True
        )
    return Outcome(proof, *_read(proof, result.stdout))


def _read(proof: Proof, said: str) -> tuple[int, int | None]:
    """How many checks there were, and the cycle in which one fails."""
    counted = re.search(r"i/o = *\d+/ *(\d+)", said)
    failed = re.search(r"Output \d+ of miter .* was asserted in frame (\d+)", said)
    proved = (
        f"No output asserted in {proof.cycles} frames" in said if proof.cycles else "Property proved" in said
    )
    if counted is None or (failed is None) == (not proved):
        said = "\n".join(said.strip().splitlines()[-5:])
        raise OlafError(Problem(f"ABC proves nothing and finds nothing: {said}", where=f"proof {proof.name}"))
    return int(counted[1]), int(failed[1]) if failed else None


def run_all(proofs: tuple[Proof, ...] = PROOFS) -> Iterator[Outcome]:
    """Every proof's outcome, one after the other."""
    for proof in proofs:
        yield run(proof)
