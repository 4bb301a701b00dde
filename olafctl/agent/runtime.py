"""Forward P4Runtime of a device of this machine unchanged."""

import os
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from functools import partial
from tempfile import TemporaryDirectory
from typing import Any

import grpc

from olafctl.targets.interface import TargetDevice
from olafswitch.errors import OlafError, Problem
from olafswitch.p4runtime import address as addresses
from olafswitch.p4runtime.address import Access
from olafswitch.p4runtime.protocol import METHODS, SERVICE, Malformed, p4runtime_pb2, parse_message

_OPTIONS = [
    ("grpc.max_receive_message_length", -1),
    ("grpc.max_send_message_length", -1),
    ("grpc.max_metadata_size", 32 << 20),
    ("grpc.absolute_max_metadata_size", 32 << 20),
    ("grpc.enable_http_proxy", 0),
    ("grpc.use_local_subchannel_pool", 1),
]

_PROGRAMS = 16
"""The most calls at once of a program here."""
_ENDLESS = 1e6
"""The seconds from which on a call has no deadline: gRPC gives such a call centuries."""


def forward_call(
    address: str, method: str, requests: Iterator[bytes], context: Any, access: Access | None = None
) -> Iterator[bytes]:
    """Yield the answers of the device at ``address``, through TLS with ``access``; the call fails as the
    device's call fails."""
    metadata: tuple[tuple[str, str], ...] = ()
    if access is None:
        channel = _CHANNELS.channel_to(address)
    else:
        channel, metadata = grpc.secure_channel(address, access.credentials(), _OPTIONS), access.metadata
    try:
        left = context.time_remaining()
        bound = left if left is not None and left < _ENDLESS else None
        call = channel.stream_stream(method)(_until_gone(requests), timeout=bound, metadata=metadata)
        if not context.add_callback(call.cancel):  # the caller is gone
            return
        try:
            yield from call
        except grpc.RpcError as error:
            kept = [(key, value) for key, value in error.trailing_metadata() or () if not key.startswith(":")]
            context.set_trailing_metadata(kept)
            context.abort(error.code(), error.details() or "")
    finally:
        if access is not None:
            channel.close()


class _Channels:
    """Channels to the engines here; a restarted engine gets a new channel, which connects without a delay."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._open: dict[str, tuple[tuple[int, int], Any, int | None]] = {}

    def channel_to(self, address: str) -> Any:
        with self._lock:
            for known, (socket, channel, folder) in [*self._open.items()]:
                if _socket_identity(known) != socket:
                    del self._open[known]
                    channel.close()
                    if folder is not None:
                        os.close(folder)
            if address not in self._open:
                socket = _socket_identity(address)
                name, folder = addresses.shorten_address(address)
                self._open[address] = socket, grpc.insecure_channel(name, _OPTIONS), folder
            return self._open[address][1]


def _socket_identity(address: str) -> tuple[int, int]:
    """Return what distinguishes an engine's socket from an earlier socket at this address."""
    if (path := addresses.socket_of(address)) is not None:
        with suppress(OSError):
            found = path.stat()
            return found.st_ino, found.st_ctime_ns
    return 0, 0


_CHANNELS = _Channels()


def _until_gone(requests: Iterator[bytes]) -> Iterator[bytes]:
    """Yield the requests of a caller; they end when it is gone."""
    with suppress(grpc.RpcError):
        yield from requests


def only_watching(method: str, requests: Iterator[bytes]) -> Iterator[bytes]:
    """Yield the requests of a client that changes nothing. Raises OlafError at the first change."""
    for data in requests:
        if method.endswith("/StreamChannel"):
            try:
                message = parse_message(p4runtime_pb2.StreamMessageRequest, data)
            except Malformed as error:
                raise OlafError(Problem(str(error))) from None
            elected = message.arbitration.election_id
            if message.WhichOneof("update") != "arbitration" or elected.high or elected.low:
                raise OlafError(Problem("a reader only watches", remedy="use a controller's certificate"))
        yield data


@contextmanager
def serve_device_here(device: TargetDevice) -> Iterator[str]:
    """Yield the address of a UNIX socket that leads to ``device``, for programs that show no certificate."""

    def handler(name: str) -> Any:
        forward = partial(forward_call, device.address, f"/{SERVICE}/{name}", access=device.access)
        return grpc.stream_stream_rpc_method_handler(forward)

    handlers = grpc.method_handlers_generic_handler(SERVICE, {name: handler(name) for name in METHODS})
    with TemporaryDirectory(prefix="olaf-") as folder:
        server = grpc.server(ThreadPoolExecutor(_PROGRAMS, "here"), [handlers], options=_OPTIONS)
        address = f"unix:{folder}/p4runtime"
        server.add_insecure_port(address)
        server.start()
        try:
            yield address
        finally:
            server.stop(None).wait()
