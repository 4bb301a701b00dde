"""The files of a paper: its points in one compressed ``.npz``, its sections in one small JSON file, pictures.

Points of the model are not committed; a cache keeps them by all that decides them.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, cast
from zipfile import BadZipFile

import numpy as np

from olafctl import plotting
from olafctl.verify import aom
from olaflab import fairness, pictures
from olaflab.model import library, run, scenario
from olaflab.papers.figure import Effort, Figure, FigureCost, FigureTable, Points, Section
from olafswitch import cache
from olafswitch.errors import BadInput, OlafError, Problem

_ARRAY = "array"
"""The key that marks an array's place in the tree; the array itself is a member of the archive."""
_CACHED = "figures.json"


def save_points(path: Path, points: Mapping[str, Points]) -> None:
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


def load_points(path: Path) -> dict[str, Points]:
    """Read the points of every figure; none without the file. Raises BadInput for a file of another kind."""
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


def save_sections(path: Path, sections: Mapping[str, Section]) -> None:
    """Write the sections by figure, a row of a table a line. Raises OlafError."""
    lines = ["{"]
    for number, (name, section) in enumerate(sections.items()):
        lines += [*_section_lines(name, section), "}" + "," * (number + 1 < len(sections))]
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("\n".join([*lines, "}"]) + "\n", encoding="utf-8")
    except OSError as error:
        raise OlafError(Problem(f"cannot be written: {error.strerror}", str(path))) from error


def _section_lines(name: str, section: Section) -> Iterator[str]:
    def text(value: Any) -> str:
        return json.dumps(value, ensure_ascii=False)

    yield f'{text(name)}: {{"verdicts": {text(dict(section.verdicts))}, "tables": {{'
    for number, (key, table) in enumerate(section.tables.items()):
        yield f'{text(key)}: {{"title": {text(table.title)}, "heads": {text(list(table.heads))}, "rows": ['
        yield ",\n".join(text(list(row)) for row in table.rows)
        yield "]}" + "," * (number + 1 < len(section.tables))
    yield "}"


def load_sections(path: Path) -> dict[str, Section]:
    """Read what :func:`save_sections` wrote; none without the file. Raises BadInput for another kind."""
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
        return {
            name: Section(
                {key: FigureTable(**table) for key, table in each["tables"].items()}, each["verdicts"]
            )
            for name, each in found.items()
        }
    except FileNotFoundError:
        return {}
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise BadInput(Problem("does not hold sections", str(path), "olaflab reproduce")) from error


def as_json(section: Section) -> dict[str, Any]:
    """Return a section as ``--json`` prints it."""
    return {"verdicts": dict(section.verdicts), "tables": {k: asdict(t) for k, t in section.tables.items()}}


@dataclass(frozen=True)
class Committed:
    """The files of one paper in a folder: points, sections and pictures."""

    folder: Path
    paper: str

    def load_points(self) -> dict[str, Points]:
        """Return the points of what takes long or depends on the machine. Raises BadInput."""
        return load_points(self.folder / f"{self.paper}.npz")

    def load_sections(self) -> dict[str, Section]:
        """Return the sections of all figures. Raises BadInput."""
        return load_sections(self.folder / f"{self.paper}.json")

    def picture_path(self, figure: Figure) -> Path:
        """Return the place of a figure's picture."""
        return self.folder / self.paper / f"{figure.name}.svg"

    def write_figures(self, found: Mapping[Figure, Points], known: Mapping[str, Figure]) -> Iterator[Path]:
        """Write points, sections and pictures of ``found``; those of the paper's other figures stay."""
        points = self.load_points() | {
            one.name: its for one, its in found.items() if one.cost is not FigureCost.MODEL
        }
        sections = self.load_sections() | {one.name: one.section(its) for one, its in found.items()}
        save_points(self.folder / f"{self.paper}.npz", _order_by_figure(points, known))
        save_sections(self.folder / f"{self.paper}.json", _order_by_figure(sections, known))
        yield from (self.folder / f"{self.paper}.{kind}" for kind in ("npz", "json"))
        for one, its in found.items():
            if one.draw is not None:
                drawing = plotting.new_figure(*one.size)
                one.draw(its, drawing)
                pictures.save_picture(drawing, self.picture_path(one))
                yield self.picture_path(one)


def _order_by_figure(found: Mapping[str, Any], known: Mapping[str, Figure]) -> dict[str, Any]:
    return {name: found[name] for name in known if name in found}


def find_points(figure: Figure, effort: Effort, long: bool) -> Points | None:
    """Return a figure's points: the model's are run, others too if ``long``, and else looked up.

    None where no points are committed. Raises OlafError.
    """
    if figure.cost is FigureCost.MODEL:
        return run_cached(figure, effort)
    return figure.run(effort) if long else effort.kept.get(figure.name)


def run_cached(figure: Figure, effort: Effort) -> Points:
    """Return the points of a figure of the model, from the cache if nothing that decides them changed.

    A figure that names no code takes seconds, and is run each time.
    """
    if not figure.code:
        return figure.run(effort)
    needed = [json.dumps(effort.kept.get(name), sort_keys=True) for name in figure.needs]
    key = cache.digest([figure.name, str(effort.seeds), *needed, *_simulator_files(), *figure.code])

    def build(work: Path) -> None:
        (work / _CACHED).write_text(json.dumps(figure.run(effort)))

    folder, built = cache.build_once("reproduce", key, build)
    if not built:
        effort.progress("run before")
    return cast(Points, json.loads((folder / _CACHED).read_text()))


def _simulator_files() -> Sequence[Path]:
    """Return the files that decide what a scenario's run measures."""
    python = [Path(module.__file__ or "") for module in (library, run, scenario, aom, fairness)]
    return [*python, *sorted(library.NATIVE.iterdir()), *library.RULES]
