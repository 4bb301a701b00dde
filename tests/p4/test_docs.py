"""docs/p4.md lists exactly what the code has."""

import re
from itertools import takewhile
from pathlib import Path

import pytest

import olafswitch
from olafswitch.p4.check import tables
from olafswitch.p4.check.architectures import V1MODEL, XSA
from olafswitch.p4.emit import xsa
from olafswitch.p4.emit.externs import EMISSIONS
from olafswitch.p4.emit.rows import ALGORITHMS
from olafswitch.p4.syntax import tree
from olafswitch.p4.syntax.parse import parse_program
from olafswitch.p4.syntax.preprocess import HOME, preprocess_file
from olafswitch.p4runtime.agent import write_objects as objects
from olafswitch.p4runtime.agent import write_tables as writes

ROOT = Path(__file__).resolve().parents[2]

PAGE = (ROOT / "docs" / "p4.md").read_text().splitlines()
REFUSED = re.compile(r'(?:not_implemented|Unsupported)\(f?"([^"]*)"\)')


def _table_rows(head: str) -> list[list[str]]:
    """Return the cells of each row of the table whose head begins with ``head``."""
    at = next(place for place, line in enumerate(PAGE) if line.startswith(f"| {head} |"))
    rows = takewhile(lambda line: line.startswith("|"), PAGE[at + 2 :])
    return [[cell.strip() for cell in row.strip("|").split("|")] for row in rows]


def _table_names(head: str) -> list[str]:
    return [row[0].strip("`") for row in _table_rows(head)]


def test_table_properties_and_match_kinds() -> None:
    assert set(_table_names("table property")) == V1MODEL.table_properties
    assert set(_table_names("XSA table property")) == XSA.table_properties
    assert tuple(_table_names("match kind")) == tables._KINDS


def test_hash_algorithms() -> None:
    assert {row[0].strip("`") for row in _table_rows("hash algorithm") if row[1] != "refused"} == set(
        ALGORITHMS
    )


@pytest.mark.parametrize(
    ("include", "head", "emissions"),
    [("v1model", "extern", {*EMISSIONS}), ("xsa", "XSA extern", {*xsa.EMISSIONS})],
)
def test_externs(include: str, head: str, emissions: set[str]) -> None:
    declared = set()
    for node in parse_program(preprocess_file(HOME / f"{include}.p4")):
        if isinstance(node, tree.ExternFunction):
            declared.add(node.name)
        elif isinstance(node, tree.ExternObject):
            declared |= {f"{node.name}.{each.name}" for each in node.methods if each.result}
    rows = {row[0].strip("`"): row[1] for row in _table_rows(head)}
    assert set(rows) == declared
    supported = emissions | {"static_assert"}
    assert {name for name, what in rows.items() if what != "refused"} == supported


def test_entities() -> None:
    rows = {row[0].strip("`"): row[1].split(", ") for row in _table_rows("entity")}
    names = {objects.INSERT: "INSERT", objects.MODIFY: "MODIFY", objects.DELETE: "DELETE"}
    known = {entity: [names[each] for each in kinds] for entity, kinds in writes._BY_ENTITY.items()}
    known["table_entry"] = [names[each] for each in writes._PLAIN]
    assert rows == known


def test_what_is_not_implemented() -> None:
    package = Path(olafswitch.__file__).parent
    sources = [*(package / "p4runtime").rglob("*.py"), *(package / "p4" / "switch").glob("*.py")]
    text = {message for path in sources for message in REFUSED.findall(path.read_text())}
    assert set(_table_names("`UNIMPLEMENTED`")) == {re.sub(r"\{.*?\}", "…", message) for message in text}
