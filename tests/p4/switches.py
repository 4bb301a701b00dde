"""A compiled test program on a switch, programmed by names."""

from pathlib import Path

from olafswitch.p4.compiler import compile_program
from olafswitch.p4.switch.native import NativeSwitch
from olafswitch.p4runtime.dataplane import ActionCall

PROGRAMS = Path(__file__).parent / "programs"


class Device:
    """A program of ``programs/`` on a switch; ids are found by the end of a name."""

    def __init__(self, name: str) -> None:
        program = compile_program(PROGRAMS / f"{name}.p4", optimize="-O1")
        self.p4info = program.p4info
        self.switch = NativeSwitch(optimize="-O1")
        self.pipeline = self.switch.prepare(program.p4info, program.device_config)
        self.switch.commit(self.pipeline)

    def id(self, kind: str, name: str) -> int:
        """Return the id of a table, action, counter ... (``kind`` is P4Info's field)."""
        for item in getattr(self.p4info, kind):
            if item.preamble.name.endswith(name):
                number: int = item.preamble.id
                return number
        raise KeyError(name)

    def call(self, action: str, *params: int) -> ActionCall:
        return ActionCall(self.id("actions", action), params)
