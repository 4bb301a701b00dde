"""Messages that wait, by the port they came in by: ports have their turns, however much one of them sends."""

import threading
from collections import OrderedDict, deque


class Turns:
    """A bounded queue for each port, which are served in turn. Any thread may call it."""

    def __init__(self, most: int) -> None:
        """``most`` messages of a port wait."""
        self._most = most
        self._waiting: OrderedDict[int, deque[bytes]] = OrderedDict()
        """Of the ports that have any; whose turn is next comes first."""
        self._changed = threading.Condition()

    def put(self, port: int, frame: bytes) -> bool:
        """False when as many of that port wait as may."""
        with self._changed:
            waiting = self._waiting.setdefault(port, deque())
            if len(waiting) >= self._most:
                return False
            waiting.append(frame)
            self._changed.notify()
            return True

    def take(self, timeout: float) -> tuple[int, bytes] | None:
        """The port whose turn it is and its first message; None when ``timeout`` seconds bring none."""
        with self._changed:
            if not self._changed.wait_for(lambda: self._waiting, timeout):
                return None
            port, waiting = self._waiting.popitem(last=False)
            frame = waiting.popleft()
            if waiting:
                self._waiting[port] = waiting
            return port, frame
