"""The walk of a worker from the testbed's file to the devices' tables, as docs/architecture.md has it."""

import re
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from ipaddress import IPv4Address
from itertools import groupby
from pathlib import Path
from types import FrameType
from typing import Any

from olafctl.control.desired import desired
from olafctl.control.plan import plan
from olafctl.control.state import State
from olafctl.targets import testbeds
from olafswitch.p4runtime.entities import Exact, Lpm, NamedValues, TableEntry

ROOT = Path(__file__).parents[2]
PARTS = (Exact, Lpm, NamedValues)
"""Parts of an entry."""
ADDRESS = IPv4Address("10.0.1.77")
TEXT = f"""\
name: walk
engine: {{slots: 4}}
ports:
  - {{number: 1, name: server}}
  - {{number: 2, name: lab}}
parameter_servers: [{{port: 1, ip: 10.0.0.254}}]
clusters:
  - workers: [{{port: 2, ip: {ADDRESS}}}]
"""


def is_it(value: Any) -> bool:
    """Whether a value is the worker's address."""
    number = value.value if isinstance(value, Exact | Lpm) else value
    return bool(number == ADDRESS or number == int(ADDRESS))


def holds(value: Any) -> bool:
    """Whether a value is the worker's address, or a mapping or an entry with it."""
    if isinstance(value, TableEntry):
        return holds(value.match) or holds(value.params)
    return any(map(is_it, value.values())) if isinstance(value, Mapping) else is_it(value)


@contextmanager
def made() -> Iterator[list[str]]:
    """The types of the product and the switch that are made with the worker's address, in order."""
    found: list[str] = []

    def seen(frame: FrameType, event: str, _: object) -> None:
        if event == "call" and frame.f_code.co_name == "__init__":
            given = dict(frame.f_locals)
            kind = type(given.pop("self", None))
            if (
                kind.__module__.startswith(("olafctl.", "olafswitch."))
                and kind not in PARTS
                and any(map(holds, given.values()))
            ):
                found.append(kind.__name__)

    sys.setprofile(seen)
    try:
        yield found
    finally:
        sys.setprofile(None)


def test_a_worker_passes_the_types_of_the_page_and_none_twice(tmp_path: Path) -> None:
    file = tmp_path / "walk.yaml"
    file.write_text(TEXT)
    with made() as types:
        testbed = testbeds.load(file)
        steps = plan(State(), desired(testbed)).steps
    assert any(holds(change.entity) for step in steps for change in step.changes)
    order = [name for name, _ in groupby(types)]
    page = (ROOT / "docs" / "architecture.md").read_text()
    section = page.partition("## A worker's walk")[2].partition("\n## ")[0]
    walk = re.findall(r"^\| `?([\w ]+?)`? \| .* \| `", section, re.MULTILINE)
    assert len(walk) <= 7
    assert order == ["Host", "Member", "TableEntry", "EntryChange"]
    assert order == [name for name in walk if name in order]
