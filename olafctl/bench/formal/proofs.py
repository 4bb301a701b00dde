"""What is proved about OlafQueue, and the proving.

Bounded: no check fails within so many cycles of power-up, whatever comes in. Unbounded: none ever does;
either ABC finds the invariant by itself (property directed reachability), or the assertions are such that
they follow from themselves (induction). docs/formal.md says what each proof rests on.
"""

import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, replace
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
    """What is claimed, of which design, how it is proved, and what the claim rests on."""

    name: str
    claim: str
    design: Design
    cycles: int | None = None
    """Clock cycles from power-up on that are looked at; None proves it for ever."""
    induction: int | None = None
    """Prove it by induction over so many cycles; None lets ABC search for an invariant."""
    assumptions: tuple[str, ...] = ()
    """What is not proved here: restrictions of the inputs or of what is cut."""


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
_ONE_MODE = "every index is in {} mode: no SET is given"


def _in_mode(mode: str) -> Design:
    """The control with every index in ``mode`` from reset on; every command but SET may be given."""
    return replace(
        CONTROL,
        assumed={**CONTROL.assumed, "olaf_command": "code != `OLAF_COMMAND_SET"},
        changed={"olaf_settings": ("`OLAF_MODE_OLAF;", f"`OLAF_MODE_{mode};")},
    )


_BEAT_IN_LINE = tuple(f"out.next_{name}" for name in ("user", "data", "keep"))
_GEOMETRY = "2 indices, 2 slots of 2 beats, 2 members, adder latency 4"
_NOT_BEFORE_ITS_END = "no update departs before its end has arrived (`whole` checks it, bounded)"
_NO_FOREIGN_INDEX = "updates name an index that exists (`whole` checks the others, bounded)"
_OF_CONTROL = (_GEOMETRY, _NOT_BEFORE_ITS_END, _NO_FOREIGN_INDEX)
_ALONE = ("at most one beat is issued in a cycle, and only while the output says it is free",)
_CONTROL_CLAIM = (
    "no slot is both free and queued, no buffer is lost, at most one unlocked update an index, every update "
    "is settled as exactly one thing"
)
PROOFS = (
    Proof("whole", "no check of the queue fails", WHOLE, cycles=22, assumptions=(_GEOMETRY,)),
    Proof("control", f"{_CONTROL_CLAIM}; any command, any mode", CONTROL, cycles=22, assumptions=_OF_CONTROL),
    *(
        Proof(
            f"control-{mode.lower()}",
            _CONTROL_CLAIM,
            _in_mode(mode),
            assumptions=(*_OF_CONTROL, _ONE_MODE.format(mode)),
        )
        for mode in ("FIFO", "ISWITCH")
    ),
    Proof(
        "stability",
        "what the output offers stays as it is until it is taken (AXI4-Stream)",
        Design("output_top.v", cut_wires=_BEAT_IN_LINE),
        assumptions=_ALONE,
    ),
    Proof(
        "conservation",
        "every update that was read from its slot is sent once",
        Design(
            "output_top.v",
            cut_wires=_BEAT_IN_LINE,
            added={"olaf_output": "output_conservation.vh"},
            without=("if (waits) assert",),
        ),
        induction=4,
        assumptions=_ALONE,
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
        method = _method(proof)
        read = "read_aiger circuit.aig; fold; scleanup; print_stats; orpos"
        result = subprocess.run(
            ["nice", "-n", "5", tool, "-q", f"{read}; {method}"], cwd=work, capture_output=True, text=True
        )
    return Outcome(proof, *_read(proof, result.stdout))


def _method(proof: Proof) -> str:
    if proof.cycles:
        return f"bmc3 -F {proof.cycles}"
    if proof.induction:
        return f"bmc3 -F {_first_cycles(proof.induction)}; ind -F {proof.induction} -C 0"
    return f"pdr -T {_UNBOUNDED_SECONDS}"


def _first_cycles(induction: int) -> int:
    """How many cycles induction needs to hold to start with: those of reset, and as many as a step spans."""
    return induction + 4


def _proved(proof: Proof, said: str) -> bool:
    if proof.cycles:
        return f"No output asserted in {proof.cycles} frames" in said
    if proof.induction:
        # ABC's word for an inductive step that holds is that the network equals constant 0.
        begun = f"No output asserted in {_first_cycles(proof.induction)} frames" in said
        return begun and "Networks are equivalent" in said
    return "Property proved" in said


def _read(proof: Proof, said: str) -> tuple[int, int | None]:
    """How many checks there were, and the cycle in which one fails."""
    counted = re.search(r"i/o = *\d+/ *(\d+)", said)
    failed = re.search(r"Output \d+ of miter .* was asserted in frame (\d+)", said)
    if counted is None or (failed is None) == (not _proved(proof, said)):
        said = "\n".join(said.strip().splitlines()[-5:])
        raise OlafError(Problem(f"ABC proves nothing and finds nothing: {said}", where=f"proof {proof.name}"))
    return int(counted[1]), int(failed[1]) if failed else None


def run_all(proofs: tuple[Proof, ...] = PROOFS) -> Iterator[Outcome]:
    """Every proof's outcome, one after the other."""
    for proof in proofs:
        yield run(proof)
