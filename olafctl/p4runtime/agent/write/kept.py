"""Entities of which a device keeps one for each id: how an update changes them, and how it is undone."""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, TypeVar

from olafctl.p4runtime.agent.state.forwarding import Forwarding
from olafctl.p4runtime.agent.state.refusal import Code, Refusal, not_found
from olafctl.p4runtime.agent.state.tables import Undo
from olafctl.p4runtime.protocol import p4runtime_pb2

INSERT, MODIFY, DELETE = (
    p4runtime_pb2.Update.INSERT,
    p4runtime_pb2.Update.MODIFY,
    p4runtime_pb2.Update.DELETE,
)
Apply = Callable[[Forwarding, Any], Undo]
_T = TypeVar("_T")


def become(put: Callable[[_T], None], before: _T, wanted: _T) -> Undo:
    """Put what is wanted where ``before`` is."""
    put(wanted)
    return lambda: put(before)


def keep(
    kept: dict[Any, _T], id: Any, wanted: _T | None, change: Callable[[_T | None, _T | None], None]
) -> Undo:
    """Keep what is ``wanted`` under an id (None: nothing), after ``change(old, new)`` has told the device."""

    def put(new: _T | None) -> None:
        change(kept.get(id), new)
        if new is None:
            kept.pop(id, None)
        else:
            kept[id] = new

    return become(put, kept.get(id), wanted)


def by_id(
    kept_in: Callable[[Forwarding], dict[int, _T]],
    id_of: Callable[[Forwarding, Any], int],
    made_of: Callable[[Forwarding, Any], _T],
    refusals: Callable[[Forwarding, int], tuple[str, str]],
    change: Callable[[Forwarding, int, _T | None], None] = lambda *_: None,
) -> Mapping[int, Apply]:
    """The three updates of such entities.

    ``id_of`` and ``made_of`` read a message and raise Refusal; ``refusals`` says that an entity is there
    already, and that it is not; ``change`` tells the device.
    """

    def apply(type: int, forwarding: Forwarding, message: Any) -> Undo:
        id, kept = id_of(forwarding, message), kept_in(forwarding)
        there, missing = refusals(forwarding, id)
        if type == INSERT and id in kept:
            raise Refusal(Code.ALREADY_EXISTS, there)
        if type != INSERT and id not in kept:
            raise not_found(missing)
        wanted = None if type == DELETE else made_of(forwarding, message)
        return keep(kept, id, wanted, lambda _, new: change(forwarding, id, new))

    return {type: partial(apply, type) for type in (INSERT, MODIFY, DELETE)}
