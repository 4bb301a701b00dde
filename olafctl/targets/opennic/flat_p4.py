"""A P4 program as one preprocessed file: no macros, and no includes but those of its architecture."""

import io
from collections.abc import Mapping
from pathlib import PurePosixPath
from typing import Any

import pcpp

from olafswitch.errors import OlafError, Problem

SYSTEM = ("core.p4", "xsa.p4", "v1model.p4")


class _Flattener(pcpp.Preprocessor):  # type: ignore[misc]  # pcpp has no type information
    def __init__(self, files: Mapping[str, str]) -> None:
        super().__init__()
        self.line_directive = None
        self.problems: list[Problem] = []
        self._files = files

    def on_file_open(self, is_system_include: bool, includepath: str) -> Any:
        name = PurePosixPath(includepath).name
        if is_system_include or name not in self._files:
            raise OSError(name)
        return io.StringIO(self._files[name])

    def on_include_not_found(self, malformed: bool, system: bool, directory: str, path: str) -> None:
        if malformed or not system or path not in SYSTEM:
            where = self.source or directory
            self.on_error(where, 0, f"#include of {path!r}: no such file")
        raise pcpp.OutputDirective(pcpp.Action.IgnoreAndPassThrough)

    def on_error(self, file: str, line: int, msg: str) -> None:
        self.problems.append(Problem(msg, f"{file}:{line}" if line else file))

    def on_comment(self, token: Any) -> bool:
        return bool(token)


def flatten(name: str, files: Mapping[str, str]) -> str:
    """The file ``name`` of ``files`` with everything that it includes.

    Raises OlafError with every include that is missing and every directive that is wrong.
    """
    flattener = _Flattener(files)
    flattener.parse(files[name], name)
    out = io.StringIO()
    flattener.write(out)
    if flattener.problems:
        raise OlafError(*flattener.problems)
    lines = [line.rstrip() for line in out.getvalue().splitlines()]
    kept = [line for number, line in enumerate(lines) if line or (number and lines[number - 1])]
    return "\n".join([*kept, ""])
