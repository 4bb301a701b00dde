"""Refusals of the agent: one of the specification's codes and a sentence."""

from enum import Enum


class Code(Enum):
    """The canonical codes (google.rpc.Code) that the agent answers with."""

    OK = 0
    UNKNOWN = 2
    INVALID_ARGUMENT = 3
    NOT_FOUND = 5
    ALREADY_EXISTS = 6
    PERMISSION_DENIED = 7
    RESOURCE_EXHAUSTED = 8
    FAILED_PRECONDITION = 9
    ABORTED = 10
    OUT_OF_RANGE = 11
    UNIMPLEMENTED = 12
    INTERNAL = 13
    UNAVAILABLE = 14


class Refusal(Exception):
    """A request, or one element of a batch, that is refused; nothing of it was applied."""

    def __init__(self, code: Code, message: str) -> None:
        super().__init__(message)
        self.code = code
        self.message = message


def invalid_argument(message: str) -> Refusal:
    return Refusal(Code.INVALID_ARGUMENT, message)


def not_found(message: str) -> Refusal:
    return Refusal(Code.NOT_FOUND, message)


def permission_denied(message: str) -> Refusal:
    return Refusal(Code.PERMISSION_DENIED, message)


def not_implemented(message: str) -> Refusal:
    return Refusal(Code.UNIMPLEMENTED, message)
