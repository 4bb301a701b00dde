"""Limits of one P4Runtime call to the agent; beyond them, the agent answers RESOURCE_EXHAUSTED."""

MESSAGE_BYTES = 16 << 20
"""The largest message that the server takes: gRPC's ``grpc.max_receive_message_length``."""

WRITE_UPDATES = 32_768
"""The updates in one WriteRequest."""

READ_REQUESTS = 1_024
"""The entities in one ReadRequest, each of which may be a wildcard."""

READ_ENTITIES = 1 << 19
"""The entities that one ReadRequest may visit: those that it selects, and a table's entries once for each
request that has to examine all of them."""

ANSWER_BYTES = 1 << 20
"""A ReadResponse is sent when it reaches this size; gRPC clients take 4 MB by default."""


def most_streams(devices: int) -> int:
    """Return how many StreamChannels may be open at a time, for a few controllers and observers a device."""
    return max(48, 16 * devices)


class TooMany(Exception):
    """A read would visit more entities than it may."""


class Budget:
    """A budget for the part of a device's state that one read may visit while it holds the device's lock.

    ``left`` more entities; without it, any number.
    """

    def __init__(self, left: int | None = None) -> None:
        self._left = left

    def spend_entities(self, entities: int) -> None:
        """Visit ``entities`` more. Raises TooMany."""
        if self._left is not None:
            self._left -= entities
            if self._left < 0:
                raise TooMany
