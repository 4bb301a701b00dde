"""Build a syntax tree from grammar rules: expressions and types."""

import re
from collections.abc import Callable, Sequence
from typing import Any

from lark import Token as Terminal
from lark import Transformer

from olafswitch.p4.refuse import Pos, Refused
from olafswitch.p4.syntax import tree
from olafswitch.p4.syntax.literals import parse_literal

Children = Sequence[Any]
Rule = Callable[[Any, Children], Any]
"""A method that makes a node of a rule's children: terminals, and results of other methods."""


class Word(str):
    """A name with its place in the source."""

    pos: Pos


class Annotated(list[tree.Annotation]):
    """The annotations in front of a declaration."""


def place(children: Children) -> Pos:
    """Return the place of the first child."""
    for child in children:
        if child is not None and child != []:
            first = child[0] if isinstance(child, (list, tuple)) and not isinstance(child, Pos) else child
            pos: Pos = first.pos
            return pos
    raise AssertionError("a rule without children has no place")


def parts(children: Children) -> list[Any]:
    """Return the children without words, punctuation and annotations; names as plain text."""
    return [
        str(child) if isinstance(child, Word) else child
        for child in children
        if not isinstance(child, Terminal | Annotated)
    ]


def has_word(children: Children, *words: str) -> str:
    """Return the first of ``words`` among the children; empty when none is there."""
    return next((str(c) for c in children if isinstance(c, Terminal) and str(c) in words), "")


def node(kind: Callable[..., Any]) -> Rule:
    """Return a rule whose parts are the node's fields, in order."""
    return lambda _, c: kind(place(c), *parts(c))


def worded(kind: Callable[..., Any]) -> Rule:
    """Return a rule as :func:`node` does, whose first word is the first field."""
    return lambda _, c: kind(place(c), str(c[0]), *parts(c))


def listed(_: Any, c: Children) -> Any:
    """Return a rule's parts as a list."""
    return tuple(parts(c))


def first(_: Any, c: Children) -> Any:
    """Return a rule's first part."""
    return parts(c)[0]


def as_type(expr: Any) -> tree.Type:
    """Return the type that was read as an expression, such as ``T``, ``T<A>`` or ``T[4]``."""
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
    """A transformer with one method for each rule; children are terminals and results of other methods."""

    def name(self, c: Children) -> Word:
        word = Word(str(c[0]))
        word.pos = c[0].pos
        return word

    # --- types

    def base_type(self, c: Children) -> tree.Type:
        if str(c[0]) == "bit":
            return tree.SizedType(place(c), "bit", tree.Number(place(c), 1, None, False))
        return tree.BaseType(place(c), str(c[0]))

    def any_type(self, c: Children) -> tree.Type:
        return tree.BaseType(place(c), "_")

    def named_type(self, c: Children) -> tree.Type:
        word = next(t for t in c if isinstance(t, Terminal) and t.type == "NAME")
        base = tree.NamedType(place(c), str(word), str(c[0]) == ".")
        return tree.Specialized(place(c), base, *parts(c)) if parts(c) else base

    sized_type = worded(tree.SizedType)
    stack = keyword_stack = node(tree.StackType)
    tuple = node(tree.TupleType)
    list_type = node(tree.ListType)
    type_args = type_params = listed

    # --- leaves

    def number(self, c: Children) -> tree.Number:
        return parse_literal(str(c[0]), place(c))

    def string(self, c: Children) -> tree.String:
        text = re.sub(r"\\(.)", r"\1", str(c[0])[1:-1], flags=re.S)
        return tree.String(place(c), text)

    def boolean(self, c: Children) -> tree.Boolean:
        return tree.Boolean(place(c), str(c[0]) == "true")

    def variable_name(self, c: Children) -> tree.Name:
        return tree.Name(place(c), str(c[-1]), str(c[0]) == ".")

    # --- compound

    def binary(self, c: Children) -> tree.Expr:
        return tree.Binary(c[1].pos, str(c[1]), c[0], c[2])

    def type_member(self, c: Children) -> tree.Expr:
        if not isinstance(c[0], tree.BaseType) or c[0].name != "error":
            raise Refused(place(c), "member", "only error has members among the built-in types")
        return tree.MemberExpression(place(c), tree.Name(place(c), "error"), str(c[2]))

    def slice(self, c: Children) -> tree.Expr:
        return tree.Slice(place(c), c[0], c[2], c[4], str(c[3]) == "+:")

    def call(self, c: Children) -> tree.Expr:
        callee, args = c[0], c[2]
        if isinstance(callee, tree.Call) and callee.type_args and not callee.args:
            return tree.Call(place(c), callee.callee, callee.type_args, args)
        return tree.Call(place(c), callee, (), args)

    def argument(self, c: Children) -> tree.Argument:
        name = str(c[0]) if len(c) == 3 else None
        value = None if isinstance(c[-1], Terminal) else c[-1]
        return tree.Argument(place(c), name, value)

    def braces(self, c: Children) -> tree.Expr:
        if str(c[0]) == "{#}":
            return tree.InvalidHeader(place(c))
        items = parts(c)
        given = [item for item in items if not isinstance(item, tree.Node)]
        if not given:
            return tree.ListOf(place(c), listed(self, c))
        rest = isinstance(items[-1], tree.Dots)
        if len(given) + rest != len(items):
            raise Refused(place(c), "struct expression", "all of its fields must be named")
        return tree.Fields(place(c), (*given,), rest)

    parens = first
    mux = node(tree.Mux)
    unary_op = worded(tree.Unary)
    cast = node(tree.Cast)
    member = node(tree.MemberExpression)
    index = node(tree.Index)
    specialize = node(tree.Call)
    arguments = expressions = named = listed
    dots = node(tree.Dots)

    # --- key sets

    masked = node(tree.Masked)
    between = node(tree.Between)
    anything = node(tree.Anything)

    def key_tuple(self, c: Children) -> tree.Expr:
        return tree.KeyTuple(place(c), listed(self, c))
