"""A width or a default is stated once: changed there, generators and lints accept what follows."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from olafctl import paths
from olafswitch.toolchain import cxx, verilator_root

_PARTS = ("olafctl", "hdl", "templates", "p4src", "docs", "sdk/olaf", "switch")
_VERSIONED = ("lab", "sdk", "testkit")
"""Other distributions whose version is olafctl's."""


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """Provide a copy of everything that generators read and write."""
    for part in _PARTS:
        shutil.copytree(paths.sources() / part, tmp_path / part, ignore=shutil.ignore_patterns("__pycache__"))
    for part in _VERSIONED:
        (tmp_path / part).mkdir(exist_ok=True)
        shutil.copy(paths.sources() / part / "pyproject.toml", tmp_path / part)
    shutil.copy(paths.sources() / "setup.cfg", tmp_path)
    return tmp_path


def change_file(file: Path, old: str, new: str) -> None:
    text = file.read_text()
    assert text.count(old) == 1
    file.write_text(text.replace(old, new))


def run_command(tree: Path, *command: str, **environment: str) -> str:
    result = subprocess.run(
        command, cwd=tree, env={**os.environ, **environment}, capture_output=True, text=True
    )
    assert result.returncode == 0, result.stdout + result.stderr
    return result.stdout


def run_python(tree: Path, *arguments: str) -> str:
    return run_command(tree, sys.executable, *arguments, PYTHONPATH=str(tree))


def generate_and_lint(tree: Path) -> None:
    main = "from olaflab.main import main; main()"
    assert "wrote" in run_python(tree, "-c", main, "generate")
    run_python(tree, "-c", main, "generate", "--check")
    root = verilator_root()
    lint = (str(root / "bin" / "verilator_bin"), "--lint-only", "-Wall", "--quiet", "-Ihdl")
    run_command(tree, *lint, "--top-module", "olaf_queue", "hdl/olaf_queue.v", VERILATOR_ROOT=str(root))
    (tree / "use.cpp").write_text('#include "olafctl/wire/native/tuser.h"\n')
    run_command(tree, *cxx().command, "-std=c++17", "-Wall", "-Wextra", "-Werror", "-fsyntax-only", "use.cpp")


@pytest.mark.slow
def test_the_width_of_a_tuser_field(tree: Path) -> None:
    change_file(tree / "olafctl/wire/layouts.py", 'Field("worker", 32,', 'Field("worker", 40,')
    generate_and_lint(tree)
    assert "bit<40> worker;" in (tree / "p4src/headers.p4").read_text()
    assert "uint64_t olaf_shim_worker(" in (tree / "olafctl/wire/native/tuser.h").read_text()


def test_a_mode_whose_number_takes_one_more_bit(tree: Path) -> None:
    change_file(
        tree / "olafctl/wire/modes.py", '"iswitch-async"\n', '"iswitch-async"\n    NEWEST = "newest"\n'
    )
    generate_and_lint(tree)
    assert "OLAF_SETTINGS_MODE_WIDTH 3" in (tree / "hdl/olaf_meta.vh").read_text()


@pytest.mark.slow
def test_the_default_of_the_slots(tree: Path) -> None:
    change_file(
        tree / "olafctl/wire/geometry.py", "SLOTS = Bounds(1, 1023, 8,", "SLOTS = Bounds(1, 1023, 12,"
    )
    generate_and_lint(tree)
    assert "OLAF_SLOTS_DEFAULT 12" in (tree / "hdl/olaf_geometry.vh").read_text()
    shown = "from olaflab.main import main; main()"
    assert "default: 12" in run_python(tree, "-c", shown, "bench", "queue", "--help")
