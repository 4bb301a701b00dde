"""Compile a P4 block for the twin to the files that a P4Runtime client pushes."""

from pathlib import Path

from google.protobuf import text_format

P4INFO = "p4info.txtpb"
CONFIG = "program.p4"


def compile_block(source: Path, folder: Path) -> None:
    """Compile ``source``; its P4Info and device_config go into ``folder``. Raises OlafError."""
    from olafswitch.p4.compiler import compile_text
    from olafswitch.p4.syntax.preprocess import preprocess_file

    text = preprocess_file(source).replace(f"{source.parent}/", "")  # this is the same in every cache
    program = compile_text(text, file=source.name)
    folder.mkdir()
    (folder / P4INFO).write_text(text_format.MessageToString(program.p4info))
    (folder / CONFIG).write_bytes(program.device_config)
