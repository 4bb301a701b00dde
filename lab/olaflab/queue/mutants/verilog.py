"""Finds the expressions of a Verilog file that decide something: right-hand sides, conditions, connections.

It knows only as much of the language as ``hdl/`` uses. What is not synthesized (``ifndef SYNTHESIS``), is
fixed when built (parameters, generate conditions) or counts loops is left out.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import Enum

_TOKEN = re.compile(
    r"""(?P<space>\s+|//[^\n]*|/\*.*?\*/|\(\*(?!\)).*?\*\))
    |(?P<text>"[^"]*")
    |(?P<number>\d*'s?[bdhBDH][0-9a-fA-F_xzXZ]+|\d+)
    |(?P<name>`?[A-Za-z_$][A-Za-z0-9_$]*)
    |(?P<sign><<<|>>>|===|!==|<=|>=|==|!=|&&|\|\||<<|>>|\+:|-:|.)""",
    re.VERBOSE | re.DOTALL,
)
_OPEN, _CLOSE = "([{", ")]}"
_FIXED = ("localparam", "parameter", "genvar", "integer")
_DIRECTIVES = ("`include", "`default_nettype")


class Site(Enum):
    """Where an expression stands."""

    CLOCKED = "right-hand side of a register"
    ASSIGNED = "right-hand side of a wire"
    CONDITION = "condition"
    CONNECTION = "connection of a module"


@dataclass(frozen=True)
class Token:
    """One word of the file; ``at`` and ``end`` are offsets into its text."""

    kind: str
    text: str
    at: int
    end: int


@dataclass(frozen=True)
class Expression:
    """An expression; ``target`` is what it drives, or "if" for a condition."""

    site: Site
    target: str
    tokens: tuple[Token, ...]

    @property
    def at(self) -> int:
        return self.tokens[0].at

    @property
    def end(self) -> int:
        return self.tokens[-1].end


def expressions(source: str) -> list[Expression]:
    """Every expression of ``source`` that may be changed, in order; none overlaps another."""
    return list(_Reader(_synthesized(_tokens(source))).expressions())


def _tokens(source: str) -> list[Token]:
    return [
        Token(str(match.lastgroup), match.group(), match.start(), match.end())
        for match in _TOKEN.finditer(source)
        if match.lastgroup != "space"
    ]


def _synthesized(tokens: Sequence[Token]) -> list[Token]:
    """Without what is between ``ifndef SYNTHESIS`` and its ``endif``, and without other directives."""
    kept: list[Token] = []
    skipping = False
    previous = ""
    for token in tokens:
        if previous == "`ifndef" and token.text == "SYNTHESIS":
            skipping = True
        elif token.text == "`endif":
            skipping = False
        elif not skipping and token.text not in ("`ifndef", "`ifdef", "`else"):
            kept.append(token)
        previous = token.text
    return kept


class _Reader:
    """Walks the tokens once; ``_at`` is the next to look at."""

    def __init__(self, tokens: list[Token]) -> None:
        self._tokens = tokens
        self._at = 0

    def expressions(self) -> Iterator[Expression]:
        while self._at < len(self._tokens):
            word = self._tokens[self._at].text
            if word == "module" or word in _FIXED:
                self._skip_past(";")
            elif word in _DIRECTIVES:
                self._at += 2
            elif word in ("#", "for"):
                self._at = self._behind(self._at + 1)
            elif word == "if":
                yield from self._condition()
            elif word == ".":
                yield from self._connection()
            elif word in ("<=", "="):
                yield from self._assignment()
            elif word in ("case", "always", "@"):
                self._at += 1
                if self._tokens[self._at].text == "(":
                    self._at = self._behind(self._at)
            else:
                self._at += 1

    def _skip_past(self, word: str) -> None:
        """Past the next ``word`` that stands in no brackets."""
        while self._tokens[self._at].text != word:
            inside = self._tokens[self._at].text in _OPEN
            self._at = self._behind(self._at) if inside else self._at + 1
        self._at += 1

    def _behind(self, at: int) -> int:
        """The place behind the brackets that open at ``at``."""
        depth = 0
        while True:
            text = self._tokens[at].text
            depth += (text in _OPEN) - (text in _CLOSE)
            at += 1
            if depth == 0:
                return at

    def _condition(self) -> Iterator[Expression]:
        inner, end = self._at + 2, self._behind(self._at + 1)
        self._at = end
        found = tuple(self._tokens[inner : end - 1])
        if any(token.kind == "name" and not _is_constant(token.text) for token in found):
            yield Expression(Site.CONDITION, "if", found)

    def _connection(self) -> Iterator[Expression]:
        name, inner, end = self._tokens[self._at + 1], self._at + 3, self._behind(self._at + 2)
        self._at = end
        found = tuple(self._tokens[inner : end - 1])
        if any(token.text in ("&&", "||", "!", "==", "!=", "<", ">", "?") for token in found):
            yield Expression(Site.CONNECTION, name.text, found)

    def _assignment(self) -> Iterator[Expression]:
        target, first = self._target(self._at)
        site = Site.CLOCKED if self._tokens[self._at].text == "<=" else Site.ASSIGNED
        start = self._at + 1
        self._at = start
        while self._tokens[self._at].text not in (";", ","):
            inside = self._tokens[self._at].text in _OPEN
            self._at = self._behind(self._at) if inside else self._at + 1
        if first > 0 and target != "unused":
            yield Expression(site, target, tuple(self._tokens[start : self._at]))

    def _target(self, operator: int) -> tuple[str, int]:
        """What is assigned by the operator at that place, as text, and the place where it begins."""
        at = operator - 1
        while self._tokens[at].text in ("]", "}"):
            depth = 1
            while depth:
                at -= 1
                depth += (self._tokens[at].text in _CLOSE) - (self._tokens[at].text in _OPEN)
            if self._tokens[at].text == "[":
                at -= 1
        words = [token.text for token in self._tokens[at:operator]]
        return "".join(words), at


def _is_constant(name: str) -> bool:
    return name.startswith(("`", "$")) or name.upper() == name
