"""How much one P4Runtime call may ask of the agent; beyond, it answers RESOURCE_EXHAUSTED."""

MESSAGE_BYTES = 16 << 20
"""The largest message that the server takes: gRPC's ``grpc.max_receive_message_length``."""

WRITE_UPDATES = 32_768
"""Updates in one WriteRequest."""

READ_REQUESTS = 1_024
"""Entities in one ReadRequest, each of which may be a wildcard."""

READ_ENTITIES = 1 << 19
"""Entities that one ReadRequest may go through: those that it selects, and a table's entries once for each
request that has to look at all of them."""

ANSWER_BYTES = 1 << 20
"""A ReadResponse is sent when it reaches this size; gRPC clients take 4 MB by default."""


def most_streams(devices: int) -> int:
    """StreamChannels open at a time, of all devices together: of each some controllers and who looks on."""
    return max(48, 16 * devices)


class TooMany(Exception):
    """A read would go through more than it may."""


class Budget:
    """How much of a device's state one read may go through while it holds the device's lock.

    ``left`` more entities; without it, any number.
    """

    def __init__(self, left: int | None = None) -> None:
        self._left = left

    def spend_entities(self, entities: int) -> None:
        """Go through ``entities`` more. Raises TooMany."""
        if self._left is not None:
            self._left -= entities
            if self._left < 0:
                raise TooMany
