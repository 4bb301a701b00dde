"""Tokens with their places; each annotation is one token.

P4's grammar is ambiguous without knowing which names are types: ``f<T>(x)`` against ``f < T``, and
``(T) x`` against ``(a) - x``. Both are decided here, so that the grammar needs no symbol table: a
bracket that opens type arguments becomes ``L_ANGLE`` and one that opens a cast ``L_CAST``.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from olafswitch.p4.refuse import Pos, Refused
from olafswitch.p4.syntax.preprocess import GOES_ON, LINE_BREAK
from olafswitch.p4.syntax.tree import Annotation

KEYWORDS = frozenset([
    "abstract", "action", "actions", "apply", "bit", "bool", "break", "const", "continue", "control",
    "default", "else", "entries", "enum", "error", "exit", "extern", "false", "for", "header",
    "header_union", "if", "in", "inout", "int", "key", "list", "match_kind", "out", "package", "parser",
    "priority", "return", "select", "state", "static", "string", "struct", "switch", "table", "this",
    "transition", "true", "tuple", "type", "typedef", "value_set", "varbit", "void",
])  # fmt: skip
_TYPE_WORDS = frozenset([
    "bit", "bool", "error", "int", "list", "string", "tuple", "varbit", "void", "match_kind",
])  # fmt: skip
_GENERIC_WORDS = frozenset([
    "bit", "int", "varbit", "tuple", "list", "value_set",
])  # fmt: skip
_SOFT = frozenset([
    "apply", "key", "actions", "state", "entries", "type", "priority", "list",
])  # fmt: skip

_TOKEN = re.compile(
    r"""(?P<line>^[ \t]*\#[ \t]*(?:line[ \t]+)?(?P<number>\d+)(?:[ \t]+"(?P<file>[^"\n]*)")?[^\n]*$)
      | (?P<skip>[ \t\r\f]+|//[^\n]*)
      | (?P<newline>\n)
      | (?P<comment>/\*.*?\*/)
      | (?P<TEXT>"(?:\\.|[^"\\])*")
      | (?P<INTEGER>(?:[0-9]+[ws])?(?:0[xX][0-9a-fA-F_]+|0[bB][01_]+|0[oO][0-7_]+|0[dD][0-9_]+|[0-9][0-9_]*))
      | (?P<NAME>[A-Za-z_][A-Za-z0-9_]*)
      | (?P<op>\|\+\|=|\|-\|=|<<=|>>=|&&&|\|\+\||\|-\||\.\.\.|\+\+|\+=|-=|\*=|/=|%=|&=|\|=|\^=|\+:
              |<<|<=|>=|==|!=|&&|\|\||\.\.|\{\#\}|[-+*/%&|^~!<>=?:;,.(){}\[\]@\#])
      | (?P<other>.)
    """,
    re.X | re.M | re.S,
)


@dataclass
class Token:
    """``kind``: INTEGER, TEXT, NAME, ANNOTATION, L_ANGLE, R_ANGLE, L_CAST, or the text itself."""

    kind: str
    text: str
    pos: Pos
    end: int
    annotation: Annotation | None = None


def tokenize_text(text: str, file: str = "<text>") -> list[Token]:
    """Return all tokens of a preprocessed program; ``#line`` marks set the places.

    Raises Refused at a character that no token can contain.
    """
    scanned = _scan_tokens(text, file)
    whole = _join_strings(scanned) if GOES_ON in text else scanned
    tokens = _only_tokens(list(_collapse_annotations(whole)))
    _mark_generics(tokens)
    _mark_casts(tokens)
    return tokens


def _scan_tokens(text: str, file: str) -> list[Token]:
    tokens: list[Token] = []
    line, line_start, at = 1, 0, 0
    while at < len(text):
        match = _TOKEN.match(text, at)
        assert match is not None
        kind, start, at = match.lastgroup, at, match.end()
        if match["line"] is not None:
            line, file = int(match["number"]) - 1, match["file"] or file
        elif kind == "newline":
            line, line_start = line + 1, at
        elif kind == "comment":
            newlines = match[0].count("\n")
            if newlines:
                line, line_start = line + newlines, text.rfind("\n", start, at) + 1
        elif text.startswith("/*", start):
            raise Refused(Pos(file, line, start - line_start + 1), "comment", "never closed")
        elif kind != "skip":
            word = match[0].replace(LINE_BREAK, "\n") if kind == "TEXT" else match[0]
            terminal = (
                word if kind == "op" or (kind == "NAME" and (word in KEYWORDS or word == "_")) else str(kind)
            )
            tokens.append(Token(terminal, word, Pos(file, line, start - line_start + 1), at))
    return tokens


def _join_strings(tokens: list[Token]) -> list[Token]:
    """Join the parts of strings that contain directives; directives and removed lines become empty lines."""
    joined: list[Token] = []
    for token in tokens:
        first = joined[-1] if joined else None
        if token.kind == "TEXT" and first is not None and first.text.endswith(f'{GOES_ON}"'):
            start = first.text[: -len(f'{GOES_ON}"')]
            gap = token.pos.line - first.pos.line - start.count("\n")
            joined[-1] = Token("TEXT", start + "\n" * gap + token.text[1:], first.pos, token.end)
        else:
            joined.append(token)
    return joined


def _only_tokens(tokens: list[Token]) -> list[Token]:
    for token in tokens:
        if token.kind == "other":
            raise Refused(token.pos, repr(token.text), "no P4 token starts with this character")
    return tokens


def _find_closing(tokens: list[Token], at: int) -> int:
    """Return the index of the bracket that closes the bracket at ``at``."""
    depth = 0
    for index in range(at, len(tokens)):
        if tokens[index].kind in ("(", "[", "{"):
            depth += 1
        elif tokens[index].kind in (")", "]", "}"):
            depth -= 1
            if depth == 0:
                return index
    raise Refused(tokens[at].pos, tokens[at].text, "never closed")


def _collapse_annotations(tokens: list[Token]) -> Iterator[Token]:
    at = 0
    while at < len(tokens):
        token = tokens[at]
        if token.kind != "@":
            yield token
            at += 1
            continue
        if at + 1 >= len(tokens) or not tokens[at + 1].text.isidentifier():
            raise Refused(token.pos, "annotation", "a name must follow @")
        name, body, last = tokens[at + 1], tokens[0:0], at + 1
        if last + 1 < len(tokens) and tokens[last + 1].kind in ("(", "["):
            last = _find_closing(tokens, at + 2)
            body = tokens[at + 3 : last]
        made = Annotation(
            token.pos, name.text, tuple((part.kind, part.text) for part in body), tokens[last].kind == "]"
        )
        yield Token("ANNOTATION", name.text, token.pos, tokens[last].end, made)
        at = last + 1


def _is_name(token: Token) -> bool:
    return token.kind == "NAME" or token.kind in _SOFT


def _generic_names(tokens: list[Token]) -> set[str]:
    """Return the names that are declared with type parameters."""
    before = _TYPE_WORDS | {"struct", "header", "header_union", "extern", "parser", "control", "package"}
    names = set()
    for previous, name, angle in zip(tokens, tokens[1:], tokens[2:], strict=False):
        ends_type = previous.kind in before or previous.kind in (">", "]", "NAME") or previous.kind == "in"
        if angle.kind == "<" and _is_name(name) and ends_type:
            names.add(name.text)
    return names


def _after_type(tokens: list[Token], at: int) -> int | None:
    """Return the index after the type that begins at ``at``; None when there is no type."""
    if at < len(tokens) and tokens[at].kind == ".":
        at += 1
    if at >= len(tokens):
        return None
    word = tokens[at]
    if not (_is_name(word) or word.kind in _TYPE_WORDS or word.kind == "_"):
        return None
    at += 1
    if at < len(tokens) and tokens[at].kind in ("<", "L_ANGLE"):
        end = _after_type_args(tokens, at, sized=word.kind in ("bit", "int", "varbit"))
        if end is None:
            return None
        at = end
    while at < len(tokens) and tokens[at].kind == "[":
        at = _find_closing(tokens, at) + 1
    return at


def _after_type_args(tokens: list[Token], at: int, sized: bool) -> int | None:
    """Return the index after the ``>`` of the type arguments that open at ``at``; None without any."""
    at += 1
    if tokens[at - 2].kind == "tuple" and at < len(tokens) and tokens[at].kind == ">":
        return at + 1
    while at < len(tokens):
        if sized or tokens[at].kind in ("INTEGER", "("):
            end: int | None = _find_closing(tokens, at) + 1 if tokens[at].kind == "(" else at + 1
        else:
            end = _after_type(tokens, at)
        if end is None or end >= len(tokens):
            return None
        if tokens[end].kind in (">", "R_ANGLE"):
            return end + 1
        if tokens[end].kind != ",":
            return None
        at = end + 1
    return None


def _mark_generics(tokens: list[Token]) -> None:
    generic = _generic_names(tokens)
    for at in range(1, len(tokens)):
        if tokens[at].kind != "<":
            continue
        word = tokens[at - 1]
        sized = word.kind in ("bit", "int", "varbit")
        if not (word.kind in _GENERIC_WORDS or (_is_name(word) and word.text in generic)):
            continue
        end = _after_type_args(tokens, at, sized)
        if end is not None:
            tokens[at].kind, tokens[end - 1].kind = "L_ANGLE", "R_ANGLE"
    _join_shifts(tokens)


def _join_shifts(tokens: list[Token]) -> None:
    """Join ``>`` and a directly following ``>`` or ``>=`` into a shift, unless it closes type arguments."""
    at = 0
    while at + 1 < len(tokens):
        first, second = tokens[at], tokens[at + 1]
        touching = second.pos[:2] == first.pos[:2] and second.pos.column == first.pos.column + 1
        if touching and first.kind == ">" and second.kind in (">", ">="):
            kind = first.kind + second.kind
            tokens[at : at + 2] = [Token(kind, kind, first.pos, second.end)]
        at += 1


_OPERAND = (
    frozenset(
        ["INTEGER", "TEXT", "NAME", "(", "{", "{#}", "!", "~", "true", "false", "error", "this", "L_CAST"]
    )
    | _SOFT
)


def _mark_casts(tokens: list[Token]) -> None:
    declared = _type_names(tokens)
    cast_ends = set()
    for at, token in enumerate(tokens):
        if token.kind != "(":
            continue
        before = tokens[at - 1] if at - 1 not in cast_ends else None
        if before is not None and (
            before.kind in (")", "]", "R_ANGLE", "if", "for", "switch", "select", "apply", "ANNOTATION")
            or _is_name(before)
        ):
            continue
        end = _after_type(tokens, at + 1)
        if end is None or end + 1 >= len(tokens) or tokens[end].kind != ")":
            continue
        word, after = tokens[at + 1], tokens[end + 1]
        is_type = word.kind in _TYPE_WORDS or word.text in declared or tokens[end - 1].kind == "R_ANGLE"
        if after.kind in _OPERAND or (after.kind in ("+", "-") and is_type):
            token.kind = "L_CAST"
            cast_ends.add(end)


def _type_names(tokens: list[Token]) -> set[str]:
    names = set()
    for at, token in enumerate(tokens[:-2]):
        if token.kind in ("struct", "header", "header_union", "extern"):
            names.add(tokens[at + 1].text)
        elif token.kind == "enum":
            end = at + 1 if tokens[at + 1].kind == "NAME" else _after_type(tokens, at + 1)
            names.add(tokens[end or at + 1].text)
        elif token.kind in ("typedef", "type"):
            end = _after_type(tokens, at + 1)
            if end is not None and end < len(tokens):
                names.add(tokens[end].text)
    return names
