"""Packages and rooms depend in one direction, as docs/architecture.md says; neither rooms nor files
circle."""

import re
import sys
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import grimp
import pytest

ROOT = Path(__file__).resolve().parent.parent
ROW = re.compile(r"^\| `(?P<room>\w+)` \| .* \| (?P<uses>[^|]*) \|$", re.MULTILINE)
INCLUDE = re.compile(r'^\s*#include "([^"]+)"', re.MULTILINE)
NATIVE = (".c", ".cpp", ".h")


@dataclass(frozen=True)
class Package:
    """A package whose rooms a section of docs/architecture.md describes."""

    name: str
    folder: Path
    section: str

    def room_of(self, module: str) -> str:
        """Return the room of a file; files of the package's top folder are the ground of all rooms."""
        own, _, rest = module.partition(".")
        first = rest.partition(".")[0]
        return first if own == self.name and first and (self.folder / first).is_dir() else ""

    def allowed_rooms(self) -> Mapping[str, frozenset[str]]:
        """Return the rooms that each room may use: the table of docs/architecture.md."""
        text = (
            (ROOT / "docs" / "architecture.md").read_text().partition(self.section)[2].partition("\n## ")[0]
        )
        table = {row["room"]: row["uses"] for row in ROW.finditer(text)}
        return {
            room: frozenset(table) - {room}
            if uses == "everything"
            else frozenset(re.findall(r"`(\w+)`", uses))
            for room, uses in table.items()
        }


SWITCH = Package("olafswitch", ROOT / "switch" / "olafswitch", "## The rooms of olafswitch")
PRODUCT = Package("olafctl", ROOT / "olafctl", "## The rooms of olafctl")
KIT = Package("olaftest", ROOT / "testkit" / "olaftest", "## The rooms of olaftest")
LABORATORY = Package("olaflab", ROOT / "lab" / "olaflab", "## The subjects of olaflab")
SDK = Package("olaf", ROOT / "sdk" / "olaf", "## The rooms of the SDK")
LAYERS = (SWITCH, PRODUCT, KIT, LABORATORY)
"""The packages; each may use those before it, and nothing of those after it."""
PACKAGES = pytest.mark.parametrize("package", [*LAYERS, SDK], ids=lambda package: str(package.name))
NAMES = [package.name for package in LAYERS]
OF_THE_SWITCH = ("p4", "p4runtime", "ports")
"""The test folders that import only the switch."""
APART = ("lab", "cli", "plugins")
"""The test folders that may use the whole laboratory: its own, and those of both command lines."""
TEST_LIBRARY = ("opennic",)
"""The module of the laboratory that tests of a product still use: the simulated card."""
OTHERS = re.compile(r"^\s*(?:from|import) (?:olaf|olafctl|olaftest|olaflab)\b", re.MULTILINE)
DOORS = {
    "torch": (
        "olaf.torch",
        "olaf.distributed",
        "olaf.policies.optimizing",
        "olaf.weights.checkpoint",
        "olaf.weights.modules",
        "olaf.weights.sglang",
    ),
    "sglang": ("olaf.weights.sglang",),
    "transformers": ("olaf.weights.trl",),
    "vllm": ("olaf.weights.vllm",),
    "ray": ("olaf.elastic.placed", "olaf.elastic.tasks", "olaf.torch.rllib"),
    "zmq": ("olaf.experience.remote",),
    "zstandard": ("olaf.weights.streams",),
}
"""The rooms and files of the SDK that may import packages that only they need."""


@pytest.fixture(scope="module")
def graph() -> grimp.ImportGraph:
    return grimp.build_graph(*NAMES, "olaf", cache_dir=None)


@pytest.fixture(scope="module")
def sdk() -> grimp.ImportGraph:
    return grimp.build_graph("olaf", include_external_packages=True, cache_dir=None)


def list_imports(graph: grimp.ImportGraph) -> Iterable[tuple[str, str]]:
    """Yield every import, as (importer, imported) files."""
    for importer in graph.modules:
        for imported in graph.find_modules_directly_imported_by(importer):
            yield importer, imported


def list_includes(package: Package) -> Iterator[tuple[Path, Path]]:
    """Yield every C++ file of a package, with each file of this repository that it includes by a path."""
    for path in sorted(package.folder.rglob("*")):
        if path.suffix in NATIVE:
            for name in INCLUDE.findall(path.read_text()):
                # By a path from the including file, or from the folder that holds the switch.
                for base in (path.parent, SWITCH.folder.parent):
                    if (included := (base / name).resolve()).is_file():
                        yield path, included
                        break


def module_name(path: Path) -> str:
    """Return a file as a dotted name, beginning with its package."""
    base = next((each.folder.parent for each in LAYERS if path.is_relative_to(each.folder)), ROOT)
    return ".".join(path.relative_to(base).parts)


def packages_above(package: Package) -> tuple[str, ...]:
    """Return the packages that ``package`` may not use."""
    return tuple(NAMES if package is SDK else NAMES[NAMES.index(package.name) + 1 :])


def list_uses(graph: grimp.ImportGraph, package: Package) -> Iterator[tuple[str, str]]:
    """Yield each use of one file by another, in Python and in C++."""
    yield from list_imports(graph)
    yield from ((module_name(a), module_name(b)) for a, b in list_includes(package))


def find_circle(edges: Iterable[tuple[str, str]]) -> list[str]:
    """Return the members of one circle, or nothing."""
    used: dict[str, set[str]] = defaultdict(set)
    for importer, imported in edges:
        used[importer].add(imported)
    try:
        TopologicalSorter(used).prepare()
    except CycleError as error:
        return list(error.args[1])
    return []


@PACKAGES
def test_every_room_is_described(package: Package) -> None:
    rooms = {path.parent.name for path in package.folder.glob("*/__init__.py")}
    assert set(package.allowed_rooms()) == rooms


@PACKAGES
def test_a_room_uses_only_the_rooms_that_its_description_names(
    graph: grimp.ImportGraph, package: Package
) -> None:
    used: dict[str, set[str]] = defaultdict(set)
    allowed = package.allowed_rooms()
    for importer, imported in list_uses(graph, package):
        source, target = package.room_of(importer), package.room_of(imported)
        if source and target and source != target:
            assert target in allowed[source], f"{importer} may not use {imported}"
            used[source].add(target)
    for name, named in allowed.items():
        if name != "cli":
            assert named == used[name], f"docs/architecture.md: {name} uses {sorted(used[name])}"


@PACKAGES
def test_a_distribution_knows_nothing_of_those_above(graph: grimp.ImportGraph, package: Package) -> None:
    for importer, imported in list_uses(graph, package):
        if importer.partition(".")[0] == package.name:
            assert imported.partition(".")[0] not in packages_above(package), (
                f"{importer} may not use {imported}"
            )


@pytest.mark.parametrize("package", [SWITCH, PRODUCT], ids=lambda package: str(package.name))
def test_a_distribution_does_not_name_those_above(package: Package) -> None:
    texts = {path: path.read_text() for path in package.folder.rglob("*.py")}
    named = re.compile(rf"\b({'|'.join(packages_above(package))})[.\"']")
    assert [path for path, text in texts.items() if named.search(text)] == []


def test_tests_of_the_switch_import_the_switch_only() -> None:
    files = [path for room in OF_THE_SWITCH for path in (ROOT / "tests" / room).rglob("*.py")]
    assert files
    assert [path for path in files if OTHERS.search(path.read_text())] == []


def test_product_tests_import_only_the_test_kit() -> None:
    folders = [
        folder for folder in (ROOT / "tests").iterdir() if folder.is_dir() and folder.name not in APART
    ]
    files = [path for folder in folders for path in folder.rglob("*.py")]
    assert files
    used = re.compile(rf"^\s*(?:from|import) olaflab(?!\.(?:{'|'.join(TEST_LIBRARY)})\b)", re.MULTILINE)
    assert [path for path in files if used.search(path.read_text())] == []


def test_packet_tests_import_only_the_product_which_ships_them() -> None:
    used = re.compile(r"^\s*(?:from|import) (olaftest|olaflab|tests(?!\.packets\b))\b", re.MULTILINE)
    files = (ROOT / "tests" / "packets").rglob("*.py")
    assert [path.name for path in files if used.search(path.read_text(encoding="utf-8"))] == []


def test_the_sdk_imports_numpy_alone_except_at_its_doors(sdk: grimp.ImportGraph) -> None:
    for importer, imported in list_imports(sdk):
        external = imported.partition(".")[0]
        if external not in {"olaf", "numpy", *sys.stdlib_module_names}:
            assert f"{importer}.".startswith(DOORS.get(external, ())), f"{importer} may not import {imported}"


@PACKAGES
def test_the_ground_uses_no_room(graph: grimp.ImportGraph, package: Package) -> None:
    ground = [
        (a, b)
        for a, b in list_imports(graph)
        if a.partition(".")[0] == package.name
        and not package.room_of(a)
        and package.room_of(b)
        and not a.endswith("__main__")
        and a != SDK.name  # `import olaf` shows this one
    ]
    assert ground == []


@PACKAGES
def test_rooms_have_no_circle(package: Package) -> None:
    assert find_circle((name, use) for name, named in package.allowed_rooms().items() for use in named) == []


def test_files_have_no_circle(graph: grimp.ImportGraph) -> None:
    files = {name for name in graph.modules if not graph.find_children(name)}
    assert find_circle((a, b) for a, b in list_imports(graph) if a in files and b in files) == []


def test_an_import_against_the_contract_is_found() -> None:
    graph = grimp.build_graph(*NAMES, cache_dir=None)
    graph.add_import(importer="olafctl.wire.layouts", imported="olafctl.control.deploy")
    with pytest.raises(AssertionError, match=r"olafctl\.wire\.layouts may not use"):
        test_a_room_uses_only_the_rooms_that_its_description_names(graph, PRODUCT)
    graph.add_import(importer="olafctl.wire.layouts", imported="olaftest.queue.traffic")
    with pytest.raises(AssertionError, match=r"olafctl\.wire\.layouts"):
        test_a_distribution_knows_nothing_of_those_above(graph, PRODUCT)
    graph.add_import(importer="olafswitch.p4.compiler", imported="olafctl.wire.layouts")
    with pytest.raises(AssertionError, match=r"olafswitch\.p4\.compiler"):
        test_a_distribution_knows_nothing_of_those_above(graph, SWITCH)
    sdk = grimp.build_graph("olaf", include_external_packages=True, cache_dir=None)
    sdk.add_module("psutil", is_squashed=True)
    sdk.add_import(importer="olaf.worker", imported="psutil")
    with pytest.raises(AssertionError, match=r"olaf\.worker may not import psutil"):
        test_the_sdk_imports_numpy_alone_except_at_its_doors(sdk)


def test_an_include_against_the_contract_is_found(tmp_path: Path) -> None:
    (tmp_path / "wire").mkdir()
    header = LABORATORY.folder / "model" / "native" / "age.h"
    (tmp_path / "wire" / "wrong.cpp").write_text(f'#include "{header}"\n')
    found = list(list_includes(Package("olafctl", tmp_path, "")))
    assert found == [(tmp_path / "wire" / "wrong.cpp", header)]
    assert module_name(header).startswith("olaflab.")
