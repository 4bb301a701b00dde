"""One thread that looks at deployments for all open pages, and makes a text/event-stream of the looks."""

import json
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from olafctl.daemon.operate import audit
from olafctl.daemon.web.document import Heard, describe_deployment
from olafctl.daemon.web.look import Look, Watched
from olafswitch.errors import OlafError

_OPEN_SECONDS, _CLOSED_SECONDS = 1.0, 5.0
"""The seconds from one look to the next while a page is open, and while none is."""
_HISTORY_SECONDS = 600
_POINT_SECONDS = 5.0
_REST = 3.0
"""The length of a pause as a multiple of the processor time of the look before it: changes go first."""
_LINES, _READ_LINES = 12, 400
"""The lines of the audit log that are shown for each deployment, and that are searched for them."""


class Looks:
    """Looks at deployments until :meth:`close`; ten minutes of them are kept for the charts."""

    def __init__(self, watched: Callable[[], Mapping[str, Watched]], log: Path | None) -> None:
        """Start to look; ``watched`` returns the present deployments, by name; ``log`` is the audit log."""
        self._watched = watched
        self._log = log
        self._before: dict[str, Look] = {}
        self._heard: dict[str, Heard] = {}
        self._points: deque[dict[str, Any]] = deque(maxlen=int(_HISTORY_SECONDS / _POINT_SECONDS))
        self._next_point = 0.0
        self._news = threading.Condition()
        self._number = 0
        self._look, self._history = b"", b""
        self._open = 0
        self._ended = False
        self._wake = threading.Event()
        self._thread = threading.Thread(target=self._run_looks, name="page", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Stop looking, and end every stream of events."""
        with self._news:
            self._ended = True
            self._news.notify_all()
        self._wake.set()
        self._thread.join()

    def stream_events(self) -> Iterator[bytes]:
        """Yield the stream of one page: the beginning of the charts, then each look."""
        with self._news:
            self._open += 1
            # A look from before a page was open may be old: the first event is of a new look.
            number, history = self._number, b""
        self._wake.set()
        try:
            while self._await_after(number):
                with self._news:
                    number, look, known = self._number, self._look, self._history
                yield look if known is history else known + look
                history = known
        finally:
            with self._news:
                self._open -= 1

    def _await_after(self, number: int) -> bool:
        """Wait for the look after ``number``; return False once this has ended."""
        with self._news:
            self._news.wait_for(lambda: self._ended or self._number > number)
            return not self._ended

    def _run_looks(self) -> None:
        while not self._ended:
            self._wake.clear()
            began = time.thread_time()
            found = self._make_document()
            with self._news:
                self._number += 1
                self._look = _encode_event("look", found)
                self._news.notify_all()
            spent = time.thread_time() - began
            every = _OPEN_SECONDS if self._open else _CLOSED_SECONDS
            self._wake.wait(max(every - spent, _REST * spent))

    def _make_document(self) -> dict[str, Any]:
        found, watched = [], self._watched()
        for name, each in watched.items():
            try:
                look = each.look()
            except OlafError as error:
                found.append({"name": name, "ready": False, "problem": str(error)})
                continue
            heard = self._heard.setdefault(name, Heard())
            heard.note_look(look)
            found.append(describe_deployment(look, self._before.get(name), heard))
            self._before[name] = look
        for gone in self._before.keys() - watched.keys():
            del self._before[gone]
        self._keep_point(found)
        lines = audit.tail_audit_log(self._log, _READ_LINES) if self._log is not None else []
        for shown in found:
            about = [line for line in lines if _is_about(line, str(shown["name"]), len(found))]
            shown["audit"] = about[:_LINES]
        return {"time": time.strftime("%H:%M:%S"), "deployments": found}

    def _keep_point(self, found: list[dict[str, Any]]) -> None:
        if time.monotonic() < self._next_point:
            return
        self._next_point = time.monotonic() + _POINT_SECONDS
        self._points.append(
            {
                each["name"]: {
                    "ages": {cluster["name"]: cluster["age"] for cluster in each.get("clusters", ())},
                    "rates": {name: engine["rates"] for name, engine in each.get("engines", {}).items()},
                }
                for each in found
            }
        )
        self._history = _encode_event(
            "history", {"seconds": _HISTORY_SECONDS, "every": _POINT_SECONDS, "points": [*self._points]}
        )


def _is_about(line: Mapping[str, Any], deployment: str, kept: int) -> bool:
    """Return whether a line of the audit log is about a deployment. A request need not name the only one."""
    request = line.get("request")
    named = request.get("deployment") if isinstance(request, dict) else None
    return bool(named == deployment or (not named and kept == 1))


def _encode_event(name: str, data: dict[str, Any]) -> bytes:
    return f"event: {name}\ndata: {json.dumps(data, separators=(',', ':'))}\n\n".encode()
