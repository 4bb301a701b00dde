"""Play a whole STF file against a switch."""

from collections import defaultdict
from collections.abc import Sequence

from olafswitch.p4.stf.commands import Expect, Send, Unreadable, read_commands
from olafswitch.p4.stf.control import Control, StfSwitch
from olafswitch.p4runtime.dataplane import P4Info


def play_file(switch: StfSwitch, info: P4Info, text: str) -> str:
    """Return the first difference from what the file expects; empty when there is none.

    As in p4c's runner, each ``expect`` is one frame, and a frame that none expects is a difference. Raises
    Unreadable for a line that is not STF, names an object that the program does not have, or does not fit.
    """
    control = Control(switch, info)
    sent: dict[int, list[bytes]] = defaultdict(list)
    expected: dict[int, list[Expect]] = defaultdict(list)
    for number, command in read_commands(text):
        match command:
            case Send(port=port, frame=frame):
                for out, made in switch.process(port, frame, 1000 * number):
                    sent[out].append(made)
            case Expect(port=port):
                expected[port].append(command)
            case _:
                try:
                    problem = control.run_statement(command)
                except ValueError as error:
                    raise Unreadable(f"line {number}: {error}") from None
                if problem:
                    return f"line {number}: {problem}"
    ports = sorted({*sent, *expected})
    return next((found for port in ports if (found := _compare_frames(port, sent[port], expected[port]))), "")


def _compare_frames(port: int, sent: Sequence[bytes], expected: Sequence[Expect]) -> str:
    if len(sent) != len(expected):
        seen = ", ".join(frame.hex() for frame in sent[:3])
        return f"port {port}: {len(sent)} frames, {len(expected)} expected; {seen}"
    for frame, entry in zip(sent, expected, strict=True):
        digits, wanted = frame.hex(), entry.digits
        if wanted is None:
            continue
        same = all(w in ("*", d) for w, d in zip(wanted, digits, strict=False))
        if not same or len(digits) < len(wanted) or (entry.exact and len(digits) != len(wanted)):
            return f"port {port}: {digits}, expected {wanted}{'$' if entry.exact else ''}"
    return ""
