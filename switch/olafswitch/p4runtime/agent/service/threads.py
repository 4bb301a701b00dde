"""Threads for the gRPC server that do not keep a process alive.

Python joins the threads of ``ThreadPoolExecutor`` when a process ends, and one that serves a stream
would keep it alive if the agent's owner failed before it stopped the agent.
"""

import queue
import threading
from collections.abc import Callable
from concurrent.futures import Executor, Future
from typing import Any

_Work = tuple[Future[Any], Callable[..., Any], tuple[Any, ...], dict[str, Any]]


class DaemonPool(Executor):
    """Up to ``size`` daemon threads, each started when no other is free."""

    def __init__(self, size: int, name: str) -> None:
        self._size = size
        self._name = name
        self._work: queue.SimpleQueue[_Work | None] = queue.SimpleQueue()
        self._lock = threading.Lock()
        self._free = 0
        self._started = 0
        self._ended = False

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        """As Executor.submit. Raises RuntimeError after shutdown."""
        future: Future[Any] = Future()
        with self._lock:
            if self._ended:
                raise RuntimeError("the pool is shut down")
            self._work.put((future, fn, args, kwargs))
            if self._free:
                self._free -= 1
            elif self._started < self._size:
                self._started += 1
                name = f"{self._name}_{self._started}"
                threading.Thread(target=self._run, name=name, daemon=True).start()
        return future

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """End the threads once what was submitted is done; ``wait`` and ``cancel_futures`` are not needed."""
        with self._lock:
            if not self._ended:
                self._ended = True
                for _ in range(self._started):
                    self._work.put(None)

    def _run(self) -> None:
        while (work := self._work.get()) is not None:
            future, function, arguments, options = work
            if future.set_running_or_notify_cancel():
                try:
                    future.set_result(function(*arguments, **options))
                except BaseException as error:
                    future.set_exception(error)
            del work, future, function, arguments, options
            with self._lock:
                self._free += 1
