"""The preprocessor (P4_16 §6.2): ``#include``, macros, conditions."""

import io
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pcpp

from olafswitch.p4.refuse import Pos, Refused

HOME = Path(__file__).parents[1] / "include"
"""The folder of ``core.p4`` and ``v1model.p4``."""


LINE_BREAK = "\ue00a"
"""Replaces a line break in a string, because the C preprocessor ends strings at line breaks."""
GOES_ON = "\ue00b"
"""Ends a part of a string that continues after a directive."""

_STRING = re.compile(
    r"""^[ \t]*\#(?:\\\n|[^\n])* | //[^\n]* | /\*.*?\*/ | (?P<string>"(?:\\.|[^"\\])*")""", re.X | re.M | re.S
)
_SPLICE = re.compile(r"\\[ \t\r\f\v]*\n")
_DROPPED = frozenset(["pragma", "ident", "sccs", "assert", "unassert"])
"""Directives that a C preprocessor knows and that have no meaning in P4."""
PREDEFINED = {"__P4C__": "1", "__TARGET_BMV2__": "1"}
"""The macros of p4c for v1model."""
_DIRECTIVE = re.compile(r"[ \t]*#[ \t]*(?:if|ifdef|ifndef|elif|else|endif|define|undef|error|warning)\b")


def _on_one_line(text: str) -> str:
    """Return the text with spliced lines joined and each string in one line.

    Empty lines follow for the joined ones, so that line numbers stay. A directive inside a string, as in a
    long annotation, keeps its own line; the string becomes parts around it, which
    :func:`olafswitch.p4.syntax.tokens.tokenize_text` joins again.
    """

    def joined(match: re.Match[str]) -> str:
        string = match["string"]
        if string is None:
            return match[0]
        return "\n".join(_split_string(string[1:-1].split("\n")))

    return _STRING.sub(joined, _splice_lines(text))


def _splice_lines(text: str) -> str:
    """Join each line that ends with a backslash with the next line, before anything else is read."""
    if not _SPLICE.search(text):
        return text
    made = [""]
    taken = 0
    for line in text.split("\n"):
        end = re.search(r"\\[ \t\r\f\v]*$", line)
        made[-1] += line[: end.start()] if end else line
        taken += 1
        if not end:
            made += [""] * taken
            taken = 0
    return "\n".join(made[:-1])


def _split_string(lines: Sequence[str]) -> Iterator[str]:
    """Yield the lines of one string as parts of it, directives and empty lines."""
    part: list[str] = []
    for line in lines:
        if _DIRECTIVE.match(line):
            if part:
                yield f'"{LINE_BREAK.join(part)}{GOES_ON}"'
                yield from [""] * (len(part) - 1)
            yield line
            part = []
        else:
            part.append(line)
    yield f'"{LINE_BREAK.join(part)}"'
    yield from [""] * (len(part) - 1)


class _P4Preprocessor(pcpp.Preprocessor):  # type: ignore[misc]  # pcpp has no type information
    def __init__(self) -> None:
        super().__init__()
        self.line_directive = "#line"
        self.refusal: Refused | None = None
        self.at = Pos("", 1, 1)

    def on_error(self, file: str, line: int, message: str) -> None:
        at = Pos(file, line, 1) if line else self.at
        self.refusal = self.refusal or Refused(at, "preprocessor", message.strip())

    def include(self, tokens: Any, original_line: Any) -> Any:
        if not tokens:
            raise IndexError
        return super().include(tokens, original_line)

    def on_include_not_found(self, malformed: bool, system: bool, directory: str, path: str) -> None:
        self.on_error(self.source, self.linemacro, f"#include of {path!r}: no such file in the include path")
        raise pcpp.OutputDirective(pcpp.Action.IgnoreAndRemove)

    def on_file_open(self, is_system_include: bool, includepath: str) -> Any:
        return io.StringIO(_on_one_line(super().on_file_open(is_system_include, includepath).read()))

    def on_directive_handle(self, directive: Any, toks: Any, ifpassthru: bool, precedingtoks: Any) -> Any:
        self.at = Pos(directive.source, directive.lineno, 1)
        once = [each.value for each in toks[:1]] == ["once"]
        if directive.value in _DROPPED and not (directive.value == "pragma" and once):
            raise pcpp.OutputDirective(pcpp.Action.IgnoreAndRemove)
        return super().on_directive_handle(directive, toks, ifpassthru, precedingtoks)

    def on_directive_unknown(self, directive: Any, toks: Any, ifpassthru: bool, precedingtoks: Any) -> Any:
        """Report an ``#error``; pcpp calls this outside of skipped groups only."""
        if directive.value == "error":
            self.on_error(directive.source, directive.lineno, "".join(t.value for t in toks).strip())
        return True if directive.value in ("error", "warning") else None

    def on_unknown_macro_in_defined_expr(self, token: Any) -> bool:
        return False

    def on_unknown_macro_in_expr(self, ident: str) -> int:
        return 0

    def on_comment(self, token: Any) -> bool:
        return False


def parse_defines(words: Sequence[str]) -> dict[str, str | None]:
    """Return the macros of ``NAME`` or ``NAME=VALUE``; without a value it is 1, as for a C compiler."""
    return {name: value if given else "1" for name, given, value in (word.partition("=") for word in words)}


def preprocess_file(
    source: Path, include: Sequence[Path] = (), defines: Mapping[str, str | None] | None = None
) -> str:
    """Return the program as one text, with ``#line`` marks for
    :func:`olafswitch.p4.syntax.tokens.tokenize_text`.

    A macro whose value in ``defines`` is None is undefined. Raises Refused, at the place of an ``#error``, a
    missing include or a malformed directive.
    """
    return preprocess_text(source.read_text(errors="replace"), str(source), include, defines)


def preprocess_text(
    text: str, name: str, include: Sequence[Path] = (), defines: Mapping[str, str | None] | None = None
) -> str:
    """Preprocess text that was read from the file ``name``, as :func:`preprocess_file` does."""
    engine = _P4Preprocessor()
    for folder in (*include, Path(name).parent, HOME):
        engine.add_path(str(folder))
    # places use the caller's file names, wherever this package or the program is installed
    home = Path(name).parent
    named = r"\1" if home == Path() else f"{home}/\\1"
    engine.rewrite_paths = [
        (re.escape(f"{HOME.absolute()}/") + "(.*)", r"\1"),
        (re.escape(f"{home.absolute()}/") + "(.*)", named),
    ]
    for macro, value in {**PREDEFINED, **(defines or {})}.items():
        if value is not None:
            engine.define(f"{macro} {value}")
    engine.parse(_on_one_line(text), name)
    output = io.StringIO()
    try:
        engine.write(output)
    except IndexError:
        raise Refused(engine.at, "preprocessor", "this directive lacks its operand") from None
    if engine.refusal:
        raise engine.refusal
    return output.getvalue()
