"""The architectures that programs are written for: what each adds to P4_16, and its package's blocks."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from olafswitch.p4.syntax import tree

_TABLE = frozenset(["key", "actions", "default_action", "entries", "size"])


@dataclass(frozen=True)
class Architecture:
    """One architecture; its declarations are in ``include/NAME.p4``."""

    name: str
    """The name that P4Info writes."""
    package: str
    parts: tuple[str, ...]
    """Names for the package's blocks, in the order of its parameters."""
    externs: frozenset[str]
    """The extern objects that a program may instantiate."""
    table_properties: frozenset[str]


V1MODEL = Architecture(
    "v1model",
    "V1Switch",
    ("parser", "verify", "ingress", "egress", "compute", "deparser"),
    frozenset([
        "counter", "direct_counter", "meter", "direct_meter", "register", "action_profile", "action_selector",
        "Checksum16",
    ]),
    _TABLE | frozenset([
        "implementation", "counters", "meters", "support_timeout", "largest_priority_wins", "priority_delta",
    ]),
)  # fmt: skip
XSA = Architecture(
    "xsa",
    "XilinxPipeline",
    ("parser", "match_action", "deparser"),
    frozenset(["UserExtern", "Counter", "Checksum", "direct_counter"]),
    _TABLE | {"direct_match", "num_masks", "counters"},
)
ARCHITECTURES: Mapping[str, Architecture] = {each.package: each for each in (V1MODEL, XSA)}
"""Architectures by the name of their package."""


def package_name(main: tree.Instance) -> str:
    """Return the package that ``main`` instantiates; empty where its type has no name."""
    base = main.type.base if isinstance(main.type, tree.Specialized) else main.type
    return base.name if isinstance(base, tree.NamedType) else ""


def architecture_of(declarations: Sequence[tree.Declared]) -> Architecture:
    """Return the architecture that a program's ``main`` names, else v1model."""
    for node in declarations:
        if isinstance(node, tree.Instance) and node.name == "main":
            return ARCHITECTURES.get(package_name(node), V1MODEL)
    return V1MODEL
