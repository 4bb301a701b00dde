"""Read a YAML file as sections that know their lines, and collect every problem with its place."""

import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass, field
from difflib import get_close_matches
from itertools import groupby
from pathlib import Path
from typing import TypeVar

import yaml

from olafctl.quantities import Reader, Unreadable, brief, quoted
from olafctl.testbed import limits
from olafswitch.errors import BadInput, Problem

V = TypeVar("V")
_UNKNOWN = "unknown key"
_MERGE = "tag:yaml.org,2002:merge"


@dataclass(frozen=True)
class SourcePlace:
    """A line of the file (from 1) and the field in it."""

    line: int
    field: str


@dataclass
class ProblemReport:
    """The problems found so far in one file."""

    path: Path
    problems: list[tuple[SourcePlace, Problem]] = field(default_factory=list)
    _seen: set[Problem] = field(default_factory=set)

    def add(self, place: SourcePlace, what: str, remedy: str) -> None:
        """Note a problem; the same problem at the same place counts once.

        Raises BadInput with all problems so far when there are so many that reading on has no use.
        """
        where = f"{self.path}:{place.line}" + (f": {place.field}" if place.field else "")
        problem = Problem(what, where, remedy)
        if problem not in self._seen:
            self._seen.add(problem)
            self.problems.append((place, problem))
        if len(self.problems) > limits.PROBLEMS:
            self.raise_any()

    def raise_any(self) -> None:
        """Raise BadInput with the problems, by line; do nothing without problems."""
        if self.problems:
            found = []
            for line, given in groupby(sorted(self.problems, key=_line_of), _line_of):
                # A key that is not known is often why another is missing.
                problems = sorted((problem for _, problem in given), key=lambda each: each.what != _UNKNOWN)
                found += problems[: limits.PROBLEMS_OF_A_LINE]
                if (more := len(problems) - limits.PROBLEMS_OF_A_LINE) > 0:
                    found.append(
                        Problem(f"… and {more} more of this line", f"{self.path}:{line}", "fix these first")
                    )
            more = len(found) - limits.PROBLEMS_SHOWN
            if more > 0:
                least = "at least " if len(found) > limits.PROBLEMS else ""
                rest = Problem(f"… and {least}{more} more", str(self.path), "fix these first")
                found[limits.PROBLEMS_SHOWN :] = [rest]
            raise BadInput(*found)


def _line_of(found: tuple[SourcePlace, Problem]) -> int:
    return found[0].line


class Section:
    """One YAML mapping. Fields are taken by name; :meth:`close` reports fields that were not taken."""

    def __init__(
        self, report: ProblemReport, place: SourcePlace, fields: dict[str, tuple[SourcePlace, yaml.Node]]
    ) -> None:
        self.report = report
        self.own_place = place
        self._fields = fields
        self._known: set[str] = set()

    def has(self, name: str) -> bool:
        """Return whether the mapping holds the field, even if empty."""
        self._known.add(name)
        return name in self._fields

    def place(self, name: str) -> SourcePlace:
        """Return the place of the field, or the place where it is missing."""
        if name in self._fields:
            return self._fields[name][0]
        return SourcePlace(self.own_place.line, _path_below(self.own_place.field, name))

    def text(self, name: str) -> str | None:
        """Return the text of a scalar field; None when it is absent or (reported) no scalar."""
        if not self.has(name):
            return None
        return read_scalar(self.report, *self._fields[name])

    def value(self, name: str, read: Reader[V], default: V) -> V:
        """Return a field's value; ``default`` when it is absent, or wrong (and reported)."""
        text = self.text(name)
        if text is None:
            return default
        return attempt_reading(self.report, self.place(name), read, text, default)

    def required(self, name: str, read: Reader[V], default: V, remedy: str) -> V:
        """Return a field as :meth:`value` does, but report its absence; ``default`` lets reading go on."""
        if not self.has(name):
            self.report.add(self.place(name), "is missing", remedy)
        return self.value(name, read, default)

    def sections(self, name: str) -> Iterator["Section"]:
        """Yield the mappings of a list field; a single mapping counts as a list of one."""
        if not self.has(name):
            return
        place, node = self._fields[name]
        if isinstance(node, yaml.MappingNode):
            yield from _make_section(self.report, place, node)
        else:
            for item_place, item in list_items(self.report, place, node):
                yield from _make_section(self.report, item_place, item)

    def section(self, name: str) -> "Section":
        """Return a mapping field; an empty section when it is absent or (reported) no mapping."""
        if self.has(name):
            place, node = self._fields[name]
            if not _is_empty(node):
                for found in _make_section(self.report, place, node):
                    return found
        return Section(self.report, self.place(name), {})

    def texts(self, name: str) -> list[tuple[SourcePlace, str]]:
        """Return the scalars of a list field; a single scalar counts as a list of one."""
        if not self.has(name):
            return []
        place, node = self._fields[name]
        if isinstance(node, yaml.ScalarNode):
            return [(place, node.value.strip())]
        found = [
            (at, read_scalar(self.report, at, item)) for at, item in list_items(self.report, place, node)
        ]
        return [(at, text) for at, text in found if text is not None]

    def is_scalar(self, name: str) -> bool:
        """Return whether the field holds neither a list nor a mapping."""
        return self.has(name) and isinstance(self._fields[name][1], yaml.ScalarNode)

    def is_empty(self, name: str) -> bool:
        """Return whether the field has no content."""
        return self.has(name) and _is_empty(self._fields[name][1])

    def close(self) -> None:
        """Report every field that no reader used."""
        for name, (place, _) in self._fields.items():
            if name not in self._known:
                near = get_close_matches(name, self._known, 1)
                known = ", ".join(sorted(self._known))
                self.report.add(
                    place, _UNKNOWN, f"did you mean {near[0]}?" if near else f"known here: {known}"
                )


def text_of(path: Path) -> str:
    """Return the file's text.

    Raises BadInput when it cannot be read or is not text.
    """
    where = brief(str(path), limits.SHOWN_PATH)
    try:
        data = _read_content(path, where)
        if len(data) > limits.FILE_SIZE:
            raise BadInput(Problem("is larger than 4 MB", where, "a testbed is a short YAML file"))
        return data.decode()
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        what = f"byte {error.start} is not UTF-8"
        raise BadInput(Problem(what, f"{where}:{line}", "save it as UTF-8")) from None
    except FileNotFoundError:
        raise BadInput(
            Problem("no such file", where, "`olafctl init` writes a testbed to start from")
        ) from None
    except OSError as error:
        raise BadInput(Problem(f"cannot be read: {error.strerror}", where, "check its permissions")) from None
    except ValueError:
        raise BadInput(Problem("is not a file name", where, "name a testbed's YAML file")) from None


def _read_content(path: Path, where: str) -> bytes:
    """Return the content of a regular file, up to one byte more than a testbed may have. Raises OSError,
    BadInput."""
    # Without O_NONBLOCK the opening of a FIFO would wait for a writer.
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        mode = os.fstat(descriptor).st_mode
        if not stat.S_ISREG(mode):
            what = "is a folder" if stat.S_ISDIR(mode) else "is not a regular file"
            raise BadInput(Problem(what, where, "name a testbed's YAML file"))
        with os.fdopen(descriptor, "rb", closefd=False) as file:
            return file.read(limits.FILE_SIZE + 1)
    finally:
        os.close(descriptor)


def read_source(path: Path, text: str) -> tuple[ProblemReport, Section]:
    """Return the outermost mapping of ``text``, which came from ``path``.

    Raises BadInput when it is not YAML or holds no mapping.
    """
    report = ProblemReport(path)
    node = _compose_yaml(str(path), text)
    start = SourcePlace(1, "")
    if node is None or _is_empty(node):
        raise BadInput(Problem("is empty", f"{path}:1", "`olafctl init` writes a testbed to start from"))
    for section in _make_section(report, start, node):
        report.raise_any()
        return report, section
    report.raise_any()
    raise AssertionError("a node that is not a section is reported")


def read_scalar(report: ProblemReport, place: SourcePlace, node: yaml.Node) -> str | None:
    """Return a scalar's text; None (reported) for a list or a mapping."""
    if isinstance(node, yaml.ScalarNode):
        return str(node.value).strip()
    report.add(place, f"expected one value, found {_describe_kind(node)}", "write it as `name: value`")
    return None


def list_items(
    report: ProblemReport, place: SourcePlace, node: yaml.Node
) -> Iterator[tuple[SourcePlace, yaml.Node]]:
    """Yield a list's items with their places; a non-list is reported."""
    if isinstance(node, yaml.SequenceNode):
        if len(node.value) > limits.ITEMS:
            report.add(place, f"has {len(node.value)} items", f"a list may have {limits.ITEMS}")
        for index, item in enumerate(node.value[: limits.ITEMS]):
            yield SourcePlace(_line(item), f"{place.field}[{index}]"), item
    elif not _is_empty(node):
        report.add(place, f"expected a list, found {_describe_kind(node)}", "begin each item with '- '")


def attempt_reading(report: ProblemReport, place: SourcePlace, reader: Reader[V], text: str, default: V) -> V:
    """Return the value of ``text``; ``default`` when it cannot be read (and that is reported)."""
    try:
        return reader(text)
    except Unreadable as error:
        report.add(place, error.what, error.remedy)
        return default


def _compose_yaml(where: str, text: str) -> yaml.Node | None:
    try:
        return yaml.compose(text, Loader=yaml.SafeLoader)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        line = mark.line + 1 if mark else 1
        raise BadInput(_describe_syntax(where, line, text, error.problem or "is not YAML")) from None
    except yaml.reader.ReaderError as error:
        line = text.count("\n", 0, error.position) + 1
        what = f"is not YAML: {str(error).splitlines()[0]}"
        raise BadInput(Problem(what, f"{where}:{line}", "save it as text")) from None
    except RecursionError:
        raise BadInput(Problem("is nested too deeply", f"{where}:1", "a testbed needs five levels")) from None


def _describe_syntax(where: str, line: int, text: str, what: str) -> Problem:
    lines = text.splitlines()
    if line <= len(lines) and "\t" in lines[line - 1][: len(lines[line - 1]) - len(lines[line - 1].lstrip())]:
        return Problem("a tab in the indentation", f"{where}:{line}", "YAML indents with spaces")
    return Problem(f"bad YAML: {what}", f"{where}:{line}", "check quotes, brackets, colons and indentation")


def _make_section(report: ProblemReport, place: SourcePlace, node: yaml.Node) -> Iterator[Section]:
    if not isinstance(node, yaml.MappingNode):
        report.add(place, f"expected fields, found {_describe_kind(node)}", "write `name: value` lines")
        return
    fields: dict[str, tuple[SourcePlace, yaml.Node]] = {}
    for key, value in node.value:
        if key.tag == _MERGE:
            what = "a merge key (<<), which a testbed does not have"
            report.add(
                SourcePlace(_line(key), place.field), what, "write the fields out, or use *NAME for a value"
            )
            continue
        if not isinstance(key, yaml.ScalarNode):
            report.add(
                SourcePlace(_line(key), place.field), f"{_describe_kind(key)} as a key", "use a plain word"
            )
            continue
        name = str(key.value)
        if not name:
            report.add(SourcePlace(_line(key), place.field), "an empty key", "write a word before the colon")
            continue
        at = SourcePlace(_line(key), _path_below(place.field, name))
        if name in fields:
            report.add(at, f"given twice, first on line {fields[name][0].line}", "keep one of them")
        else:
            fields[name] = (at, value)
    yield Section(report, place, fields)


def _line(node: yaml.Node) -> int:
    return int(node.start_mark.line) + 1


def _path_below(path: str, name: str) -> str:
    name = brief(name) if name.isprintable() else quoted(name)
    return f"{path}.{name}" if path else name


def _is_empty(node: yaml.Node) -> bool:
    return isinstance(node, yaml.ScalarNode) and node.value in ("", "~", "null")


def _describe_kind(node: yaml.Node) -> str:
    if isinstance(node, yaml.SequenceNode):
        return "a list"
    if isinstance(node, yaml.MappingNode):
        return "a mapping"
    return "nothing" if _is_empty(node) else f"the value {quoted(str(node.value))}"
