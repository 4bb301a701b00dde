"""Count callers that use something, so that closing it refuses new callers and waits for the others."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from olafswitch.errors import OlafError, Problem


class Tenancy:
    """The callers that use ``what`` now, on any thread."""

    def __init__(self, what: str) -> None:
        self._what = what
        self._changed = threading.Condition()
        self._inside = 0
        self._closed = False
        self._evictions: list[Callable[[], None]] = []

    @contextmanager
    def inside(self, evict: Callable[[], None] | None = None) -> Iterator[None]:
        """Yield while the caller uses it; a closing thread calls ``evict`` to hurry a caller that may stay
        long.

        Raises OlafError once closed.
        """
        with self._changed:
            if self._closed:
                raise OlafError(Problem("is closed", self._what))
            self._inside += 1
            if evict is not None:
                self._evictions.append(evict)
        try:
            yield
        finally:
            with self._changed:
                self._inside -= 1
                if evict is not None:
                    self._evictions.remove(evict)
                self._changed.notify_all()

    def close(self) -> bool:
        """Refuse new callers and wait until the others have left; return False when it was closed before."""
        with self._changed:
            if self._closed:
                return False
            self._closed = True
            for evict in self._evictions:
                evict()
            self._changed.wait_for(lambda: self._inside == 0)
            return True
