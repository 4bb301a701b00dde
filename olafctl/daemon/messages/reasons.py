"""Why a control message is refused, as its answer says it."""

from olafctl.membership.rules import NoRoom, WrongModel
from olafctl.verify.admission import ObjectiveBroken
from olafctl.wire.control import Reason
from olafswitch.errors import BadInput, OlafError, Problem


class Refused(BadInput):
    """A message that is answered with a reason."""

    def __init__(self, reason: Reason, what: str) -> None:
        super().__init__(Problem(what))
        self.reason = reason


def reason_of(error: OlafError) -> Reason:
    """Return the reason that an answer gives for an error."""
    match error:
        case Refused():
            return error.reason
        case NoRoom():
            return Reason.CLUSTER_FULL
        case WrongModel():
            return Reason.WRONG_MODEL_LENGTH
        case ObjectiveBroken():
            return Reason.OBJECTIVE_VIOLATED
    return Reason.FAILED
