"""Pairs arguments with parameters."""

from collections.abc import Sequence

from olafctl.p4.refuse import Pos, Refused
from olafctl.p4.syntax import tree


def pair(
    params: Sequence[tree.Parameter], args: Sequence[tree.Argument], what: str, pos: Pos
) -> list[tuple[tree.Parameter, tree.Argument | None]]:
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
        if arg is None and param.default is None and not any(a.name == "optional" for a in param.annotations):
            raise Refused(pos, what, f"no argument for {param.name}")
        pairs.append((param, arg))
    return pairs
