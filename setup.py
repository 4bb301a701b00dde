"""Puts the sources that lie next to the package into the wheel; all else is in setup.cfg."""

import shutil
from pathlib import Path

from setuptools import setup
from setuptools.command.build_py import build_py

ROOT = Path(__file__).resolve().parent
SOURCES = ("docs/threats.md", "hdl", "p4src", "templates", "testbeds", "tests/__init__.py", "tests/packets")


class BuildWithSources(build_py):
    """Copies SOURCES to ``olafctl/sources``, where ``olafctl.paths.sources`` looks first."""

    def get_source_files(self) -> list[str]:
        """What a source distribution holds."""
        files = (
            path for name in SOURCES for path in [ROOT / name, *(ROOT / name).rglob("*")] if path.is_file()
        )
        return super().get_source_files() + [
            str(path.relative_to(ROOT)) for path in files if "__pycache__" not in path.parts
        ]

    def run(self) -> None:
        super().run()
        if self.editable_mode:
            return
        into = Path(self.build_lib) / "olafctl" / "sources"
        shutil.rmtree(into, ignore_errors=True)
        for name in SOURCES:
            source, target = ROOT / name, into / name
            target.parent.mkdir(parents=True, exist_ok=True)
            if source.is_dir():
                shutil.copytree(source, target, ignore=shutil.ignore_patterns("__pycache__"))
            else:
                shutil.copy2(source, target)


setup(cmdclass={"build_py": BuildWithSources})
