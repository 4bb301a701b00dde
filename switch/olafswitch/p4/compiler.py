"""Compile a P4_16 program for v1model or XSA to a shared library (:file:`native/switch_abi.h`).

preprocess → parse → check → emit C++ → ``$CXX``. Results are cached by content, so that nothing is compiled
twice. The ``device_config`` that a P4Runtime client pushes is the preprocessed program itself: text, never
native code. A process that only runs compiled programs loads nothing of the front end.
"""

import json
import subprocess
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from google.protobuf import text_format

from olafswitch.cache import build_once, digest
from olafswitch.errors import OlafError, Problem
from olafswitch.p4runtime.protocol import p4info_pb2
from olafswitch.toolchain import Compiler, cxx

_HOME = Path(__file__).parent
_NATIVE = _HOME / "native"
_FLAGS = ("-std=c++17", "-fPIC", "-fno-exceptions", "-fno-rtti", "-w")
TIME_LIMIT = 600
"""The limit for one run of the C++ compiler, in seconds."""
Progress = Callable[[str], None]


@dataclass(frozen=True)
class Program:
    """A compiled program."""

    p4info: p4info_pb2.P4Info
    device_config: bytes
    """The preprocessed source, which a P4Runtime client pushes."""
    library: Path
    cpp: Path
    description: dict[str, Any]
    """The places of ids and widths in the library (for :mod:`olafswitch.p4.switch.native`)."""
    fresh: bool
    """False when the program came from the cache."""

    @property
    def architecture(self) -> str:
        """``v1model`` or ``xsa``."""
        return str(self.description["architecture"])


def _quiet(_: str) -> None:
    pass


def compile_program(
    source: Path, include: Sequence[Path] = (), defines: Mapping[str, str] | None = None,
    progress: Progress = _quiet, optimize: str = "-O2",
) -> Program:  # fmt: skip
    """Compile the program in ``source``.

    Raises Refused (a BadInput) where it is wrong or not supported, MissingTool without a C++ compiler.
    """
    from olafswitch.p4.syntax.preprocess import preprocess_file

    progress("preprocessing")
    return compile_text(preprocess_file(source, include, defines), progress, optimize, str(source))


def p4info_of(text: str, file: str) -> p4info_pb2.P4Info:
    """Return the P4Info of a preprocessed program, without compiling it.

    Raises Refused where it is wrong or not supported.
    """
    from olafswitch.p4.translation import translate_program

    return translate_program(text, file).p4info


def as_text(info: p4info_pb2.P4Info) -> str:
    """Return the P4Info in protobuf's text format, after the two lines with which p4c begins it."""
    head = "# proto-file: p4/config/v1/p4info.proto\n# proto-message: p4.config.v1.P4Info\n\n"
    body: str = text_format.MessageToString(info)
    return head + body


def compile_text(
    text: str, progress: Progress = _quiet, optimize: str = "-O2", file: str = "device_config"
) -> Program:
    """Compile a preprocessed program as :func:`compile_program` does; ``file`` is its author's name."""
    compiler = cxx()
    key = digest([text, own_digest(), str(compiler), optimize])
    folder, fresh = build_once(
        "p4", key, lambda work: _build_library(work, text, file, compiler, optimize, progress)
    )
    info = text_format.Parse((folder / "p4info.txtpb").read_text(), p4info_pb2.P4Info())
    return Program(
        info, text.encode(), folder / "program.so", folder / "program.cpp",
        json.loads((folder / "description.json").read_text()), fresh,
    )  # fmt: skip


def _build_library(
    work: Path, text: str, file: str, compiler: Compiler, optimize: str, progress: Progress
) -> None:
    from olafswitch.p4.translation import translate_program

    progress("checking")
    made = translate_program(text, file)
    (work / "p4info.txtpb").write_text(as_text(made.p4info))
    (work / "description.json").write_text(json.dumps(made.description))
    (work / "program.cpp").write_text(made.cpp)
    progress("compiling C++")
    runtime = _build_runtime(compiler)
    command = [
        *compiler.command, *_FLAGS, optimize, "-shared", f"-I{_NATIVE}", str(work / "program.cpp"),
        *map(str, sorted(runtime.glob("*.o"))), "-o", str(work / "program.so"),
    ]  # fmt: skip
    _run_compiler(command)


@cache
def own_digest() -> str:
    """Return a digest of the compiler's own sources, which changes whenever its output may."""
    files = sorted(path for path in _HOME.rglob("*") if path.suffix in (".py", ".lark", ".h", ".cpp"))
    return digest(files)


def _build_runtime(compiler: Compiler) -> Path:
    """Return the folder with the runtime's object files, the same for all programs."""
    sources = sorted(_NATIVE.glob("*.cpp"))
    key = digest([*sorted(_NATIVE.glob("*.h")), *sources, str(compiler)])

    def build(work: Path) -> None:
        command = [*compiler.command, *_FLAGS, "-O2", "-c"]
        with ThreadPoolExecutor() as pool:
            made = [
                pool.submit(_run_compiler, [*command, str(source), "-o", str(work / f"{source.stem}.o")])
                for source in sources
            ]
        for each in made:
            each.result()

    return build_once("p4-runtime", key, build)[0]


def _run_compiler(command: list[str]) -> None:
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=TIME_LIMIT)
    except subprocess.TimeoutExpired:
        raise OlafError(Problem(f"the C++ compiler took longer than {TIME_LIMIT} s")) from None
    if done.returncode != 0:
        first = next((line for line in done.stderr.splitlines() if "error" in line), done.stderr[-400:])
        raise OlafError(
            Problem(f"the C++ compiler failed: {first}", remedy="this is a defect of Olaf's P4 compiler")
        )
