"""Native functions are called with the types that their declarations give them."""

import ctypes
import random
import subprocess
from pathlib import Path

import pytest

from olafswitch.errors import MissingTool
from olafswitch.native_library import load_library
from olafswitch.toolchain import cxx

INTEGERS = {
    "bool": (0, 1), "int": (-(1 << 31), (1 << 31) - 1), "unsigned": (0, (1 << 32) - 1),
    "size_t": (0, (1 << 64) - 1), **{f"uint{bits}_t": (0, (1 << bits) - 1) for bits in (8, 16, 32, 64)},
    **{f"int{bits}_t": (-(1 << bits - 1), (1 << bits - 1) - 1) for bits in (8, 16, 32, 64)},
}  # fmt: skip
"""C types, and the smallest and the largest value of each."""


def test_random_arguments_and_results_arrive_whole(tmp_path: Path) -> None:
    """Python's arguments are compared with what C++ prints, and C++'s results with what was passed."""
    try:
        compiler = cxx()
    except MissingTool as missing:
        pytest.skip(str(missing))
    chance, calls = random.Random(5), []
    lines = ["#include <cstdint>", "#include <cstdio>", "#include <string>", 'extern "C" {']
    for number in range(40):
        kinds = [chance.choice([*INTEGERS, "double", "const char *"]) for _ in range(chance.randrange(1, 9))]
        values = [_draw_value(kind, chance) for kind in kinds]
        names = ", ".join(f"{kind} a{place}" for place, kind in enumerate(kinds))
        shown = " + ' ' + ".join(
            f"std::string(a{place})" if "*" in kind else f"std::to_string(a{place})"
            for place, kind in enumerate(kinds)
        )
        head = f"f{number}({names}, char *text)" if number % 2 else f"f{number}(\n    {names}, char *text)"
        space = "" if "*" in kinds[0] else " "
        lines.append(
            f'{kinds[0]}{space}{head} {{  // (comment);\n    std::sprintf(text, "%s", ({shown}).c_str());'
        )
        lines.append("    return a0;\n}")
        calls.append((f"f{number}", kinds, values))
    source = tmp_path / "functions.cpp"
    source.write_text("\n".join([*lines, "}", ""]))
    library = tmp_path / "functions.so"
    subprocess.run([*compiler.command, "-shared", "-fPIC", str(source), "-o", str(library)], check=True)
    loaded = load_library(library, [source])
    for name, kinds, values in calls:
        buffer = ctypes.create_string_buffer(1000)
        returned = getattr(loaded, name)(*values, buffer)
        expected = [
            value.decode() if isinstance(value, bytes) else f"{value:.6f}" if isinstance(value, float)
            else str(int(value)) for value in values
        ]  # fmt: skip
        assert (returned, buffer.value.decode()) == (values[0], " ".join(expected)), (name, kinds)


def _draw_value(kind: str, chance: random.Random) -> int | float | bytes:
    if "*" in kind:
        return bytes(chance.choice(b"abcxyz") for _ in range(chance.randrange(12)))
    if kind == "double":
        return chance.randrange(-1000, 1000) / 8
    least, most = INTEGERS[kind]
    return chance.choice((least, most, chance.randint(least, most)))
