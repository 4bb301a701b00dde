"""``$CXX`` compiles all native code, whatever words it has, and a clear error names its absence."""

import importlib
from collections.abc import Callable
from pathlib import Path

import pytest

from olafctl.queue.verilate import build_queue
from olafctl.targets.engine.compile import pipeline_library
from olafctl.targets.twin.target import TARGET
from olafctl.wire.geometry import Geometry
from olafswitch.errors import MissingTool, importing
from olafswitch.p4.compiler import compile_program, compile_text
from olafswitch.toolchain import cxx

PROGRAM = Path(__file__).parent / "p4" / "programs" / "traffic.p4"
DOORS = (lambda: build_queue(Geometry()), pipeline_library, lambda: compile_text(""))


@pytest.mark.parametrize("door", DOORS)
@pytest.mark.parametrize("given", ["no-such-compiler -O1", "env no-such-compiler", "false", '"g++'])
def test_a_compiler_that_does_not_run_is_missing(
    door: Callable[[], object], given: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CXX", given)
    with pytest.raises(
        MissingTool, match="a C\\+\\+ compiler: install the package g\\+\\+ or set CXX"
    ) as missing:
        door()
    assert missing.value.problems[0].where == f"CXX={given}"
    assert len(TARGET.missing()) == 1


@pytest.mark.parametrize("given", ["", " ", "g++", "env g++ -DUNUSED='a b'"])
def test_a_compiler_may_be_several_words(given: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CXX", given)
    assert "Free Software Foundation" in cxx().version
    assert TARGET.missing() == []


def test_a_missing_package_is_reported_with_its_user_and_remedy() -> None:
    text = r"^the bench needs the Python package no_such_package \(pip install \./sdk in a checkout\)$"
    with pytest.raises(MissingTool, match=text), importing("the bench"):
        importlib.import_module("no_such_package")


_STAND_IN = """\
#!/bin/sh
# Says who it is and makes the file that -o names: what is compiled is not looked at here.
for word; do
    case $before in -o) : > "$word" ;; esac
    case $word in --version) echo "stand-in of $OLAF_CACHE" ;; -DGIVEN) given=yes ;; esac
    before=$word
done
test "$given"
"""


@pytest.mark.parametrize("door", [*DOORS[:2], lambda: compile_program(PROGRAM)])
def test_everything_is_compiled_with_all_the_words(
    door: Callable[[], object], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stand_in = tmp_path / "a compiler"
    stand_in.write_text(_STAND_IN)
    stand_in.chmod(0o755)
    monkeypatch.setenv("OLAF_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("CXX", f"env '{stand_in}' -DGIVEN")
    door()
    assert list(tmp_path.rglob("*.so"))
