"""Shared libraries whose functions have the types that their C declarations give them."""

import ctypes
import re
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import Any

_COMMENT = re.compile(r"//[^\n]*")
_FUNCTION = re.compile(r'^(?:extern "C" )?((?:const )?\w+[ *]+?)(\w+)\(([^()]*)\)\s*[;{]', re.MULTILINE)
_SCALARS: dict[str, Any] = {
    "void": None,
    "bool": ctypes.c_bool,
    "int": ctypes.c_int,
    "unsigned": ctypes.c_uint,
    "float": ctypes.c_float,
    "double": ctypes.c_double,
    "size_t": ctypes.c_size_t,
    **{
        f"{sign}int{bits}_t": getattr(ctypes, f"c_{sign}int{bits}")
        for sign in ("", "u")
        for bits in (8, 16, 32, 64)
    },
    **{f"u{bits}": getattr(ctypes, f"c_uint{bits}") for bits in (8, 16, 32, 64)},
}


def load_library(library: Path, sources: Iterable[Path]) -> ctypes.CDLL:
    """Load ``library``, with its functions typed as :func:`declare_functions` says. Raises OSError."""
    loaded = ctypes.CDLL(str(library))
    declare_functions(loaded, sources)
    return loaded


def declare_functions(loaded: ctypes.CDLL, sources: Iterable[Path]) -> None:
    """Give functions the types with which ``sources`` declare or define them, each at a line's beginning.

    Pointers are taken as bytes, arrays, addresses, functions or ``byref(...)``; one to characters that is
    returned is bytes. A function that takes or returns a struct stays as it is.
    """
    for source in sources:
        for result, name, parameters in _FUNCTION.findall(_COMMENT.sub("", source.read_text())):
            texts = [text.strip() for text in parameters.split(",")]
            with suppress(KeyError, AttributeError):  # a struct, or a function that is not exported
                arguments = [_type_of(text) for text in texts if text not in ("", "void")]
                returned = ctypes.c_char_p if "char *" in result else _type_of(result)
                function = getattr(loaded, name)
                function.argtypes, function.restype = arguments, returned


def _type_of(declared: str) -> Any:
    """Return the type of a parameter, with or without its name, or of a result. Raises KeyError."""
    words = [word for word in declared.replace("*", " * ").split() if word != "const"]
    return ctypes.c_void_p if "*" in words or words[0].endswith("_fn") else _SCALARS[words[0]]
