"""Run a program on nodes instead of numbers: both sides of a branch, then a choice between their results.

The results of statements are in ``env``, by place; ``path`` is the condition under which a statement runs.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from itertools import zip_longest
from typing import Protocol

from olafswitch.p4.ir import nodes as ir
from olafswitch.p4.ir import types as t
from olafswitch.p4.ir.walk import has_effects, pin_indices
from olafswitch.p4.refuse import Pos, Refused
from olafswitch.p4.verilog.graph import Graph, Node
from olafswitch.p4.verilog.values import (
    NEXT,
    SIZE_BITS,
    VALID,
    Leaves,
    Operators,
    items_of,
    leaves_of,
    put_under,
    take_part,
)

MAX_ROUNDS = 256
"""The most rounds of one loop, which is unrolled."""
EXITED, LENGTH = "$exited", "$length"
"""The machine's own places: whether ``exit`` was reached, and v1model's length of the packet."""


def sides_exclude(a: tuple[tuple[int, bool], ...], b: tuple[tuple[int, bool], ...]) -> bool:
    """Return whether places in the program on these sides of branches exclude each other."""
    return any(number == other and side != way for number, side in a for other, way in b)


class Surroundings(Protocol):
    """The architecture and the tables, as the machine calls them."""

    def extern(self, node: ir.ExternCall, machine: "Machine") -> Leaves: ...

    def lookup(self, node: ir.TableApply, machine: "Machine") -> Leaves: ...


class Machine:
    """A machine that executes statements; one for a whole program."""

    def __init__(self, graph: Graph, surroundings: Surroundings, pos: Pos) -> None:
        self.g = graph
        self.o = Operators(graph)
        self.pos = pos
        """The place of the current statement, for expressions that have no place of their own."""
        self.env: Leaves = {EXITED: graph.no, LENGTH: graph.const(0, SIZE_BITS)}
        self.path: Node = graph.yes
        self.sides: tuple[tuple[int, bool], ...] = ()
        """The branches taken up to here, by number: places on different sides of a branch exclude each
        other."""
        self._around = surroundings
        self._leaves: list[str] = [EXITED]
        """The variables that tell that the code after them is not reached."""
        self._loops: list[tuple[str, str]] = []
        self._frames: list[str] = []
        self._serial = 0

    def fresh_place(self) -> str:
        self._serial += 1
        return f"${self._serial}"

    # --- statements

    def run_body(self, body: ir.Body) -> None:
        self._run_steps(list(zip_longest(body.statements, body.places)))

    def _run_steps(self, steps: Sequence[tuple[ir.Statement, Pos | None]]) -> None:
        for number, (node, place) in enumerate(steps, 1):
            self.pos = self.g.pos = place or self.pos
            self.run_statement(node)
            if any(self.env[each].value != 0 for each in self._leaves):
                self._where_reached(partial(self._run_steps, steps[number:]))
                return

    def _where_reached(self, run: Callable[[], None]) -> None:
        """Run ``run`` as one branch in which no jump was taken, so that constants remain known there.

        A table's action in a condition may exit, too.
        """

        def reached() -> None:
            self.env.update(dict.fromkeys(self._leaves, self.g.no))
            run()

        dead = self.g.any(*(self.env[place] for place in self._leaves))
        if dead.value is None:
            self.run_branch(self.g.invert(dead), reached, lambda: None)
        elif not dead.value:
            run()

    def run_statement(self, node: ir.Statement) -> None:
        match node:
            case ir.Body():
                self.run_body(node)
            case ir.Declare(local=local, value=value):
                made = self.value(value) if value is not None else self.o.default_value(local.type, self.pos)
                self.env.update(put_under(made, local.name))
            case ir.Assign(target=target, value=value):
                if has_effects(value) or has_effects(target):
                    target = self.pin_target(target)
                made = self.value(value)
                self._where_reached(lambda: self.assign_value(target, made))
            case ir.Do(call=call):
                self.value(call)
            case ir.If(condition=condition, yes=yes, no=no):
                choice = self.scalar_of(condition)
                otherwise = no if no is not None else ir.Body(())
                sides = partial(self.run_statement, yes), partial(self.run_statement, otherwise)
                self._where_reached(lambda: self.run_branch(choice, *sides))
            case ir.Switch(cases=cases):
                subject = self.scalar_of(node.subject)
                self._where_reached(lambda: self._run_switch(subject, cases))
            case ir.Jump(word="exit"):
                self.env[EXITED] = self.g.yes
            case ir.Jump(word=word):
                self.env[self._loops[-1][word == "continue"]] = self.g.yes
            case ir.Return(value=value):
                if value is not None:
                    self.keep_value(self._frames[-1], self.value(value))
                self.env[f"{self._frames[-1]}r"] = self.g.yes
            case ir.Loop():
                self._run_loop(node, self.pos)

    def run_branch(self, condition: Node, yes: Callable[[], None], no: Callable[[], None]) -> None:
        """Run both sides and merge their results."""
        if condition.value is not None:
            (yes if condition.value else no)()
            return
        self._serial += 1
        number, env, path, sides = self._serial, self.env, self.path, self.sides
        left: list[Leaves] = []
        for side, run in ((True, yes), (False, no)):
            self.env, self.sides = dict(env), (*sides, (number, side))
            self.path = self.g.all(path, condition if side else self.g.invert(condition))
            run()
            left.append(self.env)
        self.path, self.sides = path, sides
        self.env = self._merge_branches(condition, *left)

    def _merge_branches(self, condition: Node, yes: Leaves, no: Leaves) -> Leaves:
        merged = dict(no)
        for place, node in yes.items():
            other = no.get(place, node)
            merged[place] = node if node is other else self.g.mux(condition, node, other)
            self.g.name_place(merged[place], place)
        return merged

    def _run_switch(self, subject: Node, cases: Sequence[ir.Case]) -> None:
        if not cases:
            return
        case, rest = cases[0], cases[1:]
        if case.labels is None:
            if rest:  # the default comes last, wherever it stands
                self._run_switch(subject, (*rest, case))
            else:
                self.run_statement(case.body)
            return
        matches = self.g.any(*(self.g.equal(subject, label) for label in case.labels))
        self.run_branch(
            matches, lambda: self.run_statement(case.body), lambda: self._run_switch(subject, rest)
        )

    def _run_loop(self, node: ir.Loop, pos: Pos) -> None:
        self.run_body(node.init)
        broken, continued = self.fresh_place(), self.fresh_place()
        self.env[broken] = self.g.no
        self._loops.append((broken, continued))
        self._leaves.append(broken)
        self._run_round(node, pos, continued, 0)
        self._loops.pop()
        self._leaves.remove(broken)

    def _run_round(self, node: ir.Loop, pos: Pos, continued: str, number: int) -> None:
        """Run a loop from this round on; after a jump out of a round, later rounds run in a branch."""
        while True:
            condition = self.scalar_of(node.condition)
            if condition.value is None:
                raise Refused(pos, "loop", "how often it is run is not known at compile time")
            if not condition.value:
                return
            if number == MAX_ROUNDS:
                raise Refused(pos, "loop", f"it has more than {MAX_ROUNDS} rounds")
            self.env[continued] = self.g.no
            self._leaves.append(continued)
            self.run_body(ir.Body((node.body,)))
            self._leaves.pop()
            number += 1
            if any(self.env[each].value != 0 for each in self._leaves):
                self._where_reached(partial(self._next_round, node, pos, continued, number))
                return
            self.run_body(node.update)

    def _next_round(self, node: ir.Loop, pos: Pos, continued: str, number: int) -> None:
        self.run_body(node.update)
        self._run_round(node, pos, continued, number)

    # --- calls

    def run_call(self, params: Sequence[ir.Parameter], args: Sequence[ir.Arg], data: Mapping[str, Leaves],
             body: Callable[[], None], result: t.Type = t.VOID) -> Leaves:  # fmt: skip
        """Run ``body`` with the parameters bound to copies; ``data`` are those from a table's entry."""
        back: list[tuple[ir.Expr, ir.Parameter]] = []
        bound: Leaves = {}
        for param in params:
            if param.name in data:
                bound |= put_under(data[param.name], param.local.name)
        directed = (param for param in params if param.name not in data)
        for param, arg in sorted(zip(directed, args, strict=True), key=lambda pair: pair[1].turn):
            if isinstance(t.unwrap_type(param.type), t.Extern):
                continue
            target = arg.value
            if param.direction in ("out", "inout") and target is not None:
                target = self.pin_target(target)
                back.append((target, param))
            reads = target if param.direction != "out" else None
            made = self.value(reads) if reads is not None else self.o.default_value(param.type, self.pos)
            bound |= put_under(made, param.local.name)
        self.env.update(bound)
        frame = self.fresh_place()
        self._frames.append(frame)
        self._leaves.append(f"{frame}r")
        self.env[f"{frame}r"] = self.g.no
        if result != t.VOID:
            self.env.update(put_under(self.o.default_value(result, self.pos), frame))
        body()
        self._leaves.pop()
        self._frames.pop()
        for target, param in back:
            self.assign_value(target, self.read_place(param.local.name, param.type))
        return self.read_place(frame, result) if result != t.VOID else {}

    def run_control(self, block: ir.Block, args: Sequence[ir.Arg] = ()) -> None:
        """Apply a control; without ``args`` its parameters are in their places already."""

        def body() -> None:
            for variable in block.variables:
                self.run_statement(variable)
            self.run_statement(block.body)

        self.run_call(block.params if args else (), args, {}, body)

    # --- places

    def keep_value(self, place: str, value: Leaves) -> None:
        """Store a value in a place; its evaluation may have merged branches into another ``env``."""
        for way, node in value.items():
            self.env[place + way] = self.g.name_place(node, place + way)

    def read_place(self, place: str, type_: t.Type) -> Leaves:
        return {way: self.env[place + way] for way, _ in leaves_of(type_, self.pos)}

    def pin_target(self, target: ir.Expr) -> ir.Expr:
        """Return the target with its indices evaluated at this point."""

        def keep(index: ir.Expr) -> ir.Expr:
            name = self.fresh_place()
            self.keep_value(name, self.value(index))
            return ir.Local(index.type, name)

        return pin_indices(target, keep)

    def place_of(self, expr: ir.Expr) -> str | None:
        """Return the place of a value, when it is known at compile time."""
        match expr:
            case ir.Local(name=name):
                return name
            case ir.Field(base=base, name=name):
                inner = self.place_of(base)
                return None if inner is None else f"{inner}.{name}"
            case ir.StackPart(part="next" | "last"):
                inner = self.place_of(expr.base)
                return None if inner is None else f"{inner}[{self.stack_index(expr)}]"
            case ir.Element(base=base, index=index):
                if (inner := self.place_of(base)) is None:
                    return None
                known = f"{inner}[{self.scalar_of(index).value}]"
                return known if any(key.startswith(known) for key in self.env) else None
        return None

    def stack_index(self, expr: ir.StackPart) -> int:
        """Return the index of ``next`` or ``last``; raises Refused where it is not known at compile time."""
        at = self.read_place(f"{self.place_of(expr.base)}{NEXT}", t.Bit(SIZE_BITS))[""].value
        if at is None:
            raise Refused(expr.pos, expr.part, "which element it is is not known at compile time")
        return at - (expr.part == "last")

    def assign_value(self, target: ir.Expr, value: Leaves) -> None:
        g = self.g
        match target:
            case ir.Slice(base=ir.Slice() as inner, high=high, low=low):
                self.assign_value(ir.Slice(target.type, inner.base, inner.low + high, inner.low + low), value)
            case ir.Slice(base=ir.Cast(operand=operand), high=high, low=low):
                self.assign_value(ir.Slice(target.type, operand, high, low), value)
            case ir.Slice(base=base, high=high, low=low):
                old = self.scalar_of(base)
                parts = [g.slice(old, high + 1, old.width - high - 1), value[""], g.slice(old, 0, low)]
                self.assign_value(base, {"": g.cat(parts)})
            case ir.WindowSlice(base=base, start=start):
                old, at = self.scalar_of(base), self.scalar_of(start)
                ones = g.const((1 << value[""].width) - 1, old.width)
                kept = g.binary("and", old, g.invert(g.binary("shl", ones, at)))
                moved = g.binary("shl", g.resize(value[""], old.width), at)
                self.assign_value(base, {"": g.binary("or", kept, moved)})
            case ir.Field(base=base, name=name) if t.is_union(t.strip_type(base.type)):
                union = self.value(base)
                for other in union:
                    if other.endswith(VALID) and other != f".{name}{VALID}":
                        union[other] = g.all(union[other], g.invert(value[VALID]))
                self.assign_value(base, union | put_under(value, f".{name}"))
            case _:
                place = self.place_of(target)
                if place is not None:
                    self.keep_value(place, value)
                else:
                    self._assign_part(target, value)

    def _assign_part(self, target: ir.Expr, value: Leaves) -> None:
        """Assign to an element whose index is known at run time only."""
        assert isinstance(target, ir.Field | ir.Element)
        whole = self.value(target.base)
        if isinstance(target, ir.Field):
            whole.update(put_under(value, f".{target.name}"))
        else:
            index = self.scalar_of(target.index)
            for at in range(getattr(t.strip_type(target.base.type), "size", 0)):
                old = take_part(whole, f"[{at}]")
                whole.update(put_under(self.o.pick_value(self.g.equal(index, at), value, old), f"[{at}]"))
        self.assign_value(target.base, whole)

    # --- expressions

    def scalar_of(self, expr: ir.Expr) -> Node:
        return self.value(expr)[""]

    def value(self, expr: ir.Expr) -> Leaves:
        g = self.g
        match expr:
            case ir.Const(value=value):
                [(_, bits)] = leaves_of(expr.type, self.pos) if not isinstance(value, str) else [("", 1)]
                return {"": g.const(int(value) if not isinstance(value, str) else 0, bits)}
            case ir.Local() | ir.Field() | ir.Element() | ir.StackPart():
                return self._part_of(expr)
            case ir.Slice(base=base, high=high, low=low):
                return {"": g.slice(self.scalar_of(base), low, high - low + 1)}
            case ir.WindowSlice(base=base, start=start):
                moved = g.binary("shr", self.scalar_of(base), self.scalar_of(start))
                return {"": g.resize(moved, t.max_width(expr.type))}
            case ir.Unary(op=op, operand=operand):
                return {"": self.o.unary(op, self.scalar_of(operand))}
            case ir.Binary():
                return {"": self._binary_value(expr)}
            case ir.Cast(operand=operand):
                source, target = t.strip_type(operand.type), t.strip_type(expr.type)
                made = self.value(operand)
                return made if source == target else {"": self.o.cast(source, target, made[""])}
            case ir.Mux(condition=condition, yes=yes, no=no):
                name, choice = self.fresh_place(), self.scalar_of(condition)
                self.run_branch(
                    choice,
                    lambda: self.keep_value(name, self.value(yes)),
                    lambda: self.keep_value(name, self.value(no)),
                )
                return self.read_place(name, expr.type)
            case ir.Make(type=type_, parts=parts, order=order):
                values = {at: self.value(parts[at]) for at in order or range(len(parts))}
                return self._make_value(type_, [values[at] for at in range(len(parts))])
            case ir.Let(before=before, value=value):
                for each in before:
                    self.run_statement(each)
                return self.value(value)
            case ir.Default(type=type_):
                return self.o.default_value(type_, self.pos)
            case ir.IsValid(base=base):
                return {"": self.o.is_valid(base.type, self.value(base))}
            case ir.Call(target=target, args=args):
                result = target.result if isinstance(target, ir.Function) else t.VOID
                return self.run_call(target.params, args, {}, lambda: self.run_statement(target.body), result)
            case ir.Apply(target=block, args=args):
                if block.kind == "parser":
                    raise Refused(block.pos, block.name, "a parser that a parser applies is not supported")
                self.run_control(block, args)
                return {}
            case ir.TableApply():
                return self._around.lookup(expr, self)
            case ir.HeaderCall():
                self._header_call(expr)
                return {}
            case ir.ExternCall():
                return self._around.extern(expr, self)
        raise AssertionError(expr)

    def _part_of(self, expr: ir.Expr) -> Leaves:
        if has_effects(expr):
            expr = self.pin_target(expr)  # the place and the value below read an index twice
        place = self.place_of(expr)
        if place is not None:
            return self.read_place(place, expr.type)
        match expr:
            case ir.Field(base=base, name=name):
                return take_part(self.value(base), f".{name}")
            case ir.StackPart(part="lastIndex" | "nextIndex" as which):
                after = self.value(expr.base)[NEXT]
                less = self.g.const(which == "lastIndex", SIZE_BITS)
                return {"": self.g.binary("sub", after, less)}
            case ir.Element(base=base, index=index):
                whole, at = self.value(base), self.scalar_of(index)
                result = self.o.default_value(expr.type, self.pos)
                for number in range(getattr(t.strip_type(base.type), "size", 0)):
                    chosen = take_part(whole, f"[{number}]")
                    result = self.o.pick_value(self.g.equal(at, number), chosen or result, result)
                return result
        raise AssertionError(expr)

    def _binary_value(self, expr: ir.Binary) -> Node:
        if expr.op == "+" and not has_effects(expr):
            return self._sum_terms(expr)
        left = self.value(expr.left)
        if expr.op in ("&&", "||"):
            return self._short_circuit(expr, left[""])
        right = self.value(expr.right)
        if expr.op in ("==", "!="):
            same = self.o.are_same(expr.left.type, left, right)
            return same if expr.op == "==" else self.g.invert(same)
        return self.o.binary(expr, left[""], right[""], self.pos)

    def _sum_terms(self, expr: ir.Expr) -> Node:
        terms: list[Node] = []
        while isinstance(expr, ir.Binary) and expr.op == "+":
            terms.append(self.scalar_of(expr.right))
            expr = expr.left
        terms.append(self.scalar_of(expr))
        return self.g.sum(terms[::-1])

    def _short_circuit(self, expr: ir.Binary, left: Node) -> Node:
        name, both = self.fresh_place(), expr.op == "&&"

        def side(holds: bool) -> None:
            self.env[name] = self.scalar_of(expr.right) if holds is both else self.g.const(not both, 1)

        self.run_branch(left, partial(side, True), partial(side, False))
        return self.env[name]

    def _make_value(self, type_: t.Type, parts: Sequence[Leaves]) -> Leaves:
        base = t.strip_type(type_)
        made = {VALID: self.g.yes} if t.is_header(base) else self.o.default_value(base, self.pos)
        for (way, _), value in zip((items_of(base) or [])[: len(parts)], parts, strict=True):
            made.update(put_under(value, way))
        return made

    def _header_call(self, node: ir.HeaderCall) -> None:
        g, target = self.g, self.pin_target(node.base)
        value = self.value(target)
        if node.method in ("push_front", "pop_front"):
            self._shift_stack(target, value, node)
            return
        size = g.const((t.max_width(node.base.type) + 7) // 8, SIZE_BITS)
        was, length = value[VALID], self.env[LENGTH]
        if node.method == "setValid":
            zero = self.o.default_value(node.base.type, self.pos)
            self.assign_value(target, self.o.pick_value(was, value, zero) | {VALID: g.yes})
            self.env[LENGTH] = g.mux(was, length, g.binary("add", length, size))
        else:
            self.assign_value(target, value | {VALID: g.no})
            self.env[LENGTH] = g.mux(was, g.binary("sub", length, size), length)

    def _shift_stack(self, target: ir.Expr, value: Leaves, node: ir.HeaderCall) -> None:
        """Run ``push_front`` or ``pop_front``."""
        g, base = self.g, t.strip_type(node.base.type)
        assert isinstance(base, t.Stack)
        by = node.count if node.method == "push_front" else -node.count
        made: Leaves = {}
        for at in range(base.size):
            old = take_part(value, f"[{at - by}]") if 0 <= at - by < base.size else {}
            made.update(put_under(old or self.o.default_value(base.element, self.pos), f"[{at}]"))
        after, moved = value[NEXT], g.const(node.count, SIZE_BITS)
        if by > 0:
            sum_, most = g.binary("add", after, moved), g.const(base.size, SIZE_BITS)
            made[NEXT] = g.mux(g.binary("lt", most, sum_), most, sum_)
        else:
            none = g.const(0, SIZE_BITS)
            made[NEXT] = g.mux(g.binary("lt", after, moved), none, g.binary("sub", after, moved))
        self.assign_value(target, made)
