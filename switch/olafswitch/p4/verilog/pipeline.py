"""A checked program as nodes: the results for each frame's metadata, bytes and counters."""

from collections.abc import Mapping
from dataclasses import dataclass

from olafswitch.p4.emit.places import Places
from olafswitch.p4.ir import nodes as ir
from olafswitch.p4.ir import types as t
from olafswitch.p4.refuse import Refused
from olafswitch.p4.verilog.deparsing import Deparsing, Edits
from olafswitch.p4.verilog.externs import CHECKSUM_ERROR, Count, Externs
from olafswitch.p4.verilog.graph import Graph, Node
from olafswitch.p4.verilog.parsing import ERROR, Parsing
from olafswitch.p4.verilog.registers import Register
from olafswitch.p4.verilog.symbolic import EXITED, LENGTH, Machine
from olafswitch.p4.verilog.tables import LookupEngine
from olafswitch.p4.verilog.values import SIZE_BITS, Leaves, leaves_of

DROP_PORT = 511
REPLICATED = 5
"""v1model's ``instance_type`` of a group's copy."""
COPY = {"copy": 1, "copy_port": 9, "copy_rid": 16}
"""The inputs with a frame that make one copy of it."""
SIDEBAND_IN = {"ingress_port": 9, "packet_length": 32, "timestamp": 48}
"""v1model's inputs with a frame, and their bits; the time is in µs."""


@dataclass
class Pipeline:
    """A program in hardware, before it is divided into cycles."""

    graph: Graph
    sideband_in: dict[str, int]
    """The inputs with a frame, and the bits of each."""
    sideband_out: dict[str, Node]
    drop: Node
    edits: Edits
    tables: list[LookupEngine]
    counts: list[Count]
    registers: list[Register]
    reach: int
    """The bytes of a frame that are read."""


class _Program:
    """One program on one machine."""

    def __init__(self, program: ir.Program, functions: Mapping[str, str]) -> None:
        self.program = program
        self.g = Graph()
        self.externs = Externs(self.g, Places(program), functions)
        self.m = Machine(self.g, self.externs, program.parts["parser"].pos)
        self.values: dict[str, Leaves] = {}
        """Headers, metadata and standard metadata, as the last block left them."""
        self.m.env[CHECKSUM_ERROR] = self.g.no
        registers = [each for each in program.instances if each.type.name == "register"]
        self.externs.registers.declare_instances(registers, self.m)

    def params_of(self, block: ir.Block) -> dict[str, ir.Parameter]:
        """Return a block's parameters by their roles: ``headers``, ``metadata``, ``standard``."""
        data = [p for p in block.params if not isinstance(t.unwrap_type(p.type), t.Extern)]
        return dict(zip(("headers", "metadata", "standard"), data, strict=False))

    def default_value(self, type_: t.Type) -> Leaves:
        return self.m.o.default_value(type_, self.m.pos)

    def enter_block(self, block: ir.Block) -> None:
        for what, param in self.params_of(block).items():
            self.m.keep_value(param.local.name, self.values[what])

    def leave_block(self, block: ir.Block) -> None:
        for what, param in self.params_of(block).items():
            self.values[what] = self.m.read_place(param.local.name, param.type)
        self.m.env[EXITED] = self.g.no

    def run_parser(self) -> None:
        """Run the parser; ``self.ends`` are its ends afterwards."""
        block = self.program.parts["parser"]
        self.enter_block(block)
        is_member = self.externs.tables.is_member
        parsing = Parsing(self.g, block, self.m, list(self.program.errors), is_member)
        self.externs.parsing = parsing
        self.ends = parsing.merge_states()
        self.externs.parsing = None
        self.reach = parsing.reach
        self.leave_block(block)
        self.values["standard"][".parser_error"] = self.m.env[ERROR]

    def run_block(self, name: str) -> None:
        block = self.program.parts[name]
        self.enter_block(block)
        self.m.run_control(block)
        self.leave_block(block)

    def build_result(
        self, sideband_in: dict[str, int], out: dict[str, Node], drop: Node, as_it_came: Node | None = None
    ) -> Pipeline:
        pos = self.program.parts["deparser"].pos
        edits = Deparsing(self.g, self.ends, self.externs.emitted, pos).edits
        if as_it_came is not None:
            edits.restrict_to(self.g, self.g.invert(as_it_came))
        counts = list(self.externs.counts.values())
        return Pipeline(
            self.g, sideband_in, out, drop, edits, self.externs.tables.engines, counts,
            self.externs.registers.finish(self.m), self.reach,
        )  # fmt: skip


def build_pipeline(program: ir.Program, functions: Mapping[str, str] | None = None) -> Pipeline:
    """Return the program as nodes. Raises Refused, with the place, at code outside of the subset."""
    made = _Program(program, functions or {})
    return _build_xsa(made) if program.architecture == "xsa" else _build_v1model(made)


def _build_xsa(p: _Program) -> Pipeline:
    """Return a program for XSA; user metadata is one bus, first field on top, as next to a VitisNetP4 IP."""
    g, program = p.g, p.program
    ways = list(leaves_of(program.metadata, p.m.pos))
    total = sum(bits for _, bits in ways)
    metadata: Leaves = {}
    low = total
    for way, bits in ways:
        low -= bits
        metadata[way] = g.slice(g.input("metadata", total), low, bits)
    standard = p.default_value(program.standard) | {".ingress_timestamp": g.input("timestamp", 64)}
    p.values |= {"headers": p.default_value(program.headers), "metadata": metadata, "standard": standard}
    p.run_parser()
    at = g.onehot([(end.chosen, g.const(end.at, 16)) for end in p.ends], 16)
    p.values["standard"][".parsed_bytes"] = at
    p.run_block("match_action")
    drop = p.values["standard"][".drop"]
    p.run_block("deparser")
    out = g.cat([p.values["metadata"][way] for way, _ in ways])
    return p.build_result({"metadata": total}, {"metadata": out}, drop)


def _build_v1model(p: _Program) -> Pipeline:
    """Return a program for v1model: one frame to one port. A frame to a group leaves as it came, with the
    group's number; it comes in again for each copy, for egress, with ``copy``, the port and the instance."""
    g, program = p.g, p.program
    given = {name: g.input(name, bits) for name, bits in SIDEBAND_IN.items()}
    standard = p.default_value(program.standard)
    standard[".ingress_port"] = given["ingress_port"]
    standard[".packet_length"] = given["packet_length"]
    standard[".ingress_global_timestamp"] = given["timestamp"]
    p.m.env[LENGTH] = given["packet_length"]
    metadata = p.default_value(program.metadata)
    p.values |= {"headers": p.default_value(program.headers), "metadata": metadata, "standard": standard}
    p.run_parser()
    p.run_block("verify")
    p.values["standard"][".checksum_error"] = p.m.env[CHECKSUM_ERROR]
    p.run_block("ingress")
    standard = p.values["standard"]
    group, port = standard[".mcast_grp"], standard[".egress_spec"]
    dropped = g.all(g.equal(group, 0), g.equal(port, DROP_PORT))
    sideband_in, out = dict(SIDEBAND_IN), {"mcast_grp": group}
    as_it_came, rid, kind = g.no, g.const(0, 16), g.const(0, 32)
    egress = program.parts["egress"]
    if group.value != 0 and (egress.body.statements or egress.variables):
        for register in p.externs.registers.used:
            why = f"each copy of a frame passes through ingress again, which uses register {register.name}"
            raise Refused(egress.pos, "mcast_grp", why)
        copy, to, rid = (g.input(name, bits) for name, bits in COPY.items())
        first = g.invert(copy)
        for count in p.externs.counts.values():
            count.condition = g.all(count.condition, first)
        as_it_came, dropped = g.all(first, g.nonzero(group)), g.all(first, dropped)
        port, kind = g.mux(copy, to, port), g.mux(copy, g.const(REPLICATED, 32), kind)
        rid = g.mux(copy, rid, g.const(0, 16))
        sideband_in |= COPY
        out = {"mcast_grp": g.mux(copy, g.const(0, 16), group), "ingress_port": given["ingress_port"],
               "timestamp": given["timestamp"]}  # fmt: skip
    now = g.resize(given["timestamp"], 32)
    standard |= {
        ".egress_port": port,
        ".egress_rid": rid,
        ".instance_type": kind,
        ".egress_spec": g.const(0, 9),
        ".packet_length": g.resize(p.m.env[LENGTH], SIZE_BITS),
        ".egress_global_timestamp": given["timestamp"],
        ".enq_timestamp": now,
    }
    p.m.path = g.all(g.invert(dropped), g.invert(as_it_came))
    p.run_block("egress")
    to = g.equal(p.values["standard"][".egress_spec"], DROP_PORT)
    dropped = g.any(dropped, g.all(g.invert(as_it_came), to))
    p.m.path = g.yes
    p.run_block("compute")
    p.run_block("deparser")
    return p.build_result(sideband_in, {"egress_port": port, **out}, dropped, as_it_came)
