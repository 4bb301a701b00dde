"""Queues messages by the port they came in by, and serves the ports in turn, whatever one of them sends."""

import threading
from collections import OrderedDict, deque


class Turns:
    """A bounded queue for each port, which are served in turn. Any thread may call it."""

    def __init__(self, most: int) -> None:
        """At most ``most`` messages of a port wait."""
        self._most = most
        self._waiting: OrderedDict[int, deque[bytes]] = OrderedDict()
        """The waiting messages by port; the port with the next turn comes first."""
        self._changed = threading.Condition()

    def put(self, port: int, frame: bytes) -> bool:
        """Add a message; False when the port has too many waiting already."""
        with self._changed:
            waiting = self._waiting.setdefault(port, deque())
            if len(waiting) >= self._most:
                return False
            waiting.append(frame)
            self._changed.notify()
            return True

    def take(self, timeout: float) -> tuple[int, bytes] | None:
        """Return the port whose turn it is and its first message; None when ``timeout`` seconds bring
        none."""
        with self._changed:
            if not self._changed.wait_for(lambda: self._waiting, timeout):
                return None
            port, waiting = self._waiting.popitem(last=False)
            frame = waiting.popleft()
            if waiting:
                self._waiting[port] = waiting
            return port, frame
