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
_DIRECTIVE = re.compile(r"[ \t]*#[ \t]*(?:if|ifdef|ifndef|elif|else|endif|define|undef|error|warning)\b")


def _on_one_line(text: str) -> str:
    """The text with its strings in one line each, and as many empty lines after them as they took.

    Directives inside a string, as in a long annotation, are kept as lines of their own; the string becomes
    parts around them, which :func:`olafswitch.p4.syntax.tokens.tokenize` joins again.
    """

    def joined(match: re.Match[str]) -> str:
        string = match["string"]
        if string is None:
            return match[0]
        return "\n".join(_parts(string[1:-1].split("\n")))

    return _STRING.sub(joined, text)


def _parts(lines: Sequence[str]) -> Iterator[str]:
    """The lines of one string as parts of it, directives and empty lines."""
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

    def on_error(self, file: str, line: int, message: str) -> None:
        self.refusal = self.refusal or Refused(Pos(file, line, 1), "preprocessor", message)

    def on_include_not_found(self, malformed: bool, system: bool, directory: str, path: str) -> None:
        self.on_error(self.source, self.linemacro, f"#include of {path!r}: no such file in the include path")
        raise pcpp.OutputDirective(pcpp.Action.IgnoreAndRemove)

    def on_file_open(self, is_system_include: bool, includepath: str) -> Any:
        return io.StringIO(_on_one_line(super().on_file_open(is_system_include, includepath).read()))

    def on_directive_handle(self, directive: Any, toks: Any, ifpassthru: bool, precedingtoks: Any) -> Any:
        if directive.value in ("error", "warning"):
            if directive.value == "error":
                self.on_error(directive.source, directive.lineno, "".join(t.value for t in toks).strip())
            return True
        return super().on_directive_handle(directive, toks, ifpassthru, precedingtoks)

    def on_unknown_macro_in_defined_expr(self, token: Any) -> bool:
        return False

    def on_unknown_macro_in_expr(self, ident: str) -> int:
        return 0

    def on_comment(self, token: Any) -> bool:
        return False


def preprocess(source: Path, include: Sequence[Path] = (), defines: Mapping[str, str] | None = None) -> str:
    """The program as one text with ``#line`` marks for :func:`olafswitch.p4.syntax.tokens.tokenize`.

    Raises Refused, at the place of an ``#error``, a missing include or a malformed directive.
    """
    return preprocess_text(source.read_text(errors="replace"), str(source), include, defines)


def preprocess_text(
    text: str, name: str, include: Sequence[Path] = (), defines: Mapping[str, str] | None = None
) -> str:
    """As :func:`preprocess`, for text that was read from the file ``name``."""
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
    engine.define("__P4C__ 1")
    for macro, value in (defines or {}).items():
        engine.define(f"{macro} {value}")
    engine.parse(_on_one_line(text), name)
    output = io.StringIO()
    engine.write(output)
    if engine.refusal:
        raise engine.refusal
    return output.getvalue()
