"""The externs that hardware implements: packets, counters, registers, hashes, checksums without payload."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache, partial, reduce
from itertools import product

from olafswitch.p4.emit.places import Places
from olafswitch.p4.emit.rows import hash_algorithm, row_width
from olafswitch.p4.ir import nodes as ir
from olafswitch.p4.ir import types as t
from olafswitch.p4.refuse import Pos, Refused
from olafswitch.p4.verilog.deparsing import Emission, list_emissions
from olafswitch.p4.verilog.graph import Graph, Node
from olafswitch.p4.verilog.parsing import Parsing
from olafswitch.p4.verilog.registers import Registers
from olafswitch.p4.verilog.symbolic import Machine, sides_exclude
from olafswitch.p4.verilog.tables import Tables
from olafswitch.p4.verilog.values import VALID, Leaves, items_of, take_part, width_of

CRCS = {"crc32": (32, 0xEDB88320, 0xFFFFFFFF), "crc16": (16, 0xA001, 0)}
"""The bits, the reflected polynomial, and the value that a CRC starts with and is inverted by."""
_CHECKSUMS = {"CRC32": "crc32", "CRC16": "crc16", "ONES_COMPLEMENT16": "csum16"}
MAX_GUARDS = 4
"""The most headers that may each be left out of a hash."""


@dataclass
class Count:
    """A counter, or a table's own, and the cell in which a frame counts where ``condition`` holds."""

    counter: ir.Instance | ir.Table
    cells: int
    index: Node
    condition: Node
    sides: list[tuple[tuple[int, bool], ...]] = field(default_factory=list)


class Externs:
    """The externs as a program calls them; afterwards it knows tables, counters and emissions."""

    def __init__(self, graph: Graph, places: Places, functions: Mapping[str, str]) -> None:
        """Create the externs; ``functions`` names each user extern's hash, by its name's last part."""
        self.tables = Tables(places, self._count_slot)
        self.lookup = self.tables.apply_table
        self.registers = Registers(graph, places)
        self.parsing: Parsing | None = None
        self.counts: dict[object, Count] = {}
        self.emitted: list[Emission] = []
        self.functions = functions
        self._places = places

    def extern(self, node: ir.ExternCall, machine: Machine) -> Leaves:
        """Run an extern and return its result. Raises Refused where hardware does not implement it."""
        machine.g.pos = node.pos
        name = f"{node.owner}.{node.method}" if node.owner else node.method
        if name not in _CALLS:
            raise Refused(node.pos, name, "is not supported in hardware")
        return _CALLS[name](self, node, machine) or {}

    # --- packets

    def running_parser(self, node: ir.ExternCall) -> Parsing:
        """Return the parser that runs. Raises Refused where none runs."""
        if self.parsing is None:
            raise Refused(node.pos, node.method, "outside of a parser it is not supported")
        return self.parsing

    def add_verify(self, node: ir.ExternCall, machine: Machine) -> None:
        error = machine.scalar_of(node.given(1)).value
        if error is None:
            raise Refused(node.pos, "verify", "which error it signals is not known at compile time")
        parsing = self.running_parser(node)
        failed = machine.g.invert(machine.scalar_of(node.given(0)))
        parsing.fail_if(failed, parsing.errors[error], node)

    # --- what happens to the packet

    def mark_to_drop(self, node: ir.ExternCall, machine: Machine) -> None:
        if not node.args:
            raise Refused(node.pos, "mark_to_drop()", "without standard_metadata it is not supported")
        target = node.given(0)
        value = machine.value(target)
        value[".egress_spec"] = machine.g.const(511, 9)
        value[".mcast_grp"] = machine.g.const(0, 16)
        machine.assign_value(target, value)

    # --- arithmetic

    def _store_result(
        self, node: ir.ExternCall, target: ir.Expr | None, value: Node, machine: Machine
    ) -> None:
        if target is None:
            return
        bits = width_of(target.type)
        if bits is None:
            raise Refused(node.pos, node.method, f"its result cannot be a {target.type}")
        machine.assign_value(target, {"": machine.g.resize(value, bits)})

    def build_hash(self, node: ir.ExternCall, machine: Machine) -> None:
        g = machine.g
        function = hash_algorithm(node.args[1].value, node.pos)
        base, most = (g.resize(machine.scalar_of(node.given(at)), 64) for at in (2, 4))
        hashed = self._build_digest(function, node.given(3), machine, node.pos)
        hashed = g.binary("add", g.resize(machine.o.remainder(hashed, most), 64), base)
        self._store_result(node, node.args[0].value, hashed, machine)

    def user_extern(self, node: ir.ExternCall, machine: Machine) -> None:
        name = node.object.name.rpartition(".")[2]
        if name not in self.functions:
            known = "give what it computes, as NAME=crc32"
            raise Refused(node.pos, node.object.name, f"a user extern is unknown to hardware; {known}")
        hashed = self._build_digest(self.functions[name], node.given(0), machine, node.pos)
        self._store_result(node, node.args[1].value, hashed, machine)

    def checksum_apply(self, node: ir.ExternCall, machine: Machine) -> None:
        function = _CHECKSUMS[node.object.choice("hash")]
        made = self._build_digest(function, node.given(0), machine, node.pos)
        self._store_result(node, node.args[1].value, made, machine)

    def verify_checksum(self, node: ir.ExternCall, machine: Machine) -> None:
        g, stored = machine.g, machine.scalar_of(node.given(2))
        function = hash_algorithm(node.args[3].value, node.pos)
        made = g.resize(self._build_digest(function, node.given(1), machine, node.pos), stored.width)
        wrong = g.all(machine.scalar_of(node.given(0)), g.invert(g.binary("eq", made, stored)))
        machine.env[CHECKSUM_ERROR] = g.any(machine.env[CHECKSUM_ERROR], g.all(machine.path, wrong))

    def update_checksum(self, node: ir.ExternCall, machine: Machine) -> None:
        function = hash_algorithm(node.args[3].value, node.pos)

        def store() -> None:
            made = self._build_digest(function, node.given(1), machine, node.pos)
            self._store_result(node, node.given(2), made, machine)

        machine.run_branch(machine.scalar_of(node.given(0)), store, lambda: None)

    def _build_digest(self, function: str, data: ir.Expr, machine: Machine, pos: Pos) -> Node:
        """Return a hash or checksum; as in BMv2, the fields of an invalid header are left out."""
        g = machine.g
        row = list(_flatten_data(data, machine, pos))
        guards = list(dict.fromkeys(guard for _, guard in row if guard.value is None))
        implied = {guard: g.yes for guard in guards if g.all(machine.path, guard) is machine.path}
        seen = g.fold_under(implied)
        row = [(node, seen(guard)) for node, guard in row]
        guards = [guard for guard in guards if guard not in implied]
        if len(guards) > MAX_GUARDS:
            raise Refused(pos, "hash", f"more than {MAX_GUARDS} headers in its data may be invalid")
        pairs = []
        for decided in product((False, True), repeat=len(guards)):
            facts = dict(zip(guards, decided, strict=True))
            kept = [node for node, guard in row if guard.value == 1 or facts.get(guard)]
            condition = g.all(*(c if fact else g.invert(c) for c, fact in facts.items()))
            pairs.append((condition, _FUNCTIONS[function](g, g.cat(kept))))
        return pairs[0][1] if len(pairs) == 1 else g.onehot(pairs, pairs[0][1].width)

    # --- counters, registers

    def _count_slot(self, table: object, slot: Node, condition: Node, machine: Machine) -> None:
        assert isinstance(table, ir.Table)
        made = next(each for each in self.tables.engines if each.table is table)
        self.counts[table] = Count(table, made.slots, slot, condition, [machine.sides])

    def count(self, node: ir.ExternCall, machine: Machine) -> None:
        g, counter = machine.g, node.object
        index, cells = machine.scalar_of(node.given(0)), self._places.cells(counter)
        bits = max(1, (cells - 1).bit_length())
        within = g.yes
        if cells < 1 << index.width:
            within = g.binary("lt", index, g.const(cells, index.width))
        condition = g.all(machine.path, within)
        index = g.resize(index, bits)
        known = self.counts.setdefault(counter, Count(counter, cells, index, g.no))
        if not all(sides_exclude(machine.sides, sides) for sides in known.sides):
            why = "a frame may count here twice, which takes more than a cycle"
            raise Refused(node.pos, counter.name, why)
        known.index = g.mux(condition, index, known.index) if known.sides else index
        known.condition = g.any(known.condition, condition)
        known.sides.append(machine.sides)


CHECKSUM_ERROR = "$checksum_error"


def _flatten_data(expr: ir.Expr, machine: Machine, pos: Pos) -> list[tuple[Node, Node]]:
    """Return the scalars of a value in order, each with whether its header is valid."""
    if isinstance(expr, ir.Make):
        return [each for inner in expr.parts for each in _flatten_data(inner, machine, pos)]
    if expr.type == t.INTEGER:
        raise Refused(pos, "hash", "a number in its data has no width")
    guard = machine.g.yes
    if isinstance(expr, ir.Field) and t.is_header(t.strip_type(expr.base.type)):
        guard = machine.o.is_valid(expr.base.type, machine.value(expr.base))
    return _flatten_scalars(expr.type, machine.value(expr), guard, machine.g)


def _flatten_scalars(type_: t.Type, value: Leaves, guard: Node, g: Graph) -> list[tuple[Node, Node]]:
    inner = items_of(type_)
    if inner is None:
        return [(g.resize(value[""], row_width(t.strip_type(type_))), guard)]
    guard = value.get(VALID, guard)
    return [each for way, of in inner for each in _flatten_scalars(of, take_part(value, way), guard, g)]


def _pad_row(g: Graph, row: Node, to: int) -> Node:
    """Return a row with zeros after it, up to a multiple of ``to`` bits."""
    return g.cat([row, g.const(0, -row.width % to)])


def _build_crc(function: str, g: Graph, row: Node) -> Node:
    row = _pad_row(g, row, 8)
    rows, inverted = _crc_rows(function, row.width // 8)
    return g.build_linear(rows, inverted, row) if row.width else g.const(inverted, CRCS[function][0])


@cache
def _crc_rows(function: str, size: int) -> tuple[tuple[int, ...], int]:
    """Return, for each bit of a CRC of ``size`` bytes, the bits whose parity it is, and what inverts it."""
    bits, polynomial, start = CRCS[function]

    def crc(data: bytes, value: int) -> int:
        for byte in data:
            value ^= byte
            for _ in range(8):
                value = value >> 1 ^ polynomial if value & 1 else value >> 1
        return value

    constant = crc(bytes(size), start) ^ start
    columns = [crc((1 << at).to_bytes(size, "big"), 0) for at in range(8 * size)]
    rows = [sum((column >> row & 1) << at for at, column in enumerate(columns)) for row in range(bits)]
    return tuple(rows), constant


def _build_csum16(g: Graph, row: Node) -> Node:
    row = _pad_row(g, row, 16)
    words = [g.resize(g.slice(row, at, 16), 32) for at in range(0, row.width, 16)]
    constant = sum(word.value for word in words if word.value is not None)
    terms = [word for word in words if word.value is None] + [g.const(constant, 32)]
    total = g.sum(terms)
    for _ in range(2):
        total = g.binary("add", g.resize(g.slice(total, 16, 16), 32), g.resize(g.slice(total, 0, 16), 32))
    return g.invert(g.resize(total, 16))


def _build_xor16(g: Graph, row: Node) -> Node:
    row = _pad_row(g, row, 16)
    words = (g.slice(row, at, 16) for at in range(0, row.width, 16))
    return reduce(lambda made, word: g.binary("xor", made, word), words, g.const(0, 16))


def _build_identity(g: Graph, row: Node) -> Node:
    row = _pad_row(g, row, 8)
    kept = min(row.width, 64)
    return g.resize(g.slice(row, row.width - kept, kept), 64)


_FUNCTIONS: Mapping[str, Callable[[Graph, Node], Node]] = {
    "crc32": partial(_build_crc, "crc32"),
    "crc16": partial(_build_crc, "crc16"),
    "csum16": _build_csum16,
    "xor16": _build_xor16,
    "identity": _build_identity,
}
_CALLS: Mapping[str, Callable[[Externs, ir.ExternCall, Machine], Leaves | None]] = {
    "packet_in.extract": lambda externs, node, machine: externs.running_parser(node).extract(node),
    "packet_in.lookahead": lambda externs, node, machine: externs.running_parser(node).lookahead(node),
    "packet_in.advance": lambda externs, node, machine: externs.running_parser(node).advance(node),
    "packet_out.emit": lambda externs, node, machine: externs.emitted.extend(
        list_emissions(machine, node.given(0).type, machine.value(node.given(0)), node.pos)
    ),
    "verify": Externs.add_verify,
    "mark_to_drop": Externs.mark_to_drop,
    "log_msg": lambda externs, node, machine: None,
    "hash": Externs.build_hash,
    "UserExtern.apply": Externs.user_extern,
    "Checksum.apply": Externs.checksum_apply,
    "verify_checksum": Externs.verify_checksum,
    "update_checksum": Externs.update_checksum,
    "counter.count": Externs.count,
    "Counter.count": Externs.count,
    "direct_counter.count": lambda externs, node, machine: None,
    "register.read": lambda externs, node, machine: externs.registers.read(node, machine),
    "register.write": lambda externs, node, machine: externs.registers.write(node, machine),
}
