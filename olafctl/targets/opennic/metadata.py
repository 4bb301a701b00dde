"""The user metadata of VNP4₁ and VNP4₂ in VitisNetP4's layout: the first declared field in the top bits.

``struct metadata_t`` of ``p4src/metadata.p4`` is the one definition, from which come the Verilog that packs
and unpacks it, and the build's assertions about the generated IPs.
"""

import re
from dataclasses import dataclass
from pathlib import Path

from olafctl import paths
from olafswitch.errors import OlafError, Problem

STRUCT = "metadata_t"
_STRUCT = re.compile(rf"struct\s+{STRUCT}\s*\{{(?P<body>[^}}]*)\}}")
_COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)
_FIELD = re.compile(r"^bit<(?P<bits>\d+)>\s+(?P<name>\w+)$")


@dataclass(frozen=True)
class MetaField:
    """One field: its width and the place of its lowest bit."""

    name: str
    bits: int
    low: int


def list_fields(source: Path | None = None) -> tuple[MetaField, ...]:
    """Return every field in declared order.

    Raises OlafError when the struct is missing or has a member that is not a ``bit<N>``.
    """
    source = source or paths.sources() / "p4src" / "metadata.p4"
    found = _STRUCT.search(_COMMENT.sub("", source.read_text()))
    if found is None:
        raise OlafError(Problem(f"struct {STRUCT} does not exist", str(source)))
    members = [" ".join(member.split()) for member in found["body"].split(";") if member.strip()]
    sizes = []
    for member in members:
        field = _FIELD.match(member)
        if field is None:
            raise OlafError(
                Problem(f"cannot be user metadata: {member}", str(source), "use bit<N> with a number")
            )
        sizes.append((field["name"], int(field["bits"])))
    low = sum(bits for _, bits in sizes)
    made = []
    for name, bits in sizes:
        low -= bits
        made.append(MetaField(name, bits, low))
    return tuple(made)


def bus_width(all_fields: tuple[MetaField, ...]) -> int:
    """Count the bits of the whole bus."""
    return sum(field.bits for field in all_fields)
