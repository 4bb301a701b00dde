"""The C++ to which programs are linked compiles without warnings and survives when memory runs out."""

import subprocess
from pathlib import Path

import pytest

from olafswitch.p4 import compiler
from olafswitch.p4.compiler import compile_program
from olafswitch.toolchain import cxx
from tests.p4.switches import PROGRAMS

NATIVE = Path(compiler.__file__).parent / "native"
STRICT = ("-std=c++17", "-Wall", "-Wextra", "-Werror", f"-I{NATIVE}")
UNUSED = ("-Wno-unused-parameter", "-Wno-unused-variable", "-Wno-unused-but-set-variable")
"""Generated code has all declarations of the P4 program, used or not."""


def _compile_text(*args: str | Path) -> subprocess.CompletedProcess[str]:
    command = [*cxx().command, *STRICT, *map(str, args)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


@pytest.mark.parametrize("source", sorted(NATIVE.glob("*.cpp")), ids=lambda path: path.stem)
def test_the_runtime_compiles_without_warnings(source: Path, tmp_path: Path) -> None:
    done = _compile_text("-O1", "-c", source, "-o", tmp_path / "out.o")
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("name", ["code", "externs", "headers", "parser", "tables"])
def test_generated_code_compiles_without_warnings(name: str) -> None:
    done = _compile_text(
        *UNUSED, "-fsyntax-only", compile_program(PROGRAMS / f"{name}.p4", optimize="-O1").cpp
    )
    assert done.returncode == 0, done.stderr


def test_nothing_breaks_when_memory_runs_out(tmp_path: Path) -> None:
    program = tmp_path / "memory"
    source = Path(__file__).with_name("memory.cpp")
    done = _compile_text("-g", "-fsanitize=address,undefined", source, "-o", program)
    if "sanitize" in done.stderr or "asan" in done.stderr:
        done = _compile_text(source, "-o", program)
    assert done.returncode == 0, done.stderr
    done = subprocess.run([program], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) > 100, "each allocation was to fail in turn"
