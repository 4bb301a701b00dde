"""The control socket of a process: a JSON line asks, a JSON line answers; a name may take the stream over."""

import json
import logging
import select
import socket
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import psutil

from olafctl.targets.processes import STOPPED
from olafswitch.errors import BadInput, OlafError, Problem
from olafswitch.ports import unix

_LONGEST_LINE = 1 << 20
_TIMEOUT = 30.0
_LOOK_AGAIN = 1.0
"""The seconds between two checks whether a process that does not answer yet was stopped."""
_TRY_AGAIN = 0.25
"""The seconds until connections are accepted again after the process ran out of descriptors or memory."""
_log = logging.getLogger(__name__)

Handler = Callable[[dict[str, Any]], Any]
TakeOver = Callable[[socket.socket], None]


class ControlServer:
    """A server that answers at a UNIX socket, each connection on its own thread."""

    def __init__(
        self, path: Path, handlers: Mapping[str, Handler], take_overs: Mapping[str, TakeOver]
    ) -> None:
        """Listen at ``path``. Raises OSError."""
        self._handlers = handlers
        self._take_overs = take_overs
        self._path = path
        self._closing = threading.Event()
        self._listening = unix.listen_at(path, socket.SOCK_STREAM)
        threading.Thread(target=self._accept, name="control", daemon=True).start()

    def close(self) -> None:
        """Stop answering."""
        self._closing.set()
        self._path.unlink(missing_ok=True)
        with suppress(OSError):
            self._listening.shutdown(socket.SHUT_RDWR)
        self._listening.close()

    def _accept(self) -> None:
        while not self._closing.is_set():
            try:
                peer, _ = self._listening.accept()
            except OSError as error:
                if not self._closing.wait(_TRY_AGAIN):
                    _log.warning("%s: cannot accept a connection: %s", self._path, error.strerror)
                continue
            threading.Thread(target=self._converse, args=(peer,), name="control peer", daemon=True).start()

    def _converse(self, peer: socket.socket) -> None:
        with peer, suppress(OSError):
            if not unix.is_own(peer):
                return
            line = _read_line(peer)
            if not line:
                return
            answer, take_over = self._answer(line)
            peer.sendall(json.dumps(answer).encode() + b"\n")
            if take_over is not None:
                take_over(peer)

    def _answer(self, line: bytes) -> tuple[dict[str, Any], TakeOver | None]:
        try:
            request = _parse_request(line)
            name = str(request.get("do"))
            if name in self._take_overs:
                return {"value": None}, self._take_overs[name]
            if name not in self._handlers:
                raise BadInput(Problem(f"request {name!r} does not exist", "control socket"))
            return {"value": self._handlers[name](request)}, None
        except OlafError as error:
            return {"problems": [vars(problem) for problem in error.problems]}, None
        except (KeyError, TypeError, ValueError) as error:
            return {"problems": [vars(Problem(f"not understood: {error!r}", "control socket"))]}, None


def ask_process(path: Path, name: str, /, **arguments: Any) -> Any:
    """Return the answer of the process at ``path``.

    Raises OlafError with the process's objection, or when none answers.
    """
    with _connect_to(path) as peer:
        return _exchange_line(peer, path, {"do": name, **arguments})


def take_over(path: Path, name: str) -> socket.socket:
    """Return a stream to the process at ``path``, which now speaks the protocol of ``name``. Raises
    OlafError."""
    peer = _connect_to(path)
    try:
        _exchange_line(peer, path, {"do": name})
        peer.settimeout(None)
    except BaseException:
        peer.close()
        raise
    return peer


def _connect_to(path: Path) -> socket.socket:
    try:
        return unix.connect_to(path, socket.SOCK_STREAM, _LOOK_AGAIN)
    except OSError as error:
        raise _silent_process(path, error) from error


def _exchange_line(peer: socket.socket, path: Path, request: dict[str, Any]) -> Any:
    try:
        _check_runs(peer, path)
        peer.sendall(json.dumps(request).encode() + b"\n")
        _await_answer(peer, path)
        peer.settimeout(_TIMEOUT)
        line = _read_line(peer)
        answer = json.loads(line)
    except (OSError, ValueError) as error:
        raise _silent_process(path, error) from error
    if "problems" in answer:
        raise OlafError(*(Problem(**problem) for problem in answer["problems"]))
    return answer["value"]


def _await_answer(peer: socket.socket, path: Path) -> None:
    """Raise OlafError when the process is stopped meanwhile, and TimeoutError."""
    end = time.monotonic() + _TIMEOUT
    while not select.select([peer], [], [], _LOOK_AGAIN)[0]:
        _check_runs(peer, path)
        if time.monotonic() > end:
            raise TimeoutError("timed out")


def _check_runs(peer: socket.socket, path: Path) -> None:
    """Raise OlafError when a signal stopped the process at the other end: it would not answer."""
    number = unix.process_of(peer)
    with suppress(psutil.Error):
        if psutil.Process(number).status() in STOPPED:
            raise OlafError(Problem("is stopped", str(path), f"kill -CONT {number} lets it go on"))


def _silent_process(path: Path, error: Exception) -> OlafError:
    return OlafError(Problem(f"does not answer: {error}", str(path), "olafctl status, then deploy again"))


def _parse_request(line: bytes) -> dict[str, Any]:
    request = json.loads(line)
    if not isinstance(request, dict):
        raise ValueError("a request is a JSON object")
    return request


def _read_line(peer: socket.socket) -> bytes:
    """Return one line and no byte more: the bytes after it belong to the protocol that takes over."""
    line = b""
    while not line.endswith(b"\n"):
        seen = peer.recv(65536, socket.MSG_PEEK)
        if not seen or len(line) > _LONGEST_LINE:
            return b""
        end = seen.find(b"\n") + 1 or len(seen)
        line += peer.recv(end)
    return line
