"""From grammar rules to syntax tree: expressions and types."""

import re
from collections.abc import Sequence
from typing import Any

from lark import Token as Terminal
from lark import Transformer

from olafctl.p4.refuse import Pos, Refused
from olafctl.p4.syntax import tree
from olafctl.p4.syntax.literals import literal

Children = Sequence[Any]


def place(children: Children) -> Pos:
    """The place of the first child."""
    for child in children:
        if child is not None and child != []:
            first = child[0] if isinstance(child, (list, tuple)) and not isinstance(child, Pos) else child
            pos: Pos = first.pos
            return pos
    raise AssertionError("a rule without children has no place")


def nodes(children: Children) -> list[Any]:
    """The children without words and punctuation."""
    return [child for child in children if not isinstance(child, Terminal)]


def has_word(children: Children, *words: str) -> str:
    """The first of ``words`` among the children; empty when none is."""
    return next((str(c) for c in children if isinstance(c, Terminal) and str(c) in words), "")


class Word(str):
    """A name with its place."""

    pos: Pos


def as_type(expr: Any) -> tree.Type:
    """The type that was read as an expression, such as ``T``, ``T<A>`` or ``T[4]``."""
    match expr:
        case tree.Name():
            return tree.NamedType(expr.pos, expr.name, expr.top_level)
        case tree.Index(base=base, index=index):
            return tree.StackType(expr.pos, as_type(base), index)
        case tree.Call(callee=callee, type_args=type_args, args=()) if type_args:
            named = as_type(callee)
            if isinstance(named, tree.NamedType):
                return tree.Specialized(expr.pos, named, type_args)
        case (
            tree.BaseType() | tree.SizedType() | tree.NamedType() | tree.Specialized()
            | tree.StackType() | tree.TupleType() | tree.ListType()
        ):  # fmt: skip
            type_: tree.Type = expr
            return type_
    raise Refused(expr.pos, "declaration", "its name follows something that is not a type")


class ExpressionBuilder(Transformer[Any, Any]):
    """One method for each rule; children are terminals and results of other methods."""

    def name(self, c: Children) -> Word:
        word = Word(str(c[0]))
        word.pos = c[0].pos
        return word

    # --- types

    def base_type(self, c: Children) -> tree.Type:
        if str(c[0]) == "bit":
            return tree.SizedType(place(c), "bit", tree.Number(place(c), 1, None, False))
        return tree.BaseType(place(c), str(c[0]))

    def sized_type(self, c: Children) -> tree.Type:
        return tree.SizedType(place(c), str(c[0]), nodes(c)[0])

    def any_type(self, c: Children) -> tree.Type:
        return tree.BaseType(place(c), "_")

    def named_type(self, c: Children) -> tree.Type:
        word = next(t for t in c if isinstance(t, Terminal) and t.type == "NAME")
        base = tree.NamedType(place(c), str(word), str(c[0]) == ".")
        args = [child for child in c if isinstance(child, tuple)]
        return tree.Specialized(place(c), base, args[0]) if args else base

    def stack(self, c: Children) -> tree.Type:
        return tree.StackType(place(c), c[0], c[2])

    keyword_stack = stack

    def tuple(self, c: Children) -> tree.Type:
        args = nodes(c)
        return tree.TupleType(place(c), args[0] if args else ())

    def list_type(self, c: Children) -> tree.Type:
        return tree.ListType(place(c), c[2])

    def type_args(self, c: Children) -> Any:
        return tuple(nodes(c))

    def type_params(self, c: Children) -> Any:
        return tuple(str(child) for child in c if isinstance(child, Word))

    # --- leaves

    def number(self, c: Children) -> tree.Number:
        return literal(str(c[0]), place(c))

    def string(self, c: Children) -> tree.String:
        text = re.sub(r"\\(.)", r"\1", str(c[0])[1:-1], flags=re.S)
        return tree.String(place(c), text)

    def boolean(self, c: Children) -> tree.Boolean:
        return tree.Boolean(place(c), str(c[0]) == "true")

    def variable_name(self, c: Children) -> tree.Name:
        return tree.Name(place(c), str(c[-1]), str(c[0]) == ".")

    def parens(self, c: Children) -> tree.Expr:
        inner: tree.Expr = c[1]
        return inner

    # --- compound

    def mux(self, c: Children) -> tree.Expr:
        return tree.Mux(place(c), c[0], c[2], c[4])

    def binary(self, c: Children) -> tree.Expr:
        return tree.Binary(c[1].pos, str(c[1]), c[0], c[2])

    def unary_op(self, c: Children) -> tree.Expr:
        return tree.Unary(place(c), str(c[0]), c[1])

    def cast(self, c: Children) -> tree.Expr:
        return tree.Cast(place(c), c[1], c[3])

    def member(self, c: Children) -> tree.Expr:
        return tree.Member(place(c), c[0], str(c[2]))

    def type_member(self, c: Children) -> tree.Expr:
        if not isinstance(c[0], tree.BaseType) or c[0].name != "error":
            raise Refused(place(c), "member", "only error has members among the built-in types")
        return tree.Member(place(c), tree.Name(place(c), "error"), str(c[2]))

    def index(self, c: Children) -> tree.Expr:
        return tree.Index(place(c), c[0], c[2])

    def slice(self, c: Children) -> tree.Expr:
        return tree.Slice(place(c), c[0], c[2], c[4], str(c[3]) == "+:")

    def specialize(self, c: Children) -> tree.Expr:
        return tree.Call(place(c), c[0], c[2], ())

    def call(self, c: Children) -> tree.Expr:
        callee, args = c[0], c[2]
        if isinstance(callee, tree.Call) and callee.type_args and not callee.args:
            return tree.Call(place(c), callee.callee, callee.type_args, args)
        return tree.Call(place(c), callee, (), args)

    def arguments(self, c: Children) -> Any:
        return tuple(nodes(c))

    def argument(self, c: Children) -> tree.Argument:
        name = str(c[0]) if len(c) == 3 else None
        value = None if isinstance(c[-1], Terminal) else c[-1]
        return tree.Argument(place(c), name, value)

    def expressions(self, c: Children) -> Any:
        return tuple(nodes(c))

    def dots(self, c: Children) -> tree.Expr:
        return tree.Dots(place(c))

    def named(self, c: Children) -> Any:
        return (Word(c[0]), c[2])

    def braces(self, c: Children) -> tree.Expr:
        if str(c[0]) == "{#}":
            return tree.InvalidHeader(place(c))
        items = nodes(c)
        named = [item for item in items if isinstance(item, tuple)]
        if not named:
            return tree.ListOf(place(c), tuple(items))
        rest = isinstance(items[-1], tree.Dots)
        if len(named) + rest != len(items):
            raise Refused(place(c), "struct expression", "all of its fields must be named")
        return tree.Fields(place(c), tuple((str(name), value) for name, value in named), rest)

    # --- key sets

    def masked(self, c: Children) -> tree.Expr:
        return tree.Masked(place(c), c[0], c[2])

    def between(self, c: Children) -> tree.Expr:
        return tree.Between(place(c), c[0], c[2])

    def anything(self, c: Children) -> tree.Expr:
        return tree.Anything(place(c))

    def key_tuple(self, c: Children) -> tree.Expr:
        return tree.KeyTuple(place(c), tuple(nodes(c)))
