"""What VitisNetP4 refuses or does not list as supported, of what this compiler runs.

After UG1308, the Vitis Networking P4 User Guide, 2023.1 and 2025.1: Supported P4_16 Language Features,
Deparsing Engine, Restrictions on User Extern Usage, Counter Externs, Checksum Extern, Compiler Table
Selection. Only VitisNetP4's own compiler can say that a program is accepted.
"""

from collections import Counter
from collections.abc import Callable, Sequence
from itertools import combinations
from typing import Any

from olafswitch.errors import Problem
from olafswitch.p4.check.program import constant_value
from olafswitch.p4.frozen import everything
from olafswitch.p4.ir import nodes as ir
from olafswitch.p4.ir import types as t
from olafswitch.p4.ir.walk import live
from olafswitch.p4.refuse import Pos, Refused
from olafswitch.p4.syntax import tree

_INCLUDES = ("core.p4", "xsa.p4")
_SMALL_TABLE, _BCAM_KEYS, _TCAM_KEY, _TCAM_SIZE = 32, (10, 1024), 992, 32768
_MAX_COUNTERS = 65536
_MAX_CHECKSUM_BITS = 1024
_CONTROL_ONLY = ("UserExtern", "Counter", "Checksum")

Report = Callable[[Pos, str, str], None]


def vitis_problems(declarations: tree.Program, program: ir.Program) -> list[Problem]:
    """Each use of what VitisNetP4 does not support, with its place; empty when none was found."""
    found: dict[tuple[Pos, str, str], None] = {}

    def report(pos: Pos, construct: str, why: str) -> None:
        found[pos, construct, why] = None

    own = [node for node in declarations if node.pos.file not in _INCLUDES]
    for node in own:
        _check_language(node, report)
    uses = {name: _Uses(block) for name, block in program.parts.items()}
    _check_parser(uses["parser"], report)
    _check_deparser(own, program, uses["deparser"], report)
    _check_externs(program, uses, report)
    _check_tables(own, uses["match_action"], report)
    return [Problem(f"{construct}: {why}", where=str(pos)) for pos, construct, why in sorted(found)]


# --- the language


def _check_language(declared: tree.Node, report: Report) -> None:
    for node in everything(declared):
        match node:
            case tree.Binary(op="/" | "%" as op) if not _is_constant(node):
                report(node.pos, op, "VitisNetP4 does not divide")
            case tree.Mux():
                report(node.pos, "?:", "not supported by VitisNetP4; use if and else")
            case tree.SizedType(name="int"):
                report(node.pos, "int<>", "VitisNetP4 has unsigned numbers only")
            case tree.Enumeration(name=name):
                report(node.pos, f"enum {name}", "VitisNetP4 has enumerations of its own only before 2026.1")
            case tree.StructLike(kind="header_union", name=name):
                report(node.pos, f"header_union {name}", "not supported by VitisNetP4")
            case tree.TupleType():
                report(node.pos, "tuple", "not supported by VitisNetP4")
            case tree.MatchKinds():
                report(node.pos, "match_kind", "VitisNetP4 has match kinds of its own only")
            case tree.ValueSet(name=name):
                report(node.pos, f"value_set {name}", "not among what VitisNetP4 supports")
            case tree.For() | tree.ForIn():
                report(node.pos, "for", "not among what VitisNetP4 supports")
            case tree.Action(name=name, body=body):
                for inner in everything(body):
                    if isinstance(inner, tree.If | tree.Switch):
                        report(inner.pos, f"action {name}", "VitisNetP4 has no conditions inside of actions")


def _is_constant(node: tree.Expr) -> bool:
    try:
        constant_value(node)
    except Refused:
        return False
    return True


# --- what the package's blocks reach


class _Uses:
    """The calls that one block of the package makes, directly or not, each time it makes them."""

    def __init__(self, block: ir.Block) -> None:
        self.calls: list[ir.ExternCall] = []
        self.stack_moves: list[ir.HeaderCall] = []
        self.parsers: list[ir.Block] = []
        self.tables: Counter[ir.Table] = Counter()
        self.block = block
        self._enter(block)

    def _enter(self, found: ir.Block | ir.Function | ir.Action) -> None:
        if isinstance(found, ir.Block):
            code: list[ir.Statement] = [*found.variables, found.body, *(s.body for s in found.states)]
            subjects = [subject for s in found.states for subject in s.transition.subjects]
        else:
            code, subjects = [found.body], []
        for part in (*code, *subjects):
            for expr in live(part):
                self._visit(expr)

    def _visit(self, expr: ir.Expr) -> None:
        match expr:
            case ir.ExternCall():
                self.calls.append(expr)
            case ir.HeaderCall(method="push_front" | "pop_front"):
                self.stack_moves.append(expr)
            case ir.TableApply(table=table):
                self.tables[table] += 1
                for entry in table.actions if self.tables[table] == 1 else ():
                    self._enter(entry.action)
            case ir.Apply(target=target):
                if target.kind == "parser":
                    self.parsers.append(target)
                self._enter(target)
            case ir.Call(target=target):
                self._enter(target)


# --- parser


def _check_parser(uses: _Uses, report: Report) -> None:
    for block in uses.parsers:
        report(block.pos, f"parser {block.name}", "VitisNetP4 has no parsers inside of parsers")
    for call in uses.calls:
        name = f"{call.owner}.{call.method}"
        if name in ("packet_in.lookahead", "packet_in.advance", "packet_in.length"):
            report(call.pos, name, "not supported by VitisNetP4")
        if name == "packet_in.extract" and call.args[0].value is None:
            report(call.pos, name, "VitisNetP4 cannot skip bits")
    for block in (uses.block, *uses.parsers):
        for state in block.states:
            _check_select(state.transition, report)


def _check_select(transition: ir.Transition, report: Report) -> None:
    widths = [t.key_width(subject.type) or 0 for subject in transition.subjects]
    rows = [
        (case, case.sets)
        for case in transition.cases
        if not isinstance(case.sets, ir.ValueSet)
        and any(part.match is None or part.match.value is not None for part in case.sets)
    ]
    for (first, left), (second, right) in combinations(rows, 2):
        pairs = zip(left, right, widths, strict=True)
        if all(
            a.match and b.match and not _masks(a.match, width).isdisjoint_from(_masks(b.match, width))
            for a, b, width in pairs
        ):
            why = f"overlaps with the row in line {first.pos.line}, which VitisNetP4 does not support"
            report(second.pos, "select", why)


class _Masks(list[tuple[int, int]]):
    """What a key set matches, as values with masks."""

    def isdisjoint_from(self, other: "_Masks") -> bool:
        return all((a ^ b) & m & n for a, m in self for b, n in other)


def _masks(match: ir.Match, width: int) -> _Masks:
    full = (1 << width) - 1
    if match.value is None:
        return _Masks([(0, 0)])
    if match.high is None:
        return _Masks([(match.value, full if match.mask is None else match.mask)])
    made = _Masks()
    low = match.value
    while low <= match.high:
        size = low & -low or 1 << width
        while low + size - 1 > match.high:
            size >>= 1
        made.append((low, full & ~(size - 1)))
        low += size
    return made


# --- deparser


def _check_deparser(own: Sequence[tree.Declared], program: ir.Program, uses: _Uses, report: Report) -> None:
    control = next(node for node in own if isinstance(node, tree.Control) and node.pos == uses.block.pos)
    for node in everything(control.body):
        if isinstance(node, tree.If | tree.Switch):
            report(node.pos, control.name, "VitisNetP4 emits without conditions")
    emitted: dict[str, Pos] = {}
    for call in uses.calls:
        if call.method == "emit" and call.args[0].value is not None:
            for header in _headers(call.args[0].value):
                if header in emitted:
                    report(call.pos, header, "VitisNetP4 emits each header once")
                emitted.setdefault(header, call.pos)
    before = _extraction_order(program.parts["parser"])
    for first, second in combinations(emitted, 2):
        if (second, first) in before and (first, second) not in before:
            why = f"is emitted after {first} and parsed before it; VitisNetP4 keeps the order"
            report(emitted[second], second, why)


def _headers(expr: ir.Expr) -> list[str]:
    """Names of the headers in a value, from the struct of headers on; a stack's elements share its name."""
    base = t.stripped(expr.type)
    if isinstance(expr, ir.Make):
        return [name for part in expr.parts for name in _headers(part)]
    if isinstance(base, t.Struct) and base.kind == "struct":
        return [name for field, type_ in base.fields for name in _headers(ir.Field(type_, expr, field))]
    names: list[str] = []
    place: Any = expr
    while isinstance(place, ir.Field | ir.Element | ir.StackPart):
        if isinstance(place, ir.Field):
            names.append(place.name)
        place = place.base
    return [".".join(reversed(names))]


def _extraction_order(parser: ir.Block) -> set[tuple[str, str]]:
    """Pairs of headers of which some path through the parser extracts the first before the second."""
    extracts = {
        state.name: [
            name
            for expr in live(state.body)
            if isinstance(expr, ir.ExternCall) and expr.method == "extract" and expr.args[0].value is not None
            for name in _headers(expr.args[0].value)
        ]
        for state in parser.states
    }
    after = {state.name: _reachable(state.name, parser) for state in parser.states}
    inside = {pair for names in extracts.values() for pair in combinations(names, 2)}
    return inside | {
        (first, second)
        for state, names in extracts.items()
        for first in names
        for later in after[state]
        for second in extracts.get(later, [])
    }


def _reachable(start: str, parser: ir.Block) -> set[str]:
    steps = {
        state.name: {state.transition.state, *(case.state for case in state.transition.cases)}
        for state in parser.states
    }
    seen: set[str] = set()
    waiting = set(steps[start])
    while waiting:
        state = waiting.pop()
        if state not in seen:
            seen.add(state)
            waiting |= steps.get(state, set())
    return seen


# --- externs and tables


def _check_externs(program: ir.Program, uses: dict[str, _Uses], report: Report) -> None:
    for part, found in uses.items():
        for move in found.stack_moves:
            report(move.pos, move.method, "not supported by VitisNetP4")
        for call in found.calls:
            if call.owner in _CONTROL_ONLY and part != "match_action":
                report(call.pos, f"{call.owner}.{call.method}", "VitisNetP4 has it in match-action only")
            if call.owner == "Checksum":
                _check_checksum(call, report)
    applied = Counter(call.instance for found in uses.values() for call in found.calls)
    for instance in program.instances:
        if instance.type.name == "UserExtern":
            _check_user_extern(instance, applied[instance], report)
        if instance.type.name == "Counter" and instance.number("n_counters") > _MAX_COUNTERS:
            report(instance.pos, instance.name, f"VitisNetP4 has up to {_MAX_COUNTERS} counters in one")


def _check_user_extern(instance: ir.Instance, applied: int, report: Report) -> None:
    if applied != 1:
        why = f"applied {applied} times; VitisNetP4 demands that a program applies each user extern once"
        report(instance.pos, instance.name, why)
    for type_ in instance.type.args:
        base = t.stripped(type_)
        inner = [t.stripped(field) for _, field in base.fields] if isinstance(base, t.Struct) else []
        if any(isinstance(field, t.Struct | t.Stack | t.Tuple) for field in inner):
            report(instance.pos, instance.name, f"{type_} has structures in it, which VitisNetP4 refuses")


def _check_checksum(call: ir.ExternCall, report: Report) -> None:
    step = 32 if call.object.choice("hash") == "CRC32" else 16
    width = t.max_width(call.args[0].type)
    if width % step or width > _MAX_CHECKSUM_BITS:
        why = f"of {width} bits; VitisNetP4 takes multiples of {step} up to {_MAX_CHECKSUM_BITS}"
        report(call.pos, call.object.name, why)


def _check_tables(own: Sequence[tree.Declared], uses: _Uses, report: Report) -> None:
    direct = {
        node.pos
        for declared in own
        for node in everything(declared)
        if isinstance(node, tree.Table) and any(item.name == "direct_match" for item in node.properties)
    }
    for table, applied in uses.tables.items():
        if applied > 1:
            report(table.pos, table.name, f"applied {applied} times; VitisNetP4 looks a table up once")
        if table.size > _SMALL_TABLE and table.pos not in direct:
            _check_key(table, report)


def _check_key(table: ir.Table, report: Report) -> None:
    width = sum(t.key_width(key.value.type) or 0 for key in table.keys)
    kinds = {key.kind for key in table.keys}
    low, high = _BCAM_KEYS
    if kinds == {"exact"} and not low <= width <= high:
        why = f"a key of {width} bits; for exact matches VitisNetP4 takes {low} to {high}, or direct_match"
        report(table.pos, table.name, why)
    if kinds & {"ternary", "range"} and (width > _TCAM_KEY or table.size > _TCAM_SIZE):
        why = f"a key of {width} bits and {table.size} entries; VitisNetP4 takes {_TCAM_KEY} and {_TCAM_SIZE}"
        report(table.pos, table.name, why)
