"""Builds a Verilated module with ``native/bench.h`` around it: one shared library for each set of sources."""

import os
import re
import subprocess
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from olafctl import paths
from olafswitch import cache
from olafswitch.toolchain import Compiler, cxx, run, unit, verilator_root

_NATIVE = Path(__file__).parent / "native"
_PREFIX = "Vbench"
_LIBRARY = "bench.so"
_VERILATE = ("--cc", "-O3", "--x-assign", "unique", "--x-initial", "unique", "--quiet", "-Wno-fatal")
_COMPILE = ("-std=c++17", "-O1", "-fPIC", "-fvisibility-inlines-hidden", "-DVL_USER_STOP", "-DVL_USER_FINISH")
_PORT = re.compile(r"VL_(?:IN|OUT)\w*\(&(\w+),(\d+),0(?:,\d+)?\);")


def sources() -> list[Path]:
    """Every Verilog file of the box and of OlafQueue, in a stable order."""
    hdl = paths.sources() / "hdl"
    return sorted([*hdl.glob("*.v*"), *(hdl / "opennic").glob("*.v*")])


def build(
    top: str,
    parameters: Mapping[str, int] | None = None,
    more: Sequence[Path] = (),
    native: Sequence[Path] = (),
    defines: Sequence[str] = (),
    progress: Callable[[str], None] = lambda step: None,
    included: Sequence[Path] = (),
) -> Path:
    """The library of module ``top`` with ``parameters``, from the cache or built now.

    ``more`` are further Verilog files, such as stand-ins for IPs; ``included`` are what these include;
    ``native`` are further C++ files.
    Raises MissingTool without Verilator or a C++ compiler, OlafError when either fails.
    """
    root, compiler = verilator_root(), cxx()
    files = [*sources(), *more, *included]
    own = [_NATIVE / "bench.h", _NATIVE / "bench.cpp", _NATIVE / "stops.cpp", *native]
    key = cache.digest(
        [
            repr((top, sorted((parameters or {}).items()), list(defines), _VERILATE, _COMPILE)),
            str(compiler),
            root.joinpath("bin", "verilator_bin"),
            *(part for path in [*files, *own] for part in (path.name, path)),
        ]
    )

    def fill(work: Path) -> None:
        progress(f"verilating {top}")
        made = work / "verilated"
        _verilate(root, top, parameters or {}, more, included, defines, made)
        progress(f"compiling {top}")
        (made / "ports.h").write_text(_ports((made / f"{_PREFIX}.h").read_text()))
        units = {path.stem: [path] for path in own if path.suffix == ".cpp"}
        units["verilated"] = sorted(made.glob("*.cpp"))
        folders = dict.fromkeys((_NATIVE, made, *(path.parent for path in native)))
        objects = _objects(compiler, root, units, tuple(folders), work)
        runtime = sorted(_runtime(compiler, root).glob("*.o"))
        run(
            [
                *compiler.command,
                "-shared",
                "-pthread",
                "-o",
                str(work / _LIBRARY),
                *map(str, [*objects, *runtime]),
            ]
        )

    folder, _ = cache.build_once("box", key, fill)
    return folder / _LIBRARY


def lint(top: str, folders: Sequence[Path], files: Sequence[Path] = (), options: Sequence[str] = ()) -> str:
    """The output of ``verilator --lint-only -Wall`` for ``top``: empty when it is clean."""
    root = verilator_root()
    result = subprocess.run(
        [
            *(str(root / "bin" / "verilator_bin"), "--lint-only", "-Wall", "--quiet", *options),
            *(f"-I{folder}" for folder in folders),
            *("--top-module", top, *(map(str, files) if files else [f"{top}.v"])),
        ],
        env={**os.environ, "VERILATOR_ROOT": str(root)},
        capture_output=True,
        text=True,
    )
    message = result.stdout + result.stderr
    return message or ("" if result.returncode == 0 else f"Verilator failed with code {result.returncode}")


def _verilate(
    root: Path,
    top: str,
    parameters: Mapping[str, int],
    more: Sequence[Path],
    included: Sequence[Path],
    defines: Sequence[str],
    made: Path,
) -> None:
    hdl = paths.sources() / "hdl"
    run(
        [
            str(root / "bin" / "verilator_bin"),
            *_VERILATE,
            *("--prefix", _PREFIX, "--top-module", top, "--Mdir", str(made)),
            *(f"-G{name}={value}" for name, value in parameters.items()),
            *(f"+define+{name}" for name in defines),
            *(
                f"-I{folder}"
                for folder in (hdl / "opennic", hdl, *dict.fromkeys(path.parent for path in included))
            ),
            *map(str, more),
            *([] if any(path.stem == top for path in more) else [str(hdl / "opennic" / f"{top}.v")]),
        ],
        {"VERILATOR_ROOT": str(root)},
    )


def _ports(header: str) -> str:
    """The model's class and its ports, as a list that ``bench.cpp`` expands."""
    rows = " ".join(f"OLAF_BENCH_PORT({name}, {int(high) + 1})" for name, high in _PORT.findall(header))
    return f'#include "{_PREFIX}.h"\nusing Model = {_PREFIX};\n#define OLAF_BENCH_PORTS {rows}\n'


def _runtime(compiler: Compiler, root: Path) -> Path:
    """The folder of Verilator's own run-time objects, the same for every module."""
    files = [root / "include" / f"{name}.cpp" for name in ("verilated", "verilated_threads", "verilated_dpi")]
    key = cache.digest([repr(_COMPILE), str(compiler), *files])

    def fill(work: Path) -> None:
        _objects(compiler, root, {"runtime": files}, (), work)

    folder, _ = cache.build_once("box-runtime", key, fill)
    return folder


def _objects(
    compiler: Compiler, root: Path, units: Mapping[str, Sequence[Path]], folders: Sequence[Path], work: Path
) -> list[Path]:
    include = [f"-isystem{folder}" for folder in (root / "include", root / "include" / "vltstd")]

    def compile_one(name: str) -> Path:
        source = unit(work / f"{name}.cpp", units[name])
        made = source.with_suffix(".o")
        command = [*compiler.command, *_COMPILE, *include, *(f"-I{folder}" for folder in folders)]
        run([*command, "-c", str(source), "-o", str(made)])
        return made

    with ThreadPoolExecutor(max_workers=2) as workers:
        return list(workers.map(compile_one, units))
