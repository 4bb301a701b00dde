"""Translate a preprocessed program to C++, without a C++ compiler."""

from dataclasses import dataclass
from typing import Any

from olafswitch.errors import BadInput, OlafError, Problem
from olafswitch.p4.check.program import check_program
from olafswitch.p4.description import describe_program
from olafswitch.p4.emit.places import Places
from olafswitch.p4.emit.program import Emitter
from olafswitch.p4.p4info.describe import Describer
from olafswitch.p4.syntax.parse import parse_program
from olafswitch.p4runtime.protocol import p4info_pb2


@dataclass(frozen=True)
class Translation:
    """The results of a program; ``description`` is as in :class:`olafswitch.p4.compiler.Program`."""

    cpp: str
    p4info: p4info_pb2.P4Info
    description: dict[str, Any]


def translate_program(text: str, file: str) -> Translation:
    """Return C++, P4Info and description of a preprocessed program.

    Raises as :func:`olafswitch.p4.compiler.compile_text` does.
    """
    try:
        program = check_program(parse_program(text), file)
        places = Places(program)
        emitter = Emitter(program, places)
        cpp = emitter.write()
        describer = Describer(program, places, emitter.externs.digests)
        return Translation(cpp, describer.describe(), describe_program(describer))
    except OlafError:
        raise
    except RecursionError:
        raise BadInput(Problem("the program is nested too deeply", remedy="reduce the nesting")) from None
    except Exception as error:
        what = f"the P4 compiler failed: {type(error).__name__}: {error}"
        raise OlafError(Problem(what, remedy="this is a defect of Olaf's P4 compiler")) from error
