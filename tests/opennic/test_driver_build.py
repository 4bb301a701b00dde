"""The driver's library: with the archive inside where that can be, else with AMD's library beside it."""

import ctypes
import os
import shutil
import subprocess
from pathlib import Path

import pytest

import olaflab.opennic
from olafctl.targets.opennic import plugin

NATIVE = Path(plugin.__file__).parent / "native"
HEADERS = Path(olaflab.opennic.__file__).parent / "driver"
DRIVER = "int table[4];\nint *olaf_test_table(void) { return table; }\n"
CONFIG = """
#include "vitisnetp4_target.h"
int *olaf_test_table(void);
XilVitisNetP4TargetConfig XilVitisNetP4TargetConfig_vnp4_1;
int *olaf_test_uses(void) { return olaf_test_table(); }
"""

pytestmark = pytest.mark.skipif(
    shutil.which("gcc") is None or os.uname().machine != "x86_64", reason="needs gcc on x86-64"
)


def installed(at: Path, archive: str | None, shared: bool) -> Path:
    """A driver as its Makefile installs it; ``archive`` is how its objects were compiled."""
    source = at / "driver.c"
    (at / "installed" / "lib").mkdir(parents=True)
    shutil.copytree(HEADERS, at / "installed" / "include", ignore=shutil.ignore_patterns("*.cpp"))
    source.write_text(DRIVER)
    library = at / "installed" / "lib" / "libvitisnetp4drv"
    if archive:
        subprocess.run(["gcc", archive, "-c", source, "-o", at / "driver.o"], check=True)
        subprocess.run(["ar", "rc", f"{library}.a", at / "driver.o"], check=True)
    if shared:
        subprocess.run(["gcc", "-fPIC", "-shared", source, "-o", f"{library}.so"], check=True)
    (at / "generated").mkdir()
    (at / "generated" / "vnp4_1_defs.c").write_text(CONFIG)
    return at / "installed"


def build(at: Path, driver: Path) -> subprocess.CompletedProcess[str]:
    folders = [str(at / "generated"), str(driver), str(at / "drivers")]
    command = ["sh", str(NATIVE / "build.sh"), "vnp4_1", *folders]
    return subprocess.run(command, capture_output=True, text=True)


@pytest.mark.parametrize(
    "archive, shared, beside",
    [("-fPIC", True, False), ("-fno-pic", True, True), (None, True, True), ("-fPIC", False, False)],
)
def test_the_library_loads(tmp_path: Path, archive: str | None, shared: bool, beside: bool) -> None:
    done = build(tmp_path, installed(tmp_path, archive, shared))
    assert done.returncode == 0, done.stderr
    files = {path.name for path in (tmp_path / "drivers").iterdir()}
    assert files == {"vnp4_1.so"} | ({"libvitisnetp4drv.so"} if beside else set())
    assert ("beside it" in done.stdout) == beside
    library = ctypes.CDLL(str(tmp_path / "drivers" / "vnp4_1.so"), mode=os.RTLD_LAZY)
    library.olaf_test_uses.restype = ctypes.c_void_p
    assert library.olaf_test_uses()


@pytest.mark.parametrize("archive", ["-fno-pic", None])
def test_without_a_library_that_fits_it_says_why(tmp_path: Path, archive: str | None) -> None:
    done = build(tmp_path, installed(tmp_path, archive, shared=False))
    assert done.returncode == 1
    assert ("PIC" if archive else "holds no libvitisnetp4drv") in done.stderr
