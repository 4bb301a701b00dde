"""A whole STF file against a switch."""

from collections import defaultdict

from olafswitch.p4.stf.commands import Expect, Send, read
from olafswitch.p4.stf.control import Control, Switch
from olafswitch.p4runtime.dataplane import P4Info


def play(switch: Switch, info: P4Info, text: str) -> str:
    """The first difference from what the file expects; empty when there is none.

    Raises Unreadable at what is not STF, or names something that the program has not.
    """
    control = Control(switch, info)
    sent: dict[int, list[bytes]] = defaultdict(list)
    expected: dict[int, list[Expect]] = defaultdict(list)
    for number, command in enumerate(read(text)):
        match command:
            case Send(port=port, frame=frame):
                for out, made in switch.process(port, frame, 1000 * number):
                    sent[out].append(made)
            case Expect(port=port):
                expected[port].append(command)
            case _:
                problem = control.run(command)
                if problem:
                    return problem
    if not expected:
        return ""  # a file without expected frames does not test frames
    return next(
        (p for port in sorted({*sent, *expected}) if (p := _compare(port, sent[port], expected[port]))), ""
    )


def _compare(port: int, sent: list[bytes], expected: list[Expect]) -> str:
    if expected and all(entry.digits is None for entry in expected):
        return ""
    if len(sent) != len(expected):
        seen = ", ".join(frame.hex() for frame in sent[:3])
        return f"port {port}: {len(sent)} frames, {len(expected)} expected; {seen}"
    for frame, entry in zip(sent, expected, strict=True):
        digits = frame.hex()
        wanted = entry.digits or ""
        same = all(w in ("*", d) for w, d in zip(wanted, digits, strict=False))
        if not same or len(digits) < len(wanted) or (entry.exact and len(digits) != len(wanted)):
            return f"port {port}: {digits}, expected {wanted}{'$' if entry.exact else ''}"
    return ""
