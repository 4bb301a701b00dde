"""Write an expression as C++: a value without side effects, after statements for the parts that have them.

P4 evaluates from left to right; C++ does not promise to. For this reason parts with effects become statements
of their own, and the values before them are stored in temporaries.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from olafswitch.p4.emit.writer import CppWriter, read_field, type_fields, words_of, write_literal
from olafswitch.p4.ir import nodes as ir
from olafswitch.p4.ir import types as t
from olafswitch.p4.ir.walk import has_effects


class Effects(Protocol):
    """What an expression may do besides having a value; the code around it writes this as statements."""

    def call(self, node: ir.Expr) -> str:
        """Write a call and return its result as a C++ expression."""

    def fail_if(self, condition: str, error: str) -> None:
        """Write a test that ends the parser with an error."""


class Expressions:
    """A writer of expressions of the checked program as C++."""

    def __init__(self, writer: CppWriter, effects: Effects) -> None:
        self.w = writer
        self._effects = effects

    def cpp(self, type_: t.Type) -> str:
        return self.w.types.name(type_)

    def keep(self, value: str, type_: t.Type) -> str:
        """Store the value in a temporary and return the temporary's name."""
        name = self.w.fresh()
        self.w.line(f"{self.cpp(type_)} {name} = {value};")
        return name

    def words(self, value: str, type_: t.Type) -> list[str]:
        """Return a scalar's 64-bit words, the least significant first."""
        base = t.strip_type(type_)
        cpp = self.cpp(base) if isinstance(base, t.Bit) else "u64"
        return [f"Limbs<{cpp}>::get(({cpp})({value}), {word})" for word in range(words_of(base))]

    def row(self, exprs: Sequence[ir.Expr], order: Sequence[int] = ()) -> list[str]:
        """Return several expressions, evaluated in ``order``, or from left to right."""
        made = [""] * len(exprs)
        turns = order or range(len(exprs))
        for turn, at in enumerate(turns):
            expr = exprs[at]
            value = self.value(expr)
            later = any(has_effects(exprs[other]) for other in turns[turn + 1 :])
            made[at] = self.keep(value, expr.type) if later and not isinstance(expr, ir.Const) else value
        return made

    def value(self, expr: ir.Expr) -> str:
        """Return a C++ expression for ``expr``."""
        match expr:
            case ir.Const(value=value):
                return '""' if isinstance(value, str) else write_literal(int(value), expr.type)
            case ir.Local(name=name):
                return name
            case ir.Field() | ir.Element() | ir.StackPart():
                return self._part(expr)
            case ir.Slice(base=base, high=high, low=low):
                return f"slice<{high}, {low}, {self.cpp(expr.type)}>({self.value(base)})"
            case ir.WindowSlice(base=base, start=start):
                whole, at = self.row([base, start])
                width = t.max_width(expr.type)
                return f"cut<{width}>(convert<{self.cpp(expr.type)}>(right({whole}, places({at}))))"
            case ir.Unary():
                return self._unary(expr)
            case ir.Binary():
                return self._binary(expr)
            case ir.Cast():
                return self._cast(expr)
            case ir.Mux():
                return self._mux(expr)
            case ir.Make(type=type_, parts=parts, order=order):
                return self._make(type_, self.row(parts, order))
            case ir.Let(before=before, value=value):
                for each in before:
                    assert each.value is not None
                    self.w.line(f"{self.cpp(each.local.type)} {each.local.name} = {self.value(each.value)};")
                return self.value(value)
            case ir.Default(type=type_):
                return f"{self.cpp(type_)}{{}}"
            case ir.IsValid(base=base):
                return self.validity(self.value(base), base.type)
        return self._effects.call(expr)

    def validity(self, value: str, type_: t.Type) -> str:
        base = t.strip_type(type_)
        if t.is_union(base):
            return "(" + " || ".join(f"{value}.{name}.v" for name, _ in type_fields(base)) + ")"
        return f"{value}.v"

    def place(self, expr: ir.Expr) -> str:
        """Return a C++ expression for ``expr`` that can be assigned to; a header that it is a field of has
        been marked as changed."""
        match expr:
            case ir.Field(base=base, name=name):
                return f"{self.place(base)}.f_{name}"
            case ir.Element():
                return self._element(expr, self.value(expr.index), self.place(expr.base))
        return self.value(expr)

    def _part(self, expr: ir.Field | ir.Element | ir.StackPart) -> str:
        if isinstance(expr, ir.Field):
            return read_field(expr.base.type, self.value(expr.base), f"f_{expr.name}")
        if isinstance(expr, ir.StackPart):
            return self._stack_part(expr)
        return self._element(expr, self.value(expr.index), self.value(expr.base))

    def _element(self, expr: ir.Element, index: str, base: str) -> str:
        if isinstance(t.strip_type(expr.base.type), t.Tuple):
            assert isinstance(expr.index, ir.Const)
            return f"{base}.f{expr.index.value}"
        if isinstance(expr.index, ir.Const):
            return f"{base}.e[{expr.index.value}]"
        return f"{base}.at({self.index(index, expr.index.type)})"

    def index(self, value: str, type_: t.Type) -> str:
        """Return an index as u64; a negative index becomes a huge one."""
        base = t.strip_type(type_)
        if isinstance(base, t.Bit) and base.signed and base.width < 64:
            return f"extend<{base.width}, 64, u64>({value})"
        return f"places({value})" if t.max_width(base) > 64 else value

    def _stack_part(self, expr: ir.StackPart) -> str:
        stack = self.value(expr.base)
        if expr.part == "lastIndex":
            return f"((u64)(u32)({stack}.next - 1))"
        size = getattr(t.strip_type(expr.base.type), "size", 0)
        if expr.part == "next":
            self._effects.fail_if(f"{stack}.next >= {size}u", "StackOutOfBounds")
            return f"{stack}.e[{stack}.next]"
        self._effects.fail_if(f"{stack}.next == 0 || {stack}.next > {size}u", "StackOutOfBounds")
        return f"{stack}.e[{stack}.next - 1]"

    def _unary(self, expr: ir.Unary) -> str:
        inner = self.value(expr.operand)
        if expr.op == "!":
            return f"(!{inner})"
        cpp, width = self.cpp(expr.type), t.max_width(expr.type)
        body = f"~{inner}" if expr.op == "~" else f"{cpp}{{}} - {inner}"
        return f"cut<{width}>(({cpp})({body}))"

    def _binary(self, expr: ir.Binary) -> str:
        if expr.op in ("&&", "||"):
            return self._short_circuit(expr)
        left, right = self.row([expr.left, expr.right])
        type_ = t.strip_type(expr.left.type)
        if expr.op in ("==", "!="):
            same = self.w.types.equal(type_, left, right)
            return same if expr.op == "==" else f"(!{same})"
        assert isinstance(type_, t.Bit)
        width, cpp, signed = type_.width, self.cpp(type_), type_.signed
        match expr.op:
            case "+" | "-" | "*":
                return f"cut<{width}>(({cpp})({left} {expr.op} {right}))"
            case "&" | "|" | "^":
                return f"({left} {expr.op} {right})"
            case "/":
                return f"quotient({left}, {right})"
            case "%":
                return f"remainder({left}, {right})"
            case "|+|" | "|-|":
                name = ("add" if expr.op == "|+|" else "sub") + "_sat" + ("_signed" if signed else "")
                return f"{name}<{width}, {cpp}>({left}, {right})"
            case "<<":
                return f"cut<{width}>(left({left}, places({right})))"
            case ">>":
                places = f"places({right})"
                return f"right_signed<{width}>({left}, {places})" if signed else f"right({left}, {places})"
            case "++":
                wide, low = self.cpp(expr.type), t.max_width(expr.right.type)
                return f"({wide})(left(convert<{wide}>({left}), {low}) | convert<{wide}>({right}))"
        if not signed:
            return f"({left} {expr.op} {right})"
        a, b = (left, right) if expr.op in ("<", ">=") else (right, left)
        less = f"less_signed<{width}, {cpp}>({a}, {b})"
        return less if expr.op in ("<", ">") else f"(!{less})"

    def _short_circuit(self, expr: ir.Binary) -> str:
        left = self.value(expr.left)
        with self.w.captured() as lines:
            right = self.value(expr.right)
        if not lines:
            return f"({left} {expr.op} {right})"
        name = self.keep(left, t.BOOL)
        self.w.line(f"if ({'' if expr.op == '&&' else '!'}{name}) {{")
        self.w.lines.extend(lines)
        self.w.line(f"{name} = {right};\n}}")
        return name

    def _mux(self, expr: ir.Mux) -> str:
        condition = self.value(expr.condition)
        with self.w.captured() as first:
            yes = self.value(expr.yes)
        with self.w.captured() as second:
            no = self.value(expr.no)
        if not first and not second:
            cpp = self.cpp(expr.type)
            return f"({condition} ? ({cpp})({yes}) : ({cpp})({no}))"
        name = self.w.fresh()
        self.w.line(f"{self.cpp(expr.type)} {name};\nif ({condition}) {{")
        self.w.lines.extend(first)
        self.w.line(f"{name} = {yes};\n}} else {{")
        self.w.lines.extend(second)
        self.w.line(f"{name} = {no};\n}}")
        return name

    def _cast(self, expr: ir.Cast) -> str:
        inner = self.value(expr.operand)
        source, target = t.strip_type(expr.operand.type), t.strip_type(expr.type)
        if source == target:
            return inner
        if target == t.BOOL:
            return f"({inner} != 0)"
        cpp = self.cpp(target)
        if source == t.BOOL:
            return f"(({cpp})({inner} ? 1 : 0))"
        assert isinstance(source, t.Bit) and isinstance(target, t.Bit)
        if source.width == target.width:
            return inner
        if target.width < source.width:
            return f"cut<{target.width}>(convert<{cpp}>({inner}))"
        if source.signed:
            return f"extend<{source.width}, {target.width}, {cpp}>({inner})"
        return f"convert<{cpp}>({inner})"

    def _make(self, type_: t.Type, parts: list[str]) -> str:
        base = t.strip_type(type_)
        if isinstance(base, t.Stack):
            return f"{self.cpp(base)}{{{{{', '.join(parts)}}}, 0}}"
        return self.w.types.make(base, parts)
