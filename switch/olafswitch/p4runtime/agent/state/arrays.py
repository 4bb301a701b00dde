"""How requests name the elements of counters, meters and registers."""

from collections.abc import Mapping
from typing import Any

from olafswitch.p4runtime.agent.state.refusal import Code, Refusal, invalid
from olafswitch.p4runtime.program import Array


def indexed(arrays: Mapping[int, Array], id: int, message: Any, what: str) -> tuple[Array, range]:
    """The array with an id, and the indices that a message's ``index`` means: one, or without it all."""
    if id not in arrays:
        raise invalid(f"the program has no {what} {id:#x}")
    array = arrays[id]
    if not message.HasField("index"):
        return array, range(array.size)
    index = message.index.index
    if index < 0:
        raise invalid(f"{what} {array.name}: the index {index} is negative")
    if index >= array.size:
        raise Refusal(
            Code.OUT_OF_RANGE, f"{what} {array.name}: index {index} is beyond its size {array.size}"
        )
    return array, range(index, index + 1)
