"""The end of a front port on its machine: an interface, or files."""

import re

from olafctl.testbed import limits
from olafctl.testbed.model import Port

_INTERFACE = re.compile(rf"[A-Za-z0-9_][A-Za-z0-9._-]{{0,{limits.INTERFACE_NAME - 1}}}")
_RESERVED = frozenset({"lo", "all", "default"})
"""Names that are taken in every namespace, or by the kernel's own settings."""


def interface_of(port: Port) -> str:
    """Return the host's interface of a port that is a veth or a TAP, or the network card: its path, its name,
    or one made from its number."""
    if port.path is not None:
        return port.path
    return port.name if is_interface(port.name) else f"port{port.number}"


def pcap_files(path: str) -> tuple[str, str]:
    """Return the files of a pcap port, for its input and its output."""
    into, comma, out = path.partition(",")
    return (into, out) if comma else (f"{path}.in.pcap", f"{path}.out.pcap")


def is_interface(name: str) -> bool:
    return _INTERFACE.fullmatch(name) is not None and name not in _RESERVED
