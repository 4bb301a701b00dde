"""P4Runtime failures as errors for people: the device, the entity, and the specification's code."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from google.rpc import code_pb2, status_pb2

from olafswitch.errors import OlafError, Problem
from olafswitch.p4runtime.protocol import p4runtime_pb2

_REMEDIES = {
    "UNAVAILABLE": "check that the switch runs and that the address is right",
    "DEADLINE_EXCEEDED": "the switch did not answer in time; see its log",
    "PERMISSION_DENIED": "another controller is primary, or the object is constant",
    "FAILED_PRECONDITION": "push a pipeline first",
}
_UPDATE_REMEDIES = {**_REMEDIES, "RESOURCE_EXHAUSTED": "raise the table's size in the testbed"}


class P4RuntimeFailed(OlafError):
    """A call failed; ``code`` is the gRPC status' name, as NOT_FOUND."""

    def __init__(self, device: str, code: str, message: str, doing: str) -> None:
        self.code = code
        text = f"{doing}: {code}" + (f": {message}" if message else "")
        super().__init__(Problem(text, device, _REMEDIES.get(code, "")))


class NotPrimary(OlafError):
    """Another controller is primary; ``election_id`` is the highest that the switch has seen."""

    def __init__(self, device: str, election_id: int, message: str) -> None:
        self.election_id = election_id
        high, low = election_id >> 64, election_id & (1 << 64) - 1
        what = f"another controller is primary, with the election id {high},{low} (high,low)"
        super().__init__(Problem(what + (f": {message}" if message else ""), device, "end that controller"))


@dataclass(frozen=True)
class Failure:
    """One update of a batch that the switch refused."""

    index: int
    code: str
    message: str
    update: str


class WriteFailed(OlafError):
    """Updates that the switch refused; the others of the batch were applied unless it was atomic."""

    def __init__(self, device: str, failures: Sequence[Failure]) -> None:
        self.failures = tuple(failures)
        super().__init__(
            *(
                Problem(
                    f"{each.update}: {each.code}" + (f": {each.message}" if each.message else ""),
                    device,
                    _UPDATE_REMEDIES.get(each.code, ""),
                )
                for each in failures
            )
        )


def failure_details(rpc_error: Any) -> list[tuple[str, str]]:
    """Return (code, message) of each update of a failed batch; [] where the switch reported none."""
    for name, value in rpc_error.trailing_metadata() or ():
        if name == "grpc-status-details-bin":
            status = status_pb2.Status.FromString(value)
            errors = []
            for each in status.details:
                error = p4runtime_pb2.Error()
                each.Unpack(error)
                errors.append((code_name(error.canonical_code), error.message))
            return errors
    return []


def code_name(number: int) -> str:
    known = code_pb2.Code.DESCRIPTOR.values_by_number
    return known[number].name if number in known else str(number)
