"""``import olaf`` shows its names, and its rooms load no more than they say."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

import olaf
from olaf.policies import POLICIES

FOLDER = Path(olaf.__file__).parent
ROOMS = sorted(path.parent.name for path in FOLDER.glob("*/__init__.py"))
TORCH = ("distributed", "torch")


def test_import_olaf_shows_what_a_newcomer_needs() -> None:
    ends = ["ParameterServer", "Publisher", "Replica", "Subscriber", "Worker"]
    assert dir(olaf) == [*ends, "attach", "distributed", "policies"]
    assert olaf.Worker.__name__ == "Worker"
    assert olaf.policies.POLICIES is POLICIES
    assert not hasattr(olaf, "wire")


@pytest.mark.parametrize("room", ROOMS)
def test_a_room_says_what_it_is_for_and_offers(room: str) -> None:
    if room in TORCH:
        pytest.importorskip("torch")
    module = __import__(f"olaf.{room}", fromlist=["*"])
    assert module.__doc__ and len(module.__doc__.splitlines()) > 2
    assert all(hasattr(module, name) for name in getattr(module, "__all__", ()))


def test_experience_and_elastic_load_nothing_of_the_network() -> None:
    program = (
        "import sys, olaf.experience, olaf.elastic; "
        "print(*sorted({n.split('.')[1] for n in sys.modules if n.startswith('olaf.')}))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["elastic", "errors", "experience", "guards"]


def test_every_policy_has_a_row_in_the_readme() -> None:
    text = (FOLDER.parent / "README.md").read_text(encoding="utf-8")
    table = text.partition("| policy |")[2].partition("\n\n")[0]
    assert re.findall(r"^\| `(\w+)`", table, re.MULTILINE) == list(POLICIES)
