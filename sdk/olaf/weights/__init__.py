"""Weights down: every version of a model to every player, exact, whole and checked, as what changed.

A :class:`Publisher` sends each version once, the engine copies it to all players, and a :class:`Subscriber`
installs it where its player declares it safe.
"""

from olaf.weights.publisher import Publisher
from olaf.weights.subscriber import Subscriber, TooStale, adopt_into
from olaf.weights.tensors import OtherLayout

__all__ = ["OtherLayout", "Publisher", "Subscriber", "TooStale", "adopt_into"]
