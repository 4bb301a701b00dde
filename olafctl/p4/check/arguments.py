"""Pairs arguments with parameters."""

from collections.abc import Sequence
from typing import TypeVar

from olafctl.p4.ir import nodes as ir
from olafctl.p4.refuse import Pos, Refused
from olafctl.p4.syntax import tree

Parameter = tree.Parameter | ir.Parameter
_P = TypeVar("_P", tree.Parameter, ir.Parameter)


def needed(param: Parameter) -> bool:
    """Whether it must have an argument."""
    return param.default is None and not any(a.name == "optional" for a in param.annotations)


def pair(
    params: Sequence[_P], args: Sequence[tree.Argument], what: str, pos: Pos
) -> list[tuple[_P, tree.Argument | None]]:
    """Each parameter with its argument; None where the default is used.

    Raises Refused when they do not fit.
    """
    named = {arg.name: arg for arg in args if arg.name is not None}
    if named and len(named) != len(args):
        raise Refused(pos, what, "all arguments must be named, each once, or none")
    if len(args) > len(params):
        raise Refused(pos, what, f"{len(args)} arguments for {len(params)} parameters")
    for name in named:
        if name not in {param.name for param in params}:
            raise Refused(pos, what, f"has no parameter {name}")
    pairs = []
    for at, param in enumerate(params):
        arg = named.get(param.name) if named else (args[at] if at < len(args) else None)
        if arg is None and needed(param):
            raise Refused(pos, what, f"no argument for {param.name}")
        pairs.append((param, arg))
    return pairs
