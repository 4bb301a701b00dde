"""Builds the Verilated OlafQueue: a shared library behind ``native/queue_model.h`` for each parameter set."""

import shutil
import subprocess
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

from olafctl import paths
from olafctl.queue import verilog
from olafctl.wire.geometry import Geometry
from olafswitch import cache
from olafswitch.toolchain import Compiler, cxx, run, unit, verilator_root

Progress = Callable[[str], None]

_NATIVE = Path(__file__).parent / "native"
_TUSER = Path(__file__).parent.parent / "wire" / "native" / "tuser.h"
_VERILATE = ("-O3", "--x-assign", "fast", "--x-initial", "fast", "--prefix", "Volaf", "--quiet", "-Wno-fatal")
_COMPILE = (
    "-std=c++17",
    "-fPIC",
    "-fvisibility=hidden",
    "-Wall",
    "-Wextra",
    "-DVL_USER_STOP",
    "-DVL_USER_FATAL",
    "-DVL_USER_FINISH",
)
_STOPS = ("verilated_stops.cpp", "verilated_stops.h")
_FAST = "-O2"
_SELDOM_RUN = "-O0"


@dataclass(frozen=True)
class _Design:
    """What goes into one shared library."""

    top: str
    title: str
    hdl: Path = field(repr=False)
    """The folder of ``top`` and its modules."""
    parameters: dict[str, int]
    native: tuple[str, ...]
    """Files of ``native/``; the .cpp ones are compiled."""
    defines: dict[str, int] = field(default_factory=dict)


def build_queue(geometry: Geometry, progress: Progress = lambda step: None) -> Path:
    """The shared library for ``geometry``, from the cache or built now (half a minute).

    ``progress`` gets each step.
    Raises MissingTool without Verilator or a C++ compiler, OlafError when the rendered instance does not
    fit the modules or the build fails.
    """
    return build_variant(geometry, verilog.folder(geometry), (), str(geometry), progress)


def build_variant(
    geometry: Geometry, hdl: Path, native: tuple[str, ...], title: str, progress: Progress
) -> Path:
    """As ``build_queue``, from the Verilog in ``hdl`` and with further files of ``native/`` compiled in.

    Raises as ``build_queue`` does.
    """
    return _build(
        _Design(
            Path(verilog.INSTANCE).stem,
            f"OlafQueue of {title}",
            hdl,
            {},
            ("queue_model.cpp", "queue_model.h", "queue_probe.h", "queue_time.h", *native, *_STOPS),
            {"OLAF_INDICES": geometry.indices},
        ),
        progress,
    )


def build_adder(latency: int, progress: Progress = lambda step: None) -> Path:
    """A shared library of one binary32 adder: ``olaf_add(left, right, sums, count, copy)``."""
    return _build(
        _Design(
            "olaf_fp32_add",
            f"a binary32 adder of {latency} cycles",
            paths.sources() / "hdl",
            {"LATENCY": latency},
            ("adder_model.cpp", *_STOPS),
            {"OLAF_ADDER_LATENCY": latency},
        ),
        progress,
    )


def verilog_sources() -> list[Path]:
    """The modules of OlafQueue and what they include, in a stable order."""
    return sorted((paths.sources() / "hdl").glob("olaf_*.v*"))


def _build(design: _Design, progress: Progress) -> Path:
    root = verilator_root()
    compiler = cxx()
    key = cache.digest(
        [
            repr((design, _VERILATE, _COMPILE, _FAST, _SELDOM_RUN)),
            str(compiler),
            _output(str(root / "bin" / "verilator_bin"), "--version"),
            *sorted(design.hdl.glob("*.v*")),
            *(_NATIVE / name for name in design.native),
            _TUSER,
        ]
    )
    library = f"{design.top}.so"

    def build(work: Path) -> None:
        progress(f"verilating {design.title}")
        _verilate(root, design, work)
        progress(f"compiling {design.title}")
        _compile(compiler, root, design, work, library)

    folder, _ = cache.build_once("queue", key, build)
    return folder / library


def _verilate(root: Path, design: _Design, work: Path) -> None:
    run(
        [
            str(root / "bin" / "verilator_bin"),
            "--cc",
            *_VERILATE,
            *(f"-G{name}={value}" for name, value in design.parameters.items()),
            "--top-module",
            design.top,
            f"-I{design.hdl}",
            "--Mdir",
            str(work / "verilated"),
            str(design.hdl / f"{design.top}.v"),
        ],
        environment={"VERILATOR_ROOT": str(root)},
    )


def _compile(compiler: Compiler, root: Path, design: _Design, work: Path, library: str) -> None:
    verilated = work / "verilated"
    native = [_NATIVE / name for name in design.native if name.endswith(".cpp")]
    flags = [
        *_flags(root),
        *(f"-D{name}={value}" for name, value in design.defines.items()),
        *(f"-I{folder}" for folder in (_NATIVE, verilated)),
    ]
    made = sorted(verilated.glob("*.cpp"))
    seldom_run = [source for source in made if "Slow" in source.stem]
    often_run = [source for source in made if source not in seldom_run]
    objects = _objects(compiler, flags, {_FAST: [*often_run, *native], _SELDOM_RUN: seldom_run}, work)
    runtime = sorted(_runtime(compiler, root).glob("*.o"))
    run(
        [*compiler.command, "-shared", "-pthread", "-o", str(work / library), *map(str, [*objects, *runtime])]
    )
    shutil.rmtree(verilated)
    for each in objects:
        each.unlink()


def _runtime(compiler: Compiler, root: Path) -> Path:
    """The folder of Verilator's own run-time objects, the same for every design."""
    sources = [root / "include" / f"{name}.cpp" for name in ("verilated", "verilated_threads")]
    key = cache.digest([repr((_COMPILE, _FAST)), str(compiler), *sources])

    def build(work: Path) -> None:
        _objects(compiler, _flags(root), {_FAST: sources}, work)

    folder, _ = cache.build_once("verilated", key, build)
    return folder


def _flags(root: Path) -> list[str]:
    return [*_COMPILE, *(f"-isystem{folder}" for folder in (root / "include", root / "include" / "vltstd"))]


def _objects(
    compiler: Compiler, flags: list[str], sources: Mapping[str, list[Path]], work: Path
) -> list[Path]:
    """Compile the sources of each level of optimisation into one object in ``work``, two at a time."""

    def compile_one(level: str) -> Path:
        source = unit(work / f"unit{level}.cpp", sources[level])
        made = source.with_suffix(".o")
        run([*compiler.command, *flags, level, "-c", str(source), "-o", str(made)])
        source.unlink()
        return made

    with ThreadPoolExecutor(max_workers=2) as workers:
        return list(workers.map(compile_one, sources))


def _output(*command: str) -> str:
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout
