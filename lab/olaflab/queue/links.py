"""Links in virtual time: frames leave one behind the other and arrive whole after a fixed delay."""

from dataclasses import dataclass, field


@dataclass
class Link:
    """One direction of a link; ``rate`` in bit/s, ``delay`` in ns."""

    rate: float
    delay: float
    free: float = field(default=0.0, init=False)
    """ns at which the last frame has left it."""

    def carry(self, ready: float, size: int) -> float:
        """Send a frame of ``size`` bytes that is there at ``ready`` ns; when its last byte has arrived."""
        self.free = max(ready, self.free) + size * 8e9 / self.rate
        return self.free + self.delay
