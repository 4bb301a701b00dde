"""How much of a device's state one read may go through while it holds the device's lock."""


class TooMany(Exception):
    """A read would go through more than it may."""


class Budget:
    """``left`` more entities; without it, any number."""

    def __init__(self, left: int | None = None) -> None:
        self._left = left

    def spend(self, entities: int) -> None:
        """Go through ``entities`` more. Raises TooMany."""
        if self._left is not None:
            self._left -= entities
            if self._left < 0:
                raise TooMany
