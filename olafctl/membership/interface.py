"""The interface of a store of membership, for every database."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from olafswitch.errors import OlafError

Row = dict[str, Any]
HERE = "here"
"""The place of a store in the deployment's own folder."""


Rows = Mapping[str, Row | None]
"""A change: new rows by key; None removes."""


@dataclass(frozen=True)
class Event:
    """One row's change in the history."""

    revision: int
    key: str
    row: Row | None
    """None when the row was removed."""


class Compacted(OlafError):
    """The history does not reach back to the requested revision."""


class MembershipStore(Protocol):
    """Rows by key, changed in steps that are durable when the call returns; every call raises OlafError."""

    @property
    def place(self) -> str:
        """The store's place: :data:`HERE`, or the name of an etcd."""

    def rows(self) -> tuple[int, dict[str, Row]]:
        """Return the revision and every row."""

    def intent(self) -> Rows | None:
        """Return the change that was begun and neither finished nor abandoned."""

    def begin(self, intent: Rows) -> None:
        """Write a change down before it reaches the devices, in place of an earlier intent."""

    def finish(self, change: Rows) -> int:
        """Change the rows and remove the intent as one step; return the new revision."""

    def abandon(self) -> None:
        """Remove the intent: its change is not made."""

    def history(self, since: int, limit: int = 1000) -> list[Event]:
        """Return changes after revision ``since``, in order; whole revisions, at least one if there is any.

        Raises Compacted when ``since`` is older than the history.
        """

    def check(self) -> None:
        """Raise OlafError when the stored data is damaged, also where it has not been read since."""

    def close(self) -> None:
        """Release the store's resources."""
