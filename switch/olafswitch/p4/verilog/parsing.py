"""The parser, unrolled: each state once for every offset and set of valid headers with which it is entered.

The hardware then needs no state machine: every field has a fixed place in the frame on each path to it.
"""

import heapq
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from graphlib import CycleError, TopologicalSorter

from olafswitch.p4.frozen import walk_nodes
from olafswitch.p4.ir import nodes as ir
from olafswitch.p4.ir import types as t
from olafswitch.p4.ir.walk import pin_indices
from olafswitch.p4.refuse import Refused
from olafswitch.p4.verilog.graph import Graph, Node
from olafswitch.p4.verilog.symbolic import Machine
from olafswitch.p4.verilog.values import NEXT, SIZE_BITS, VALID, Leaves, leaves_of

WINDOW = 256
"""The bytes of a frame that a program may read."""
MAX_PAIRS = 512
FRAME, BYTES, ERROR = "frame", "bytes", "$error"
"""Inputs (the first WINDOW bytes, the first on top, and the length of the frame) and the error's place."""
MAX_VISITS = 64
"""How often a state may be entered at one place in the frame, on paths that may take no bytes."""
_Key = tuple[str, int, tuple[str, ...]]


def frame_bits(graph: Graph, at: int, bits: int) -> Node:
    """Return ``bits`` of the frame from bit ``at`` on."""
    return graph.slice(graph.input(FRAME, 8 * WINDOW), 8 * WINDOW - at - bits, bits)


@dataclass
class End:
    """A way in which parsing ends: the bytes that were taken, and the values that it left."""

    at: int
    conditions: list[Node] = field(default_factory=list)
    envs: list[Leaves] = field(default_factory=list)
    chosen: Node = field(init=False)
    """Whether a frame's parsing ended here; it holds for exactly one end. Set when all ends are known."""


class Parsing:
    """A program's parser, run on a machine; afterwards ``ends`` are all its ends."""

    def __init__(self, graph: Graph, block: ir.Block, machine: Machine, errors: list[str],
                 is_member: Callable[[ir.ValueSet, Node, Machine], Node]) -> None:  # fmt: skip
        self.g, self.block, self.m, self.errors = graph, block, machine, errors
        self._is_member = is_member
        self.at = 0
        self.reach = 0
        """The bytes of the frame that the parser reads."""
        self._ends: dict[tuple[int, tuple[str, ...]], End] = {}
        self._waiting: list[tuple[int, int, _Key]] = []
        self._entries: dict[_Key, tuple[list[Node], list[Leaves]]] = {}
        self._states = {state.name: state for state in flatten_parser(block)}
        self._rank = self._rank_states()
        self._outside: tuple[tuple[int, bool], ...] = ()
        self._leave: tuple[ir.Statement, ...] = ()
        """Statements that copy the results of applied parsers back where parsing ends in the current
        state."""

    def merge_states(self) -> list[End]:
        """Run the parser, leave the machine in the merged state of all ends, and return the ends."""
        machine, g = self.m, self.g
        for variable in self.block.variables:
            machine.run_statement(variable)
        machine.env[ERROR] = g.const(0, 16)
        self._enter_state("start", machine.path)
        visits = Counter[_Key]()
        while self._waiting:
            _, _, key = heapq.heappop(self._waiting)
            visits[key] += 1
            if visits[key] > MAX_VISITS:
                raise self._goes_round([key[0]])
            conditions, envs = self._entries.pop(key)
            if len(self._ends) > MAX_PAIRS:
                raise Refused(self.block.pos, self.block.name, f"more than {MAX_PAIRS} ways through it")
            machine.path = g.any(*conditions)
            machine.env = self.merge_envs(conditions, envs)
            self.at = key[1]
            state = self._states[key[0]]
            self._leave = state.leave
            machine.run_body(state.body)
            self._take_transition(state)
        ends = list(self._ends.values())
        for number, end in enumerate(ends):
            end.chosen = g.node("name", 1, [g.any(*end.conditions)], number)
        merged = [self.merge_envs(end.conditions, end.envs) for end in ends]
        machine.env = self.merge_envs([end.chosen for end in ends], merged)
        machine.path = g.yes
        return ends

    def merge_envs(self, conditions: list[Node], envs: list[Leaves]) -> Leaves:
        if len(envs) == 1:
            return dict(envs[0])
        made: Leaves = {}
        for place in dict.fromkeys(place for env in envs for place in env):
            known = [(c, env[place]) for c, env in zip(conditions, envs, strict=True) if place in env]
            first = known[0][1]
            same = all(value is first for _, value in known)
            made[place] = self.g.name_place(first if same else self.g.onehot(known, first.width), place)
        return made

    def fail_if(self, condition: Node, error: str, node: ir.ExternCall) -> None:
        """End with an error where ``condition`` holds, and go on elsewhere."""
        if self.m.sides != self._outside and condition.value != 0:
            raise Refused(node.pos, node.method, "inside of a condition of a parser it is not supported")
        failed = self.g.all(self.m.path, condition)
        if failed.value != 0:
            self._add_end(failed, error)
        self.m.path = self.g.all(self.m.path, self.g.invert(condition))

    def extract(self, node: ir.ExternCall) -> None:
        """Run ``packet.extract(header)``."""
        target, type_ = node.args[0].value, node.args[0].type
        if len(node.args) > 1 or any(
            isinstance(t.strip_type(each), t.Varbit) for each in t.type_parts(type_)
        ):
            raise Refused(node.pos, "extract", "a header of variable size has no fixed place in hardware")
        m, bits = self.m, t.max_width(type_)
        if bits % 8 or not t.is_header(t.strip_type(type_)):
            raise Refused(node.pos, "extract", f"{type_} is not a header of whole bytes")
        nexts, inner = [], target
        while isinstance(inner, ir.Field | ir.Element | ir.StackPart):
            if isinstance(inner, ir.StackPart) and inner.part == "next":
                nexts.append(inner)
                size = getattr(t.strip_type(inner.base.type), "size", 0)
                if m.stack_index(inner) >= size:
                    self.fail_if(self.g.yes, "StackOutOfBounds", node)
                    return
            inner = inner.base
        self._require_bits(bits, node)
        if target is not None:
            m.assign_value(target, self._read_ahead(node, type_))
        for each in nexts:
            place = f"{m.place_of(each.base)}{NEXT}"
            m.env[place] = self.g.const((m.env[place].value or 0) + 1, SIZE_BITS)
        self.at += bits // 8

    def lookahead(self, node: ir.ExternCall) -> Leaves:
        """Run ``packet.lookahead<T>()`` and return its result."""
        bits = t.fixed_width(node.type)
        if bits is None:
            raise Refused(node.pos, "lookahead", f"{node.type} has no fixed width")
        self._require_bits(bits, node)
        return self._read_ahead(node, node.type)

    def _read_ahead(self, node: ir.ExternCall, type_: t.Type) -> Leaves:
        """Return the value of this type at the current place in the frame; a header is valid."""
        made, at = dict[str, Node](), 8 * self.at
        for way, width in leaves_of(type_, node.pos):
            if way.endswith(VALID) or way.endswith(NEXT):
                made[way] = self.g.yes if way.endswith(VALID) else self.g.const(0, width)
                continue
            made[way] = frame_bits(self.g, at, width)
            at += width
        return made

    def advance(self, node: ir.ExternCall) -> None:
        """Run ``packet.advance(bits)``."""
        bits = self.m.scalar_of(node.given(0)).value
        if bits is None:
            raise Refused(node.pos, "advance", "by how much is not known at compile time")
        if bits % 8:
            self.fail_if(self.g.yes, "ParserInvalidArgument", node)
            return
        self._require_bits(bits, node)
        self.at += bits // 8

    def _require_bits(self, bits: int, node: ir.ExternCall) -> None:
        """Fail where fewer than ``bits`` bits of the frame are left."""
        need = self.at + (bits + 7) // 8
        if need > WINDOW:
            raise Refused(node.pos, node.method, f"looks beyond the first {WINDOW} bytes of a frame")
        if self.m.path.value != 0:
            self.reach = max(self.reach, need)
        if need:
            short = self.g.binary("lt", self.g.input(BYTES, 16), self.g.const(need, 16))
            self.fail_if(short, "PacketTooShort", node)

    # --- states

    def _rank_states(self) -> dict[str, int]:
        """Return an order of the states in which a state that takes no bytes comes before its successors."""
        before: dict[str, set[str]] = {name: set() for name in self._states}
        for name, state in self._states.items():
            if any(map(_takes_bytes, walk_nodes(state.body))):
                continue
            for target in (state.transition.state, *(case.state for case in state.transition.cases)):
                if target in before:
                    before[target].add(name)
        try:
            order = list(TopologicalSorter(before).static_order())
        except CycleError as error:
            raise self._goes_round(error.args[1]) from None
        return {name: number for number, name in enumerate(order)}

    def _goes_round(self, names: Iterable[str]) -> Refused:
        return Refused(
            self.block.pos,
            self.block.name,
            f"states {', '.join(dict.fromkeys(names))} go round without taking bytes",
        )

    def _valid_shape(self) -> tuple[str, ...]:
        """Return the valid headers, and the stacks' next elements."""
        env = self.m.env
        valid = [place for place, node in env.items() if place.endswith(VALID) and node.value != 0]
        nexts = [f"{place}{node.value}" for place, node in env.items() if place.endswith(NEXT) and node.value]
        return tuple(sorted(valid + nexts))

    def _enter_state(self, target: str, condition: Node) -> None:
        if condition.value == 0:
            return
        if target in ("accept", "reject"):
            self._add_end(condition, "")
            return
        key = (target, self.at, self._valid_shape())
        if key not in self._entries:
            self._entries[key] = ([], [])
            heapq.heappush(self._waiting, (self.at, self._rank[target], key))
        self._entries[key][0].append(condition)
        self._entries[key][1].append(dict(self.m.env))

    def _add_end(self, condition: Node, error: str) -> None:
        machine = self.m
        path, env, machine.env, machine.path = machine.path, machine.env, dict(machine.env), condition
        machine.run_body(ir.Body(self._leave))
        if error:
            machine.env[ERROR] = self.g.const(self.errors.index(error), 16)
        end = self._ends.setdefault((self.at, self._valid_shape()), End(self.at))
        end.conditions.append(condition)
        end.envs.append(machine.env)
        machine.env, machine.path = env, path

    def _take_transition(self, state: ir.State) -> None:
        g, node = self.g, state.transition
        if not node.subjects:
            self._enter_state(node.state, self.m.path)
            return
        subjects = [self.m.scalar_of(subject) for subject in node.subjects]
        for case in node.cases:
            if isinstance(case.sets, ir.ValueSet):
                test = self._is_member(case.sets, g.cat(subjects), self.m)
            else:
                test = g.all(*self._build_tests(case.sets, subjects))
            self._enter_state(case.state, g.all(self.m.path, test))
            self.m.path = g.all(self.m.path, g.invert(test))
        if self.m.path.value != 0:
            self._add_end(self.m.path, "NoMatch")

    def _build_tests(self, sets: Iterable[ir.KeySet], subjects: list[Node]) -> Iterable[Node]:
        g = self.g
        for each, subject in zip(sets, subjects, strict=True):
            match = each.match
            if each.values is not None:
                yield self._is_member(each.values, subject, self.m)
            if match is None or match.value is None:
                continue
            low = g.const(match.value, subject.width)
            if match.high is not None:
                high = g.const(match.high, subject.width)
                yield g.invert(g.any(g.less(subject, low), g.less(high, subject)))
            elif match.mask is not None:
                yield g.binary("eq", g.binary("and", subject, g.const(match.mask, subject.width)), low)
            else:
                yield g.binary("eq", subject, low)


def _takes_bytes(node: object) -> bool:
    """Return whether a call takes bytes of the frame, unless it fails."""
    match node:
        case ir.ExternCall(method="extract", args=args):
            return t.max_width(args[0].type) > 0
        case ir.ExternCall(method="advance", args=args):
            by = args[0].value
            return not isinstance(by, ir.Const) or by.value != 0
    return False


class FlatState(ir.State):
    """A state of a parser or of one inside it; ``leave`` copies results back where parsing ends in it."""

    leave: tuple[ir.Statement, ...] = ()


def flatten_parser(block: ir.Block) -> list[FlatState]:
    """List a parser's states, with those of the parsers that it applies in the places of the calls."""
    states: list[FlatState] = []
    for state in block.states:
        _split_state(FlatState(state.name, state.body, state.transition), states)
    return states


def _split_state(state: FlatState, states: list[FlatState]) -> None:
    statements = state.body.statements
    for at, each in enumerate(statements):
        match each:
            case ir.Do(call=ir.Apply(target=ir.Block(kind="parser") as inner, args=args)):
                prefix, after = f"{state.name}.{at}.", f"{state.name}.{at}"
                enter, leave = _copy_arguments(inner.params, args, prefix)
                begin = ir.Transition(f"{prefix}start", (), ())
                places = state.body.places
                before = ir.Body((*statements[:at], *enter, *inner.variables), places[:at])
                states.append(FlatState(state.name, before, begin, state.leave))
                states += [
                    _rename_state(one, prefix, after, (*leave, *state.leave)) for one in flatten_parser(inner)
                ]
                rest = ir.Body(
                    (*leave, *statements[at + 1 :]), places[at : at + 1] * len(leave) + places[at + 1 :]
                )
                _split_state(FlatState(after, rest, state.transition, state.leave), states)
                return
    states.append(state)


def _copy_arguments(
    params: Sequence[ir.Parameter], args: Sequence[ir.Arg], prefix: str
) -> tuple[list[ir.Statement], tuple[ir.Statement, ...]]:
    """Return the statements that copy arguments into a parser's parameters, and those that copy them back.

    The target of a result is decided before the call: its indices are evaluated first.
    """
    enter, leave = list[ir.Statement](), list[ir.Statement]()

    def keep(index: ir.Expr) -> ir.Expr:
        local = ir.Local(index.type, f"${prefix}{len(enter)}")
        enter.append(ir.Declare(local, index))
        return local

    for param, arg in sorted(zip(params, args, strict=True), key=lambda each: each[1].turn):
        if isinstance(t.unwrap_type(param.type), t.Extern):
            continue
        value = arg.value
        if param.direction in ("out", "inout") and value is not None:
            value = pin_indices(value, keep)
            leave.append(ir.Assign(value, param.local))
        enter.append(ir.Declare(param.local, value if param.direction != "out" else None))
    return enter, tuple(leave)


def _rename_state(state: FlatState, prefix: str, after: str, leave: tuple[ir.Statement, ...]) -> FlatState:
    def name(target: str) -> str:
        return after if target == "accept" else target if target == "reject" else prefix + target

    cases = tuple(ir.SelectCase(case.sets, name(case.state), case.pos) for case in state.transition.cases)
    transition = ir.Transition(name(state.transition.state), state.transition.subjects, cases)
    return FlatState(prefix + state.name, state.body, transition, (*state.leave, *leave))
