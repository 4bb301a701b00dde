"""A P4 block compiled for the twin."""

from pathlib import Path


def compile_block(source: Path, folder: Path) -> None:
    """Compile ``source`` into ``folder``. Raises OlafError."""
    from olafctl.p4.compile import compile_program

    compile_program(source, folder)
