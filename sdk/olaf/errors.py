"""Errors of the package. A training step raises OtherParameters and Taken, a synchronous sum NoAnswer."""

from __future__ import annotations


class OlafError(Exception):
    """An error whose text says what was wrong, where, and what to do."""


class BadAddress(OlafError, ValueError):
    """An address in no form that is known."""


class NoAnswer(OlafError, TimeoutError):
    """The engine's control plane, or the other members, did not answer in time."""


class JoinRefused(OlafError):
    """The control plane refused the Join."""


class OtherModel(OlafError):
    """The parameter server holds a model of another length or division."""


class BadCheckpoint(OlafError):
    """A checkpoint that cannot be continued from."""


class Taken(OlafError):
    """An address, or an actor's rows, belong to another user: an optimiser, a writer, or another process."""


class OtherParameters(OlafError):
    """The optimiser trains parameters that it did not have when it was attached."""


class LearnerFailed(OlafError):
    """A learner's function raised an exception, or died of the same rows again and again."""


class ActorFailed(OlafError):
    """An actor raised an exception, or died again and again."""
