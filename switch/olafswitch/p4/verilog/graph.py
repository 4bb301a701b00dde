"""The program's values as one graph: each value is a node, and equal nodes are the same node.

A node is an operation on other nodes; constants fold while the graph is built. There is no control flow: a
branch becomes a choice (``mux``), and a choice of which exactly one condition holds an ``onehot``.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import reduce
from itertools import product
from typing import Any

from olafswitch.p4.refuse import Pos


class Node:
    """``op`` over ``args``, ``width`` bits wide; ``attr`` is what else the operation needs."""

    __slots__ = ("args", "attr", "hint", "number", "op", "pos", "width")

    def __init__(self, number: int, op: str, width: int, args: tuple["Node", ...], attr: Any) -> None:
        self.number, self.op, self.width, self.args, self.attr = number, op, width, args, attr
        self.hint = ""
        """The first place in the program that has this value."""
        self.pos: Pos | None = None
        """The statement that first calculates it."""

    @property
    def value(self) -> int | None:
        """The number of a constant, None for any other node."""
        return int(self.attr) if self.op == "const" else None


ADDED = 64
"""The bits that are added or compared in one cycle."""
FACTOR = 16
"""The bits of a factor of one multiplier, without sign."""
_COMMUTE = ("and", "or", "xor", "add", "mul", "eq")
_CHOOSING = ("and", "or", "not", "mux", "onehot", "cat", "slice")
"""The operations that a fact may decide."""
_ARITHMETIC: Mapping[str, Callable[[int, int], int]] = {
    "and": int.__and__,
    "or": int.__or__,
    "xor": int.__xor__,
    "add": int.__add__,
    "sub": int.__sub__,
    "mul": int.__mul__,
    "eq": lambda a, b: int(a == b),
    "lt": lambda a, b: int(a < b),
    "shl": lambda a, b: a << min(b, 4096),
    "shr": lambda a, b: a >> min(b, 4096),
}


class Graph:
    """A maker of nodes. All numbers are unsigned."""

    def __init__(self) -> None:
        self._known: dict[tuple[Any, ...], Node] = {}
        self.pos: Pos | None = None
        """The statement whose values are being made."""

    def node(self, op: str, width: int, args: Sequence[Node] = (), attr: Any = None) -> Node:
        """Return the only node of this operation, without folding."""
        key = (op, width, attr, *(arg.number for arg in args))
        found = self._known.get(key)
        if found is None:
            found = self._known[key] = Node(len(self._known), op, width, tuple(args), attr)
            found.pos = self.pos
        return found

    def name_place(self, node: Node, place: str) -> Node:
        """Record in which place a value is stored, for readers of the Verilog."""
        node.hint = node.hint or place
        return node

    def const(self, value: int, width: int) -> Node:
        return self.node("const", width, (), value & (1 << width) - 1)

    def input(self, name: str, width: int) -> Node:
        """Return the node of a value that comes with a frame."""
        return self.node("input", width, (), name)

    @property
    def yes(self) -> Node:
        return self.const(1, 1)

    @property
    def no(self) -> Node:
        return self.const(0, 1)

    # --- bits

    def slice(self, base: Node, low: int, width: int) -> Node:
        """Return ``width`` bits of ``base`` from bit ``low``; zeros above its top."""
        if low + width > base.width:
            have = max(0, base.width - low)
            zeros = self.const(0, width - have)
            return self.cat([zeros, self.slice(base, low, have)]) if have else zeros
        if low == 0 and width == base.width:
            return base
        match base.op:
            case "const":
                return self.const(base.attr >> low, width)
            case "slice":
                return self.slice(base.args[0], base.attr + low, width)
            case "cat":
                parts, at = [], 0
                for part in reversed(base.args):
                    first, end = max(low, at), min(low + width, at + part.width)
                    if first < end:
                        parts.append(self.slice(part, first - at, end - first))
                    at += part.width
                return self.cat(parts[::-1])
            case "and" | "or" | "xor" | "not" if any(arg.op in ("const", "cat") for arg in base.args):
                return self.rebuild_node(base, [self.slice(arg, low, width) for arg in base.args], width)
            case "mux":
                choice, a, b = base.args
                return self.mux(choice, self.slice(a, low, width), self.slice(b, low, width))
            case "onehot":
                pairs = zip(base.args[::2], base.args[1::2], strict=True)
                return self.onehot([(c, self.slice(v, low, width)) for c, v in pairs], width)
        return self.node("slice", width, (base,), low)

    def cat(self, parts: Iterable[Node]) -> Node:
        """Return the parts side by side, the first on top."""
        flat: list[Node] = []
        for part in parts:
            for each in part.args if part.op == "cat" else (part,):
                last = flat[-1] if flat else None
                if each.width == 0:
                    continue
                if last is not None and last.op == "const" and each.op == "const":
                    flat[-1] = self.const(last.attr << each.width | each.attr, last.width + each.width)
                elif (
                    last is not None and last.op == "slice" and each.op == "slice"
                    and last.args[0] is each.args[0] and last.attr == each.attr + each.width
                ):  # fmt: skip
                    flat[-1] = self.slice(last.args[0], each.attr, last.width + each.width)
                else:
                    flat.append(each)
        if len(flat) == 1:
            return flat[0]
        return self.node("cat", sum(part.width for part in flat), flat) if flat else self.const(0, 0)

    def resize(self, node: Node, width: int) -> Node:
        """Return ``node`` with zeros on top, or cut, to ``width`` bits."""
        return self.slice(node, 0, width)

    # --- operations

    def invert(self, a: Node) -> Node:
        if a.value is not None:
            return self.const(~a.value, a.width)
        return a.args[0] if a.op == "not" else self.node("not", a.width, (a,))

    def binary(self, op: str, a: Node, b: Node, width: int | None = None) -> Node:
        """Return ``op`` on two values of one width; comparisons have one bit."""
        width = width or (1 if op in ("eq", "lt") else a.width)
        if a.value is not None and b.value is not None:
            return self.const(_ARITHMETIC[op](a.value, b.value), width)
        if op in _COMMUTE and (a.value is not None or (b.value is None and a.number > b.number)):
            a, b = b, a  # a constant is on the right
        ones = (1 << a.width) - 1
        match op, b.value:
            case "and", 0:
                return b
            case (("or" | "xor" | "add" | "sub" | "shl" | "shr"), 0):
                return a
            case "and", value if value == ones:
                return a
            case "or", value if value == ones:
                return b
            case "eq", 1 if a.width == 1:
                return a
            case "eq", 0 if a.width == 1:
                return self.invert(a)
            case "lt", 0:
                return self.no
            case "mul", 0:
                return self.const(0, width)
            case "mul", 1:
                return a
            case (("shl" | "shr"), int(value)):
                kept = max(0, a.width - value)
                part = self.slice(a, 0 if op == "shl" else a.width - kept, kept)
                zeros = self.const(0, a.width - kept)
                return self.cat([part, zeros] if op == "shl" else [zeros, part])
        if a is b and op in ("and", "or", "xor", "sub", "eq", "lt"):
            return a if op in ("and", "or") else self.const(int(op == "eq"), width)
        opposite = (a.op == "not" and b in a.args) or (b.op == "not" and a in b.args)
        if op in ("and", "or") and a.width == 1 and opposite:
            return self.const(op == "or", 1)
        if op in ("and", "or") and (b in a.args or a in b.args):
            longer, other = (a, b) if b in a.args else (b, a)
            if longer.op == op:
                return longer
            if longer.op in ("and", "or"):
                return other
        if op == "eq" and b.value is not None and a.op == "cat":
            return self._eq_parts(a, b.value)
        return self.node(op, width, (a, b))

    def _eq_parts(self, whole: Node, value: int) -> Node:
        """Return whether side-by-side parts equal a constant; constant parts are decided at once."""
        at, live = whole.width, []
        for part in whole.args:
            at -= part.width
            wanted = value >> at & (1 << part.width) - 1
            if part.value is None:
                live.append((part, wanted))
            elif part.value != wanted:
                return self.no
        if len(live) == len(whole.args):
            return self.node("eq", 1, (whole, self.const(value, whole.width)))
        return self.all(*(self.equal(part, wanted) for part, wanted in live))

    def all(self, *nodes: Node) -> Node:
        return reduce(lambda a, b: self.binary("and", a, b), nodes, self.yes)

    def any(self, *nodes: Node) -> Node:
        return reduce(lambda a, b: self.binary("or", a, b), nodes, self.no)

    def equal(self, a: Node, value: int) -> Node:
        return self.binary("eq", a, self.const(value, a.width))

    def nonzero(self, a: Node) -> Node:
        return self.invert(self.equal(a, 0))

    def add(self, a: Node, b: Node) -> Node:
        """Add; a wide sum is made of parts whose carries go from cycle to cycle."""
        if a.width <= ADDED or a.value == 0 or b.value == 0:
            return self.binary("add", a, b)
        x, y = (self.resize(self.slice(each, 0, ADDED), ADDED + 1) for each in (a, b))
        low, high = self.binary("add", x, y), a.width - ADDED
        above = self.add(self.slice(a, ADDED, high), self.slice(b, ADDED, high))
        carried = self.add(above, self.resize(self.slice(low, ADDED, 1), high))
        return self.cat([carried, self.slice(low, 0, ADDED)])

    def subtract(self, a: Node, b: Node) -> Node:
        """Subtract; a wide difference is the sum with the complement, plus 1."""
        if a.width <= ADDED or b.value == 0:
            return self.binary("sub", a, b)
        return self.add(self.add(a, self.invert(b)), self.const(1, a.width))

    def less(self, a: Node, b: Node) -> Node:
        """Compare without sign; wide values part by part."""
        if a.width <= ADDED:
            return self.binary("lt", a, b)
        high = a.width - ADDED
        (top_a, low_a), (top_b, low_b) = (
            (self.slice(each, ADDED, high), self.slice(each, 0, ADDED)) for each in (a, b)
        )
        tied = self.all(self.binary("eq", top_a, top_b), self.less(low_a, low_b))
        return self.any(self.less(top_a, top_b), tied)

    def multiply(self, a: Node, b: Node) -> Node:
        """Multiply; wide factors are split, so that each product fits a multiplier of the card."""
        if a.width <= FACTOR:
            return self.binary("mul", a, b)
        parts = [
            [(at, self.slice(each, at, min(FACTOR, a.width - at))) for at in range(0, a.width, FACTOR)]
            for each in (a, b)
        ]
        terms = []
        for (at, x), (by, y) in product(*parts):
            if at + by < a.width and x.value != 0 and y.value != 0:
                bits = min(2 * FACTOR, a.width - at - by)
                made = self.binary("mul", self.resize(x, bits), self.resize(y, bits))
                terms.append(self.slice(self.cat([made, self.const(0, at + by)]), 0, a.width))
        return self.sum([self.resize(each, a.width) for each in terms] or [self.const(0, a.width)])

    def sum(self, terms: Sequence[Node]) -> Node:
        """Return the sum as a tree: ``a + b + c + d`` has two additions in sequence, not three."""
        while len(terms) > 1:
            pairs = [self.add(a, b) for a, b in zip(terms[::2], terms[1::2], strict=False)]
            terms = [*pairs, *terms[2 * len(pairs) :]]
        return terms[0]

    def mux(self, choice: Node, a: Node, b: Node) -> Node:
        """Return ``a`` where ``choice`` holds, else ``b``."""
        if choice.op == "not":
            choice, a, b = choice.args[0], b, a
        if choice.value is not None:
            return a if choice.value else b
        if a.op == "mux" and a.args[0] is choice:
            a = a.args[1]
        if b.op == "mux" and b.args[0] is choice:
            b = b.args[2]
        if a is b:
            return a
        if a.width == 1:
            if a.value is not None:
                return self.any(choice, b) if a.value else self.all(self.invert(choice), b)
            if b.value is not None:
                return self.any(self.invert(choice), a) if b.value else self.all(choice, a)
        return self.node("mux", a.width, (choice, a, b))

    def onehot(self, pairs: Iterable[tuple[Node, Node]], width: int) -> Node:
        """Return the value whose condition holds, of conditions that exclude each other; 0 if none holds."""
        by_value: dict[Node, Node] = {}
        for condition, value in pairs:
            if condition.value != 0 and value.value != 0:
                by_value[value] = self.any(by_value.get(value, self.no), condition)
        if not by_value:
            return self.const(0, width)
        if len(by_value) == 1:
            [(value, condition)] = by_value.items()
            return self.mux(condition, value, self.const(0, width))
        if width == 1:
            return self.any(*(self.all(condition, value) for value, condition in by_value.items()))
        return self.node("onehot", width, [each for v, c in by_value.items() for each in (c, v)])

    def build_linear(self, rows: Sequence[int], inverted: int, a: Node) -> Node:
        """Return a node whose bit i is the parity of ``a & rows[i]``, inverted where ``inverted`` has a 1."""
        if a.value is not None:
            bits = sum(((a.value & row).bit_count() & 1) << at for at, row in enumerate(rows))
            return self.const(bits ^ inverted, len(rows))
        return self.node("linear", len(rows), (a,), (tuple(rows), inverted))

    def rebuild_node(self, node: Node, args: Sequence[Node], width: int | None = None) -> Node:
        """Return the node's operation on other arguments, folded."""
        match node.op:
            case "slice":
                return self.slice(args[0], node.attr, node.width)
            case "cat":
                return self.cat(args)
            case "not":
                return self.invert(args[0])
            case "mux":
                return self.mux(*args)
            case "onehot":
                return self.onehot(zip(args[::2], args[1::2], strict=True), node.width)
            case "linear":
                return self.build_linear(node.attr[0], node.attr[1], args[0])
            case "const" | "input" | "name":
                return self.node(node.op, node.width, args, node.attr)
        return self.binary(node.op, args[0], args[1], width or node.width)

    def fold_under(self, assumed: Mapping[Node, Node]) -> Callable[[Node], Node]:
        """Return a function that folds a node, given that the nodes ``assumed`` have these values."""
        made: dict[Node, Node] = dict(assumed)

        def visit(node: Node) -> Node:
            stack = [node]
            while stack:
                top = stack[-1]
                if top in made:
                    stack.pop()
                    continue
                needed = _find_deciding(top, made) if top.op in _CHOOSING else ()
                missing = [arg for arg in needed if arg not in made]
                if missing:
                    stack += missing
                elif len(needed) < len(top.args) and needed:
                    made[top] = made[needed[-1]]
                else:
                    args = [made[arg] for arg in needed]
                    same = all(a is b for a, b in zip(args, top.args, strict=False))
                    made[top] = top if same else self.rebuild_node(top, args)
            return made[node]

        return visit


def _find_deciding(node: Node, made: Mapping[Node, Node]) -> Sequence[Node]:
    """List the arguments to examine next; where fewer than all decide, the last of them is the result."""
    args = node.args
    match node.op:
        case "and" | "or":
            ends = 0 if node.op == "and" else (1 << node.width) - 1
            for each in args:
                if each in made and made[each].value == ends:
                    return (each,)
        case "mux":
            if args[0] not in made:
                return args[:1]
            choice = made[args[0]].value
            return args if choice is None else (args[0], args[1 if choice else 2])
        case "onehot":
            for condition, value in zip(args[::2], args[1::2], strict=True):
                if condition in made and made[condition].value == 1:
                    return condition, value
    return args
