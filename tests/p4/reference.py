"""Run a P4 program directly from its syntax tree, in the order that the specification gives (P4_16 §6.8).

The interpreter shares the parser of the language with the compiler, and nothing else: no types are checked,
no expression is rewritten. Numbers are (value, width); the width of an ``int`` is None.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from olafswitch.p4.syntax import tree

Number = tuple[int, int | None]
Place = tuple[Any, Any]
"""The place of a value: a dictionary or list, and the key; or a Slice of another place."""


@dataclass(frozen=True)
class Bits:
    """Bits ``high`` to ``low`` of the number at ``place``."""

    place: Place
    high: int
    low: int


class Returned(Exception):
    """A ``return`` statement, with its value."""


@dataclass
class Scope:
    """Variables and declarations by name, and the scope around them."""

    outer: "Scope | None" = None
    values: dict[str, Any] = field(default_factory=dict)
    declared: dict[str, Any] = field(default_factory=dict)

    def holder(self, name: str) -> dict[str, Any]:
        scope: Scope | None = self
        while scope is not None:
            if name in scope.values:
                return scope.values
            scope = scope.outer
        raise KeyError(name)

    def declaration(self, name: str) -> Any:
        scope: Scope | None = self
        while scope is not None:
            if name in scope.declared:
                return scope.declared[name]
            scope = scope.outer
        return None


def cut_number(value: int, width: int | None) -> Number:
    return (value if width is None else value & ((1 << width) - 1), width)


def copy_value(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: copy_value(each) for name, each in value.items()}
    return [copy_value(each) for each in value] if isinstance(value, list) else value


class Interpreter:
    """An interpreter of the controls, actions, functions and tables of one program."""

    def __init__(self, program: Sequence[tree.Declared]) -> None:
        self.top = Scope(declared={each.name: each for each in program})

    # --- values

    def zero(self, type_: Any) -> Any:
        match type_:
            case tree.SizedType(width=tree.Number(value=width)):
                return (0, width)
            case tree.BaseType(name="bool"):
                return False
            case tree.StackType(element=element, size=tree.Number(value=size)):
                return [self.zero(element) for _ in range(size)]
            case tree.NamedType(name=name):
                declared = self.top.declared[name]
                return {each.name: self.zero(each.type) for each in declared.fields}
        raise AssertionError(type_)

    def convert(self, value: Any, like: Any) -> Any:
        """Return ``value`` in the form of ``like``: literals get a width, lists and fields become structs."""
        if isinstance(like, dict) and isinstance(value, list):
            value = dict(zip(like, value, strict=True))
        if isinstance(like, dict):
            return {name: self.convert(value[name], each) for name, each in like.items()}
        return (
            cut_number(value[0], like[1])
            if isinstance(like, tuple) and value[1] is None
            else copy_value(value)
        )

    def value(self, node: Any, scope: Scope) -> Any:
        match node:
            case tree.Number(value=value, width=width):
                return cut_number(value, width)
            case tree.Boolean(value=value):
                return value
            case tree.ListOf(items=items):
                return [self.value(each, scope) for each in items]
            case tree.Fields(items=items):
                return {name: self.value(each, scope) for name, each in items}
            case tree.Name() | tree.Index() | tree.Slice():
                return self.read(self.place(node, scope))
            case tree.MemberExpression(base=tree.Call() | tree.Cast(), name=name):
                return self.value(node.base, scope)[name]
            case tree.MemberExpression():
                return self.read(self.place(node, scope))
            case tree.Cast(type=type_, operand=operand):
                made = self.value(operand, scope)
                zero = self.zero(type_)
                if isinstance(zero, tuple):
                    return cut_number(int(made) if isinstance(made, bool) else made[0], zero[1])
                return self.convert(made, zero)
            case tree.Unary(op=op, operand=operand):
                made = self.value(operand, scope)
                return not made if op == "!" else cut_number(-made[0] if op == "-" else ~made[0], made[1])
            case tree.Mux(condition=condition, yes=yes, no=no):
                return self.value(yes if self.value(condition, scope) else no, scope)
            case tree.Binary(op=op, left=left, right=right):
                first = self.value(left, scope)
                if op in ("&&", "||"):
                    return first if first is (op == "||") else self.value(right, scope)
                return self.binary(op, first, self.value(right, scope))
            case tree.Call():
                return self.call(node, scope)
        raise AssertionError(node)

    def binary(self, op: str, left: Any, right: Any) -> Any:
        if op in ("==", "!="):
            left, right = self.convert(left, right), self.convert(right, left)
            return (left == right) is (op == "==")
        (a, width), (b, other) = left, right
        if op == "++":
            return (a << other | b, width + other)
        if op in ("<<", ">>"):
            return cut_number(a << b if op == "<<" else a >> b, width)
        width = other if width is None else width
        (a, _), (b, _) = cut_number(a, width), cut_number(b, width)
        if op in ("<", "<=", ">", ">="):
            return {"<": a < b, "<=": a <= b, ">": a > b, ">=": a >= b}[op]
        if op in ("|+|", "|-|"):
            assert width is not None
            return (min(a + b, (1 << width) - 1) if op == "|+|" else max(a - b, 0), width)
        return cut_number({"+": a + b, "-": a - b, "*": a * b, "&": a & b, "|": a | b, "^": a ^ b}[op], width)

    # --- places

    def place(self, node: Any, scope: Scope) -> Any:
        match node:
            case tree.Name(name=name):
                return scope.holder(name), name
            case tree.MemberExpression(base=base, name=name):
                return self.read(self.place(base, scope)), name
            case tree.Index(base=base, index=index):
                stack = self.read(self.place(base, scope))
                return stack, self.value(index, scope)[0]
            case tree.Slice(base=base, high=high, low=low):
                return Bits(self.place(base, scope), self.value(high, scope)[0], self.value(low, scope)[0])
        return [self.value(node, scope)], 0

    def read(self, place: Any) -> Any:
        if isinstance(place, Bits):
            return cut_number(self.read(place.place)[0] >> place.low, place.high - place.low + 1)
        holder, key = place
        return holder[key]

    def write(self, place: Any, value: Any) -> None:
        if isinstance(place, Bits):
            old, width = self.read(place.place)
            ones = ((1 << (place.high - place.low + 1)) - 1) << place.low
            self.write(place.place, (old & ~ones | value[0] << place.low & ones, width))
        else:
            holder, key = place
            holder[key] = self.convert(value, holder[key])

    # --- calls

    def call(self, node: tree.Call, scope: Scope) -> Any:
        callee = node.callee
        if isinstance(callee, tree.Name):
            target = scope.declaration(callee.name)
            if isinstance(target, tree.Function):
                return self.enter(target.signature.params, node.args, scope, target.body, self.top)
            return self.enter(target.params, node.args, scope, target.body, scope)
        assert isinstance(callee, tree.MemberExpression)
        if callee.name == "setValid":
            return None
        assert isinstance(callee.base, tree.Name)
        target = scope.declaration(callee.base.name)
        if isinstance(target, tree.Table):
            return self.apply_table(target, scope)
        if isinstance(target, tree.Instance):
            target = self.top.declared[target.type.name]  # type: ignore[union-attr]  # of a control here
        return self.enter(target.params, node.args, scope, target, self.top)

    def enter(
        self, params: Sequence[tree.Parameter], args: Sequence[tree.Argument], caller: Scope, body: Any,
        outer: Scope,
    ) -> Any:  # fmt: skip
        """Copy arguments in as written, run the body, and copy them out as written."""
        by_name = {param.name: param for param in params}
        inner, back = Scope(outer), []
        for at, arg in enumerate(args):
            param = by_name[arg.name] if arg.name else params[at]
            zero = self.zero(param.type)
            if param.direction in ("out", "inout"):
                place = self.place(arg.value, caller)
                back.append((place, param.name))
                inner.values[param.name] = (
                    copy_value(self.read(place)) if param.direction == "inout" else zero
                )
            else:
                inner.values[param.name] = self.convert(self.value(arg.value, caller), zero)
        result = None
        try:
            self.control(body, inner) if isinstance(body, tree.Control) else self.run_packet(body, inner)
        except Returned as returned:
            (result,) = returned.args
        for place, name in back:
            self.write(place, inner.values[name])
        return result

    def control(self, node: tree.Control, scope: Scope) -> None:
        for each in node.locals:
            scope.declared[each.name] = each
            if isinstance(each, tree.Variable):
                self.run_packet(each, scope)
        self.run_packet(node.body, scope)

    def apply_table(self, table: tree.Table, scope: Scope) -> Any:
        about: Mapping[str, Any] = {each.name: each.value for each in table.properties}
        keys = [self.value(each.value, scope)[0] for each in about["key"]]
        chosen, hit = about["default_action"], False
        for entry in about["entries"]:
            items: Any = entry.keys.items if isinstance(entry.keys, tree.KeyTuple) else (entry.keys,)
            if not hit and keys == [each.value for each in items]:
                chosen, hit = entry.action, True
        self.call(chosen, scope)
        return {"hit": hit, "miss": not hit}

    # --- statements

    def run_packet(self, node: Any, scope: Scope) -> None:
        match node:
            case tree.BlockStatement(statements=statements):
                inner = Scope(scope)
                for each in statements:
                    self.run_packet(each, inner)
            case tree.Variable(name=name, type=type_, value=value):
                zero = self.zero(type_)
                scope.values[name] = zero if value is None else self.convert(self.value(value, scope), zero)
            case tree.Assign(target=target, op=op, value=value):
                place = self.place(target, scope)
                before = self.read(place) if op else None
                made = self.value(value, scope)
                self.write(place, self.binary(op, before, made) if op else made)
            case tree.Do(call=call):
                self.value(call, scope)
            case tree.If(condition=condition, yes=yes, no=no):
                if self.value(condition, scope):
                    self.run_packet(yes, Scope(scope))
                elif no is not None:
                    self.run_packet(no, Scope(scope))
            case tree.Switch(subject=subject, cases=cases):
                number = self.value(subject, scope)[0]
                labels: list[Any] = [case.label for case in cases]
                found = [at for at, label in enumerate(labels) if label is not None and label.value == number]
                found += [at for at, label in enumerate(labels) if label is None]
                for case in cases[found[0] :] if found else ():
                    if case.body is not None:
                        self.run_packet(case.body, scope)
                        break
            case tree.Return(value=value):
                raise Returned(self.value(value, scope) if value is not None else None)
            case tree.For(init=init, condition=condition, update=update, body=body):
                inner = Scope(scope)
                for each in init:
                    self.run_packet(each, inner)
                while self.value(condition, inner):
                    self.run_packet(body, Scope(inner))
                    for each in update:
                        self.run_packet(each, inner)
            case tree.Empty():
                pass
            case _:
                raise AssertionError(node)
