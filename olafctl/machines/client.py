"""A client of a machine's agent: calls by name, problems as errors for people, frames of its front ports."""

import json
import queue
import socket
import struct
import threading
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import replace
from functools import cache
from itertools import chain
from typing import Any, TypeVar

import grpc

from olafctl import __version__
from olafctl.machines import credentials, trouble
from olafctl.machines.calls import DEPLOYMENT, LONGEST, PORT, PROBLEMS, SERVICE, VERSION
from olafctl.testbed.model import TestbedMachine
from olafswitch.errors import BadInput, OlafError, Problem
from olafswitch.p4runtime.address import Access
from olafswitch.ports.capture import SeenFrame

SEEN = struct.Struct("!QQ?")
"""The header of a captured frame: ns since the epoch, frames lost before it, whether it goes into the
pipeline."""
_SECONDS = 20.0
"""The limit of a call that only reads, in seconds."""
_WAITING = 256
_AT_ONCE = 32
_T = TypeVar("_T")
_OPTIONS = (
    ("grpc.max_send_message_length", LONGEST),
    ("grpc.keepalive_time_ms", 10_000),
    ("grpc.keepalive_timeout_ms", 5_000),
)


class Unreachable(OlafError):
    """A machine's agent does not answer."""


class MachineAgent:
    """The agent of ``machine``, for one deployment. Calls raise OlafError with the agent's own problems and
    the machine's name, or Unreachable."""

    def __init__(self, machine: TestbedMachine, deployment: str) -> None:
        """Connect to the agent. Raises BadInput without a client's certificate."""
        self.machine = machine
        self.access: Access = credentials.read_access()
        self._channel = _channel_to(machine.address, self.access)
        self._metadata = ((DEPLOYMENT, deployment), (VERSION, __version__))

    def call(
        self,
        name: str,
        /,
        step: Callable[[Any], None] = lambda _: None,
        seconds: float | None = _SECONDS,
        give: Callable[[Any], Iterator[bytes]] = lambda _: iter((b"",)),
        **fields: Any,
    ) -> Any:
        """Return the answer of one call; ``step`` gets the messages before it, and ``give`` yields the pieces
        to send when the machine lacks a result."""
        answer: Any = None
        more: queue.Queue[bytes | None] = queue.Queue(_WAITING)
        try:
            for message in self._receive_answers(name, seconds, fields, iter(more.get, None)):
                if "value" in message:
                    answer = message["value"]
                elif "lacks" in message:
                    for piece in give(message["lacks"]):
                        more.put(piece)
                else:
                    step(message["step"])
        finally:
            more.put(None)
        return answer

    def receive_parts(self, name: str, /, **fields: Any) -> Iterator[Any]:
        """Yield the parts of an answer, until it ends or the caller does."""
        for message in self._receive_answers(name, None, fields, iter(())):
            if "step" in message:
                yield message["step"]

    def ask(self, do: str, /, **fields: Any) -> Any:
        """Ask the deployment's process there, as :func:`olafctl.targets.control.ask_process` does."""
        return self.call("Ask", request={**fields, "do": do})

    def frames(self, number: int) -> "DistantPort":
        """Return the host side of a front port there."""
        return DistantPort(self, number)

    def listen_at(self, number: int) -> "DistantListener":
        """Return a listener at a front port there."""
        return DistantListener(self, number)

    def for_device(self, metadata: Mapping[str, str]) -> Access:
        """Return the client's credentials where its P4Runtime is forwarded."""
        return replace(self.access, metadata=(*self._metadata, *metadata.items()))

    def open_stream(self, name: str, number: int, sent: Iterator[bytes]) -> Any:
        """Return a stream of frames at a front port."""
        call = self._channel.stream_stream(f"/{SERVICE}/{name}")
        return call(sent, metadata=(*self._metadata, (PORT, str(number))))

    def problem_of(self, error: Any) -> OlafError:
        """Return the error for people of a failed call."""
        named = self.machine.name
        with suppress(KeyError, ValueError, TypeError):
            found = json.loads(dict(error.trailing_metadata() or ())[PROBLEMS])
            problems = [
                Problem(each["what"], _place_at(named, each["where"]), each["remedy"]) for each in found
            ]
            refused = error.code() is grpc.StatusCode.INVALID_ARGUMENT
            return BadInput(*problems) if refused else OlafError(*problems)
        if error.code() is grpc.StatusCode.DEADLINE_EXCEEDED:
            what, remedy = f"machine {named} has not answered in time", "try again when it has less to do"
            return Unreachable(Problem(what, self.machine.address, remedy))
        details = error.details() or error.code().name
        what, remedy = trouble.of_tls(details, self.access.certificate) or (
            trouble.shorten_reason(details),
            f"olafctl agent --listen {self.machine.address} starts its agent there",
        )
        return Unreachable(
            Problem(f"machine {named} cannot be reached: {what}", self.machine.address, remedy)
        )

    def _receive_answers(
        self, name: str, seconds: float | None, fields: dict[str, Any], more: Iterator[bytes]
    ) -> Iterator[Any]:
        call = self._channel.stream_stream(f"/{SERVICE}/{name}")
        sent = chain([json.dumps(fields).encode()], more)
        stream = call(sent, timeout=seconds, metadata=self._metadata)
        try:
            for data in stream:
                yield json.loads(data)
        except grpc.RpcError as error:
            raise self.problem_of(error) from None
        finally:
            stream.cancel()


class DistantPort:
    """A :class:`olafswitch.ports.host.HostPort` of a front port on another machine."""

    def __init__(self, agent: MachineAgent, number: int) -> None:
        """Open the port. Raises OlafError when it does not exist."""
        self._agent = agent
        self._out: queue.Queue[bytes | None] = queue.Queue(_WAITING)
        self._in: queue.Queue[bytes | OlafError] = queue.Queue()
        self._stream = agent.open_stream("Frames", number, iter(self._out.get, None))
        threading.Thread(target=self._receive_frames, name=f"port {number}", daemon=True).start()
        opened = self._in.get()
        if isinstance(opened, OlafError):
            raise opened

    def send(self, frame: bytes) -> None:
        """Send a whole frame, held back while the way there is full."""
        self._out.put(frame)

    def receive(self, timeout: float) -> bytes | None:
        """Return the next frame, or None when none arrives within ``timeout`` seconds. Raises OlafError."""
        try:
            found = self._in.get(timeout=max(timeout, 0.0)) if timeout > 0 else self._in.get_nowait()
        except queue.Empty:
            return None
        if isinstance(found, OlafError):
            raise found
        return found

    def fileno(self) -> int:
        """Return -1: the port has no descriptor."""
        return -1

    def close(self) -> None:
        """End the stream."""
        self._out.put(None)
        self._stream.cancel()

    def _receive_frames(self) -> None:
        """Receive an empty frame, once the port is open, and then the port's frames."""
        try:
            for frame in self._stream:
                self._in.put(frame)
        except grpc.RpcError as error:
            self._in.put(self._agent.problem_of(error))


class DistantListener:
    """A :class:`olafswitch.ports.capture.FrameListener` at a front port on another machine."""

    def __init__(self, agent: MachineAgent, number: int) -> None:
        """Open the listener. Raises OlafError when it cannot be opened."""
        self._agent, self._lost = agent, 0
        self._problem: OlafError | None = None
        self._ours, self._theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._stream = agent.open_stream("Capture", number, iter(()))
        try:
            next(self._stream)
        except grpc.RpcError as error:
            self._ours.close()
            self._theirs.close()
            raise agent.problem_of(error) from None
        self._ours.setblocking(False)
        threading.Thread(target=self._receive_frames, name=f"capture {number}", daemon=True).start()

    def fileno(self) -> int:
        """Return a descriptor that is readable when a frame waits."""
        return self._ours.fileno()

    def seen(self) -> Iterator[SeenFrame]:
        """Yield some of the frames that wait. Raises OlafError when the port or the machine is gone."""
        with suppress(BlockingIOError):
            for _ in range(_WAITING):
                data = self._ours.recv(1 << 16)
                if not data:
                    raise self._problem or OlafError(Problem("is gone", self._agent.machine.name))
                when, lost, outbound = SEEN.unpack_from(data)
                self._lost += lost
                yield SeenFrame(when, data[SEEN.size :], outbound)

    def lost(self) -> int:
        """Return the number of frames that came faster than they were read, since the last call."""
        lost, self._lost = self._lost, 0
        return lost

    def close(self) -> None:
        """End the stream."""
        self._stream.cancel()
        self._ours.close()

    def _receive_frames(self) -> None:
        try:
            with suppress(OSError):  # closed meanwhile
                for data in self._stream:
                    self._theirs.send(data)
        except grpc.RpcError as error:
            self._problem = self._agent.problem_of(error)
        finally:
            self._theirs.close()


def call_each(known: Mapping[str, MachineAgent], act: Callable[[MachineAgent], _T]) -> Mapping[str, _T]:
    """Return the result of ``act`` for every machine, all at the same time. Raises OlafError with all
    problems, Unreachable where machines are away and nothing else is wrong."""
    if not known:
        return {}
    found: dict[str, _T] = {}
    errors: list[OlafError] = []
    with ThreadPoolExecutor(min(len(known), _AT_ONCE), "machines") as pool:
        for name, future in [(name, pool.submit(act, agent)) for name, agent in known.items()]:
            try:
                found[name] = future.result()
            except OlafError as error:
                errors.append(error)
    if errors:
        problems = [problem for error in errors for problem in error.problems]
        kinds = {type(error) for error in errors}
        kind = kinds.pop() if len(kinds) == 1 else OlafError
        raise (kind if kind in (Unreachable, BadInput) else OlafError)(*problems)
    return found


@cache
def _channel_to(address: str, access: Access) -> Any:
    return credentials.open_channel(address, access.credentials(), *_OPTIONS)


def _place_at(machine: str, where: str) -> str:
    return f"{machine}: {where}" if where else machine
