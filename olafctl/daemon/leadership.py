"""The right of one of several controllers to change a deployment: the leader, one at a time."""

import time
from typing import Protocol

from olafswitch.errors import OlafError, Problem


class NotLeader(OlafError):
    """This controller does not lead (any more); nothing was changed."""

    def __init__(self, leader: str, trouble: str = "") -> None:
        what, remedy = "no controller leads at present", "try again in a moment"
        if leader:
            what, remedy = "this controller follows", f"ask the leader at {leader}"
        elif trouble:
            what, remedy = f"it is not known who leads: {trouble}", "see the daemon's log"
        super().__init__(Problem(f"nothing was changed: {what}", remedy=remedy))
        self.leader = leader
        """The API address of the leader; empty when it is not known."""
        self.trouble = trouble
        """The reason why the leader is not known."""


class Leadership(Protocol):
    """The right of this controller to lead. Any thread may ask."""

    @property
    def term(self) -> int:
        """The controller's term: 0 while it follows, else a number that is higher for each later leader."""

    @property
    def leader(self) -> str:
        """The API address of the leader; empty when it is not known."""

    @property
    def trouble(self) -> str:
        """The reason why the leader is not known; empty when it is."""

    @property
    def election_id(self) -> int:
        """The election id for P4Runtime: the later leader's is higher."""

    @property
    def takes_over(self) -> bool:
        """Whether to become primary although a controller with a higher election id is."""

    @property
    def patience(self) -> float:
        """The seconds after which to ask for the term again."""

    def check(self) -> None:
        """Raise NotLeader when this controller must not write. Called before every write."""

    def close(self) -> None:
        """Stop leading; another controller may lead at once."""


class Alone:
    """The leadership of a controller that has no others: it always leads."""

    term = 1
    leader = ""
    trouble = ""
    patience = float("inf")

    def __init__(self, *, takes_over: bool = True) -> None:
        self.takes_over = takes_over

    @property
    def election_id(self) -> int:
        """The time as election id: a newer olafctl's is higher."""
        return time.time_ns()

    def check(self) -> None:
        """Do nothing: this controller always leads."""

    def close(self) -> None:
        """Do nothing: there is no other controller."""
