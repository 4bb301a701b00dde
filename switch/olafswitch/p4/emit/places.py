"""The places of a program's objects in its library: numbers of actions and errors, arrays of externs."""

from olafswitch.p4.emit.writer import Types, words_of
from olafswitch.p4.ir import nodes as ir
from olafswitch.p4.refuse import Refused

ARRAYS = {"counter": "counters", "meter": "meters", "register": "registers"}
"""The kinds of externs with numbered cells, and the switch's member that holds those of each kind."""
_KINDS = {"counter": "counter", "Counter": "counter", "meter": "meter", "register": "register"}
"""The kind of each extern."""
_SIZES = ("size", "n_counters")
MAX_CELLS = 1 << 26
"""The most 64-bit words of one counter, meter or register."""


class Places:
    """The numbering of one program, which its C++, its P4Info and its description share."""

    def __init__(self, program: ir.Program) -> None:
        self.program = program
        self.types = Types()
        actions = [action.cpp for block in program.blocks for action in block.actions]
        self._actions = {cpp: number for number, cpp in enumerate(actions)}
        self.arrays: dict[str, list[ir.Instance]] = {
            kind: [i for i in program.instances if _KINDS.get(i.type.name) == kind] for kind in ARRAYS
        }
        self.user_externs = [i for i in program.instances if i.type.name == "UserExtern"]
        """The user externs; their places are their numbers in the library's interface."""

    def error(self, name: str) -> str:
        """Return the number of one of the program's errors, as C++ writes it."""
        return f"{self.program.errors.index(name)}"

    def action_number(self, action: ir.Action) -> int:
        """Return the number that stands for an action in tables and at run time."""
        return self._actions[action.cpp]

    def array(self, instance: ir.Instance) -> str:
        """Return the cells of a counter, meter or register in C++."""
        kind = _KINDS[instance.type.name]
        return f"x.sw->{ARRAYS[kind]}[{self.arrays[kind].index(instance)}]"

    def cells(self, instance: ir.Instance) -> int:
        """Return the number of an extern's cells; raises Refused when they are too many."""
        size = next(instance.number(name) for name in _SIZES if name in instance.args)
        words = words_of(instance.type.args[0]) if instance.type.name == "register" else 1
        if size * words > MAX_CELLS:
            raise Refused(instance.pos, instance.name, f"{size} cells are more than {MAX_CELLS // words}")
        return size

    def counts_bytes(self, instance: ir.Instance) -> bool:
        """Return whether a meter counts bytes, not packets."""
        return instance.choice("type") == "bytes"

    def is_attached(self, instance: ir.Instance) -> bool:
        """Return whether a direct meter belongs to a table."""
        return any(table.meter is instance for block in self.program.blocks for table in block.tables)
