"""P4Runtime of a device here, forwarded as it is."""

import os
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import grpc

from olafswitch.errors import OlafError, Problem
from olafswitch.p4runtime import address as addresses
from olafswitch.p4runtime.protocol import Malformed, p4runtime_pb2, parse

_OPTIONS = [
    ("grpc.max_receive_message_length", -1),
    ("grpc.max_send_message_length", -1),
    ("grpc.max_metadata_size", 32 << 20),
    ("grpc.absolute_max_metadata_size", 32 << 20),
    ("grpc.enable_http_proxy", 0),
    ("grpc.use_local_subchannel_pool", 1),
]

_ENDLESS = 1e6
"""Seconds: gRPC says of a call without a deadline that it has centuries left."""


def forwarded(address: str, method: str, requests: Iterator[bytes], context: Any) -> Iterator[bytes]:
    """The answers of the device at ``address``; the call fails as the device's does."""
    name, folder = addresses.short(address)
    channel = grpc.insecure_channel(name, _OPTIONS)
    try:
        left = context.time_remaining()
        bound = left if left is not None and left < _ENDLESS else None
        call = channel.stream_stream(method)(_until_gone(requests), timeout=bound)
        if not context.add_callback(call.cancel):  # the caller is gone
            return
        try:
            yield from call
        except grpc.RpcError as error:
            kept = [(key, value) for key, value in error.trailing_metadata() or () if not key.startswith(":")]
            context.set_trailing_metadata(kept)
            context.abort(error.code(), error.details() or "")
    finally:
        channel.close()
        if folder is not None:
            with suppress(OSError):
                os.close(folder)


def _until_gone(requests: Iterator[bytes]) -> Iterator[bytes]:
    """The requests of a caller; they end when it is gone."""
    with suppress(grpc.RpcError):
        yield from requests


def only_watching(method: str, requests: Iterator[bytes]) -> Iterator[bytes]:
    """The requests of a client that changes nothing. Raises OlafError at the first that would."""
    for data in requests:
        if method.endswith("/StreamChannel"):
            try:
                message = parse(p4runtime_pb2.StreamMessageRequest, data)
            except Malformed as error:
                raise OlafError(Problem(str(error))) from None
            elected = message.arbitration.election_id
            if message.WhichOneof("update") != "arbitration" or elected.high or elected.low:
                raise OlafError(Problem("a reader only watches", remedy="use a controller's certificate"))
        yield data
