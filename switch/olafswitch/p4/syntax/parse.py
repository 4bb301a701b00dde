"""Parse text into a syntax tree."""

from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

from lark import Lark, UnexpectedToken
from lark import Token as Terminal
from lark.exceptions import VisitError
from lark.lexer import Lexer

from olafswitch import paths
from olafswitch.cache import digest
from olafswitch.p4.refuse import Pos, Refused
from olafswitch.p4.syntax import tree
from olafswitch.p4.syntax.build import Builder
from olafswitch.p4.syntax.tokens import tokenize_text

_GRAMMAR = Path(__file__).with_name("grammar.lark")


class _Placed(Terminal):
    """A terminal with its place in the source."""

    pos: Pos
    annotation: tree.Annotation | None


class _TokenFeed(Lexer):
    """A feed of the tokens of :func:`tokenize_text` to the parser, under the grammar's names."""

    def __init__(self, conf: Any) -> None:
        self._terminals = {t.pattern.value: t.name for t in conf.terminals if t.pattern is not None}

    def lex(self, text: str) -> Iterator[Terminal]:  # type: ignore[override]  # lark's form for custom lexers
        for token in tokenize_text(text):
            terminal = _Placed(self._terminals.get(token.kind, token.kind), token.text)
            terminal.pos, terminal.annotation = token.pos, token.annotation
            yield terminal


@cache
def _load_grammar() -> Lark:
    kept = paths.cache() / f"grammar-{digest([_GRAMMAR])[:16]}.lark"
    kept.parent.mkdir(parents=True, exist_ok=True)
    return Lark(
        _GRAMMAR.read_text(), parser="lalr", start="program", lexer=_TokenFeed, keep_all_tokens=True,
        maybe_placeholders=False, transformer=Builder(), cache=str(kept),
    )  # fmt: skip


def parse_program(text: str) -> tree.Program:
    """Return the declarations of a preprocessed program.

    Raises Refused where the text is not P4_16.
    """
    try:
        program: tree.Program = _load_grammar().parse(text)  # type: ignore[assignment]  # what Builder.program returns
    except UnexpectedToken as error:
        if error.token.type == "$END":
            last = tokenize_text(text)[-1:]
            raise Refused(
                last[0].pos if last else Pos("", 1, 1), "program", "unexpected end of the program"
            ) from None
        raise Refused(
            getattr(error.token, "pos", Pos("", 1, 1)),
            f"{str(error.token)!r}",
            "does not fit P4_16's grammar here",
        ) from None
    except VisitError as error:
        if isinstance(error.orig_exc, Refused):
            raise error.orig_exc from None
        raise
    return program


def parse_expression(text: str, pos: Pos) -> tree.Expr:
    """Return the expression in an annotation at ``pos``.

    Raises Refused where the text is not an expression.
    """
    try:
        (declared,) = parse_program(f"const int value = {text};")
    except (Refused, ValueError):
        raise Refused(pos, text, "is not an expression") from None
    assert isinstance(declared, tree.Constant)
    return declared.value
