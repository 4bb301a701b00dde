"""Mutants: what may be changed in an expression, and which of all possible changes are tried."""

import hashlib
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from olaflab.queue.mutants.verilog import Expression, Site, Token, expressions

_SWAPS: dict[str, tuple[tuple[str, str], ...]] = {
    "<": (("boundary", "<="),),
    "<=": (("boundary", "<"),),
    ">": (("boundary", ">="),),
    ">=": (("boundary", ">"),),
    "==": (("equality", "!="),),
    "!=": (("equality", "=="),),
    "&&": (("connective", "||"),),
    "||": (("connective", "&&"),),
    "+": (("arithmetic", "-"),),
    "-": (("arithmetic", "+"),),
    "!": (("polarity", ""),),
}
_SIZED = re.compile(r"(\d+)'(s?)([bdh])([0-9a-fA-F_]+)")
_BASES = {"b": 2, "d": 10, "h": 16}
LEFT_OUT: Mapping[str, str] = {
    "still": "tells the simulation which cycles may be skipped",
    "idle": "feeds `still` only",
    "unused": "silences lint",
}
"""Targets that are not part of the hardware."""


@dataclass(frozen=True)
class Mutant:
    """One change: the expression at ``at`` … ``end`` of a file becomes ``after``."""

    file: str
    line: int
    operator: str
    target: str
    at: int
    end: int
    before: str
    after: str

    @property
    def name(self) -> str:
        """Stays the same while the statement does, whatever changes around it."""
        return f"{self.file}: {self.operator}: {self.target}: {_squeezed(self.after)}"

    def __str__(self) -> str:
        return (
            f"{self.file}:{self.line} {self.operator}: {self.target} = {_squeezed(self.before)}"
            f"  →  {_squeezed(self.after)}"
        )


def candidates(file: str, source: str) -> list[Mutant]:
    """Every mutant of one file."""
    found: dict[str, Mutant] = {}
    for expression in expressions(source):
        if expression.target in LEFT_OUT:
            continue
        before = source[expression.at : expression.end]
        line = source.count("\n", 0, expression.at) + 1
        for operator, after in _changes(expression, before):
            mutant = Mutant(
                file, line, operator, expression.target, expression.at, expression.end, before, after
            )
            found.setdefault(mutant.name, mutant)
    return list(found.values())


def select(sources: Mapping[str, str], count: int, seed: int) -> list[Mutant]:
    """``count`` mutants spread over all files: the files take turns, each giving its next by ``seed``.

    A mutant's rank depends on nothing but its own name, so an edit elsewhere leaves the choice as it is.
    """
    ranked = {
        file: sorted(candidates(file, text), key=lambda mutant: _rank(seed, mutant.name))
        for file, text in sorted(sources.items())
    }
    chosen: list[Mutant] = []
    while len(chosen) < count and any(ranked.values()):
        for mutants in ranked.values():
            if mutants and len(chosen) < count:
                chosen.append(mutants.pop(0))
    return sorted(chosen, key=lambda mutant: (mutant.file, mutant.line, mutant.name))


def _rank(seed: int, name: str) -> str:
    return hashlib.sha256(f"{seed} {name}".encode()).hexdigest()


def _squeezed(text: str) -> str:
    return " ".join(text.split())


def _changes(expression: Expression, before: str) -> Iterator[tuple[str, str]]:
    """The operator's name and the expression as it becomes."""
    depth = 0
    for index, token in enumerate(expression.tokens):
        depth += (token.text == "[") - (token.text == "]")
        if depth or _is_width(expression, index):
            continue
        for operator, text in _of_token(expression, index, token):
            yield operator, _replaced(expression, before, token, text)
    if expression.site is Site.CONDITION:
        yield "condition", f"!({before})"
        yield "stuck", "1'b1"
    elif expression.site is Site.CLOCKED and not expression.target.startswith("{"):
        yield "dropped assignment", expression.target
    elif expression.site is Site.ASSIGNED and "signed" not in before and len(expression.tokens) > 1:
        yield "stuck", "'0"


def _of_token(expression: Expression, index: int, token: Token) -> Iterator[tuple[str, str]]:
    if token.kind == "sign":
        before = expression.tokens[index - 1] if index else None
        unary = token.text in "+-" and (
            before is None or (before.kind == "sign" and before.text not in ")]}")
        )
        yield from () if unary else _SWAPS.get(token.text, ())
    elif token.kind == "number" and (sized := _SIZED.fullmatch(token.text)):
        width, signed, base, digits = sized.groups()
        value = (int(digits, _BASES[base]) + 1) % (1 << int(width))
        yield "constant", f"{width}'{signed}d{value}"
    elif token.text == expression.target and any(other.text == "||" for other in expression.tokens):
        yield "sticky removal", "1'b0"


def _is_width(expression: Expression, index: int) -> bool:
    """Whether the token is part of how often something is repeated: ``{(WIDTH - 1){1'b0}}``."""
    depth = 0
    for at in range(index, len(expression.tokens)):
        text = expression.tokens[at].text
        depth += (text in "([{") - (text in ")]}")
        if depth < 0:
            behind = expression.tokens[at + 1].text if at + 1 < len(expression.tokens) else ""
            return text == ")" and behind == "{"
    return False


def _replaced(expression: Expression, before: str, token: Token, text: str) -> str:
    return before[: token.at - expression.at] + text + before[token.end - expression.at :]
