"""A paper's points as one compressed ``.npz``, and its sections as one small JSON file: what is committed."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any
from zipfile import BadZipFile

import numpy as np

from olaflab.papers.figure import Points, Section, Table
from olafswitch.errors import BadInput, OlafError, Problem

_ARRAY = "array"
"""The key that stands in the tree for an array, which is beside it in the archive."""


def save(path: Path, points: Mapping[str, Points]) -> None:
    """Write the points of all figures by name; the same points give the same bytes. Raises OlafError."""
    arrays: dict[str, np.ndarray[Any, Any]] = {}
    for name, tree in points.items():
        text = json.dumps(_without_arrays(tree, name, arrays), ensure_ascii=False)
        arrays[name] = np.frombuffer(text.encode(), np.uint8)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        np.savez_compressed(path, **arrays)  # type: ignore[arg-type]  # names are the figures'
    except OSError as error:
        raise OlafError(Problem(f"cannot be written: {error.strerror}", str(path))) from error


def load(path: Path) -> dict[str, Points]:
    """The points of every figure in ``path``; none without the file. Raises BadInput for another file."""
    try:
        with np.load(path, allow_pickle=False) as found:
            arrays = dict(found.items())
        names = [name for name in arrays if "/" not in name]
        return {name: _with_arrays(json.loads(arrays[name].tobytes()), arrays) for name in names}
    except FileNotFoundError:
        return {}
    except (OSError, EOFError, ValueError, KeyError, BadZipFile) as error:
        raise BadInput(Problem("is not an archive of points", str(path), "olaflab reproduce")) from error


def _without_arrays(tree: Any, name: str, arrays: dict[str, np.ndarray[Any, Any]]) -> Any:
    if isinstance(tree, np.ndarray):
        arrays[name] = tree
        return {_ARRAY: name}
    if isinstance(tree, Mapping):
        return {str(key): _without_arrays(each, f"{name}/{key}", arrays) for key, each in tree.items()}
    if isinstance(tree, list | tuple):
        return [_without_arrays(each, f"{name}/{place}", arrays) for place, each in enumerate(tree)]
    return tree


def _with_arrays(tree: Any, arrays: Mapping[str, np.ndarray[Any, Any]]) -> Any:
    if isinstance(tree, dict):
        if set(tree) == {_ARRAY}:
            return arrays[tree[_ARRAY]]
        return {key: _with_arrays(each, arrays) for key, each in tree.items()}
    return [_with_arrays(each, arrays) for each in tree] if isinstance(tree, list) else tree


def columns(heads: Sequence[str], rows: Sequence[Sequence[Any]]) -> dict[str, Any]:
    """Rows as one array a column: of numbers where all cells are numbers, of text otherwise."""
    return {head: _column([row[place] for row in rows]) for place, head in enumerate(heads)}


def _column(cells: Sequence[Any]) -> np.ndarray[Any, Any]:
    try:
        numbers = np.array([float(cell) for cell in cells])
    except (TypeError, ValueError):
        return np.array([str(cell) for cell in cells])
    if numbers.size and (numbers == numbers.astype(np.int64)).all():
        return numbers.astype(np.int64)
    return numbers.astype(np.float32)


def save_sections(path: Path, sections: Mapping[str, Section]) -> None:
    """Write the sections by figure, a row of a table a line. Raises OlafError."""
    lines = ["{"]
    for number, (name, section) in enumerate(sections.items()):
        lines += [*_lines(name, section), "}" + "," * (number + 1 < len(sections))]
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("\n".join([*lines, "}"]) + "\n", encoding="utf-8")
    except OSError as error:
        raise OlafError(Problem(f"cannot be written: {error.strerror}", str(path))) from error


def _lines(name: str, section: Section) -> Iterator[str]:
    def text(value: Any) -> str:
        return json.dumps(value, ensure_ascii=False)

    yield f'{text(name)}: {{"verdicts": {text(dict(section.verdicts))}, "tables": {{'
    for number, (key, table) in enumerate(section.tables.items()):
        yield f'{text(key)}: {{"title": {text(table.title)}, "heads": {text(list(table.heads))}, "rows": ['
        yield ",\n".join(text(list(row)) for row in table.rows)
        yield "]}" + "," * (number + 1 < len(section.tables))
    yield "}"


def load_sections(path: Path) -> dict[str, Section]:
    """What :func:`save_sections` wrote; none without the file. Raises BadInput for another file."""
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
        return {
            name: Section({key: Table(**table) for key, table in each["tables"].items()}, each["verdicts"])
            for name, each in found.items()
        }
    except FileNotFoundError:
        return {}
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise BadInput(Problem("does not hold sections", str(path), "olaflab reproduce")) from error


def as_json(section: Section) -> dict[str, Any]:
    """A section as ``--json`` prints it."""
    return {"verdicts": dict(section.verdicts), "tables": {k: asdict(t) for k, t in section.tables.items()}}
