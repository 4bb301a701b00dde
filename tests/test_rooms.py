"""Rooms depend one way, as docs/architecture.md says; no circle of rooms and none of files."""

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import grimp
import pytest

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = "olafctl"
ROW = re.compile(r"^\| `(?P<room>\w+)` \| .* \| (?P<uses>[^|]*) \|$", re.MULTILINE)


@pytest.fixture(scope="module")
def graph() -> grimp.ImportGraph:
    return grimp.build_graph(PACKAGE, cache_dir=None)


def allowed() -> Mapping[str, frozenset[str]]:
    """Which rooms each room may use: the table of docs/architecture.md."""
    text = (ROOT / "docs" / "architecture.md").read_text()
    table = {row["room"]: row["uses"] for row in ROW.finditer(text)}
    return {
        room: frozenset(table) - {room} if uses == "everything" else frozenset(re.findall(r"`(\w+)`", uses))
        for room, uses in table.items()
    }


def imports(graph: grimp.ImportGraph) -> Iterable[tuple[str, str]]:
    """Every import inside the package, as (importer, imported) files."""
    for importer in graph.modules:
        for imported in graph.find_modules_directly_imported_by(importer):
            yield importer, imported


def room(module: str) -> str:
    """The room of a file; files of the package's top folder are the ground that all stand on."""
    parts = module.split(".")
    return parts[1] if len(parts) > 1 and (ROOT / PACKAGE / parts[1]).is_dir() else ""


def circle(edges: Iterable[tuple[str, str]]) -> list[str]:
    """The members of one circle, or nothing."""
    uses: dict[str, set[str]] = defaultdict(set)
    for importer, imported in edges:
        uses[importer].add(imported)
    try:
        TopologicalSorter(uses).prepare()
    except CycleError as error:
        return list(error.args[1])
    return []


def test_every_room_is_described() -> None:
    rooms = {path.parent.name for path in (ROOT / PACKAGE).glob("*/__init__.py")}
    assert set(allowed()) == rooms


def test_a_room_uses_only_the_rooms_that_its_description_names(graph: grimp.ImportGraph) -> None:
    used: dict[str, set[str]] = defaultdict(set)
    for importer, imported in imports(graph):
        source, target = room(importer), room(imported)
        if source and target and source != target:
            assert target in allowed()[source], f"{importer} may not import {imported}"
            used[source].add(target)
    for name, uses in allowed().items():
        if name != "cli":
            assert uses == used[name], f"docs/architecture.md: {name} uses {sorted(used[name])}"


def test_the_ground_uses_no_room(graph: grimp.ImportGraph) -> None:
    ground = [(a, b) for a, b in imports(graph) if not room(a) and room(b) and not a.endswith("__main__")]
    assert ground == []


def test_there_is_no_circle_of_rooms() -> None:
    assert circle((name, use) for name, uses in allowed().items() for use in uses) == []


def test_there_is_no_circle_of_files(graph: grimp.ImportGraph) -> None:
    files = {module for module in graph.modules if not graph.find_children(module)}
    assert circle((a, b) for a, b in imports(graph) if a in files and b in files) == []


def test_an_import_against_the_table_is_found(graph: grimp.ImportGraph) -> None:
    graph.add_import(importer="olafctl.wire.layouts", imported="olafctl.control.deploy")
    with pytest.raises(AssertionError, match=r"olafctl\.wire\.layouts may not import"):
        test_a_room_uses_only_the_rooms_that_its_description_names(graph)
