"""Trees of many small classes: each class that inherits from Frozen is a frozen dataclass."""

from collections.abc import Iterator
from dataclasses import dataclass, field, fields
from typing import Any, dataclass_transform


@dataclass_transform(frozen_default=True, field_specifiers=(field,))
class Frozen:
    """A node; its fields are those of a dataclass, and it never changes."""

    def __init_subclass__(cls) -> None:
        dataclass(frozen=True)(cls)


def child_nodes(node: Any) -> Iterator[Frozen]:
    """Yield the nodes directly in a node, in the order of its fields."""
    for each in fields(node):
        yield from _nodes_in(getattr(node, each.name))


def walk_nodes(node: Frozen) -> Iterator[Frozen]:
    """Yield the node and all nodes in it, each before its own."""
    yield node
    for each in child_nodes(node):
        yield from walk_nodes(each)


def _nodes_in(value: Any) -> Iterator[Frozen]:
    if isinstance(value, Frozen):
        yield value
    elif isinstance(value, tuple):
        for item in value:
            yield from _nodes_in(item)
