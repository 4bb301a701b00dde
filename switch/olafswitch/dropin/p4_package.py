"""The Python package ``p4`` that BMv2's controllers import, in a folder for PYTHONPATH.

PyPI's p4runtime was written by an old compiler whose modules protobuf refuses from 4 on, and it has no
``p4.tmp``. The modules written here run with every protobuf from 3.20 on.
"""

from importlib import import_module
from pathlib import Path

_PACKAGE = """{note} the p4 package: this folder's part of it, and what is installed.
import pkgutil

__path__ = pkgutil.extend_path(__path__, __name__)
"""
_MODULE = """{note} {name}.
{imports}
from google.protobuf import descriptor_pool
from google.protobuf.internal import builder

DESCRIPTOR = descriptor_pool.Default().AddSerializedFile({descriptor!r})
builder.BuildMessageAndEnumDescriptors(DESCRIPTOR, globals())
builder.BuildTopDescriptorsAndMessages(DESCRIPTOR, __name__, globals())
"""
_NAMES = ("p4/config/v1/p4types", "p4/config/v1/p4info", "p4/v1/p4data", "p4/v1/p4runtime", "p4/tmp/p4config")


def write_package(folder: Path, note: str) -> None:
    """Write the package as ``folder/p4``, over files that exist. Raises OSError."""
    from google.protobuf import descriptor_pool

    for module in ("olafswitch.p4runtime.protocol", "olafswitch.p4.p4config"):
        import_module(module)  # this puts the module's files into the pool
    pool = descriptor_pool.Default()
    for name in _NAMES:
        file = pool.FindFileByName(f"{name}.proto")
        needed = [_module_name(each.name.removesuffix(".proto")) for each in file.dependencies]
        imports = "\n".join(f"import {each}" for each in needed)
        path = folder / f"{name}_pb2.py"
        path.parent.mkdir(parents=True, exist_ok=True)
        text = _MODULE.format(
            note=note, name=_module_name(name), imports=imports, descriptor=file.serialized_pb
        )
        path.write_text(text)
        for package in path.relative_to(folder).parents[:-1]:
            (folder / package / "__init__.py").write_text(_PACKAGE.format(note=note))


def _module_name(name: str) -> str:
    return f"{name.replace('/', '.')}_pb2"
