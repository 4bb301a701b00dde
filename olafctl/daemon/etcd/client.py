"""A client of etcd's v3 gRPC API: transactions and leases, each attempt bounded in time."""

import threading
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import grpc

from olafctl.daemon.etcd import etcd_pb2
from olafctl.machines import credentials
from olafswitch.errors import BadInput, OlafError, Problem
from olafswitch.p4runtime import address as addresses

_GONE = (grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.DEADLINE_EXCEEDED, grpc.StatusCode.CANCELLED)
_ELECTION = 2.0
"""The time of attempts for which members without a leader are called again: they may be electing one."""
_MEMBER = "etcdserver:"
"""The beginning of details from a member, and not from the connection to it."""
_PAUSE = 0.1
_UNSENT = "failed to connect to all addresses"
"""The beginning of gRPC's details of a call that never left this process."""


class Etcd:
    """A connection to an etcd cluster; any thread may use it.

    A call that only reads, or may harmlessly be repeated, is tried at each endpoint in turn. A write goes to
    an endpoint that has just answered; if it fails after it was sent, it is not known whether it was carried
    out, so it is not repeated.
    """

    def __init__(
        self, endpoints: Sequence[str], certificates: Path | None = None, *, timeout: float = 2.0
    ) -> None:
        """Connect to ``endpoints``, each HOST:PORT. ``certificates`` is a folder with ca.pem, client.pem and
        client.key; without it all endpoints must be loopback. ``timeout`` in seconds limits one attempt.

        Raises BadInput.
        """
        self.endpoints = tuple(endpoints)
        self._timeout = timeout
        if not self.endpoints:
            raise BadInput(Problem("has no endpoint", "--etcd", "give HOST:PORT"))
        for endpoint in self.endpoints:
            if not addresses.is_loopback(endpoint) and certificates is None:
                what = "beyond this machine, in clear, every host on the way could change memberships"
                raise BadInput(Problem(what, endpoint, "give --etcd-certs, a folder of certificates"))
        self._credentials = None if certificates is None else credentials.client_credentials(certificates)
        self._lock = threading.Lock()
        self._turn = 0
        self._answered = False
        """Whether the current endpoint has answered."""
        self._channel = self._open_channel()

    def transact(self, compare: Sequence[Any], success: Sequence[Any], failure: Sequence[Any] = ()) -> Any:
        """Make one transaction of at most 128 operations. Raises OlafError."""
        request = etcd_pb2.TxnRequest(compare=compare, success=success, failure=failure)
        reads = all(each.HasField("request_range") for each in (*success, *failure))
        if not reads and not self._answered:
            self._call_endpoints("KV/Txn", etcd_pb2.TxnRequest(), etcd_pb2.TxnResponse)
        return self._call_endpoints("KV/Txn", request, etcd_pb2.TxnResponse, repeats=reads)

    def grant_lease(self, seconds: int) -> tuple[int, int]:
        """Return a new lease: its id, and its seconds, which may be more than requested. Raises OlafError."""
        request = etcd_pb2.LeaseGrantRequest(TTL=seconds)
        answer = self._call_endpoints("Lease/LeaseGrant", request, etcd_pb2.LeaseGrantResponse)
        return int(answer.ID), int(answer.TTL)

    def prolong_lease(self, lease: int) -> int:
        """Prolong a lease; return its seconds from now on, 0 when it has ended. Raises OlafError."""
        request = etcd_pb2.LeaseKeepAliveRequest(ID=lease)
        answer = self._call_endpoints(
            "Lease/LeaseKeepAlive", request, etcd_pb2.LeaseKeepAliveResponse, streams=True
        )
        return int(answer.TTL)

    def revoke_lease(self, lease: int) -> None:
        """End a lease, and remove its keys. Raises OlafError."""
        request = etcd_pb2.LeaseRevokeRequest(ID=lease)
        self._call_endpoints("Lease/LeaseRevoke", request, etcd_pb2.LeaseRevokeResponse)

    def close(self) -> None:
        """End the connection."""
        with self._lock:
            self._channel.close()

    def _call_endpoints(
        self, name: str, request: Any, answer: Any, *, streams: bool = False, repeats: bool = True
    ) -> Any:
        """Call the current endpoint, then the next ones while the call may be repeated; members without a
        leader are called again. Raises OlafError."""
        problems: list[Problem] = []
        until = time.monotonic() + _ELECTION * self._timeout
        elects = False
        while len(problems) < len(self.endpoints) or (elects and time.monotonic() < until):
            if len(problems) >= len(self.endpoints):
                time.sleep(_PAUSE)
            channel, endpoint = self._channel, self.endpoints[self._turn % len(self.endpoints)]
            try:
                found = self._call_once(
                    channel, f"/etcdserverpb.{name}", request.SerializeToString(), streams
                )
            except (grpc.RpcError, ValueError, StopIteration) as error:
                code = error.code() if isinstance(error, grpc.RpcError) else grpc.StatusCode.CANCELLED
                details = (error.details() or code.name) if isinstance(error, grpc.RpcError) else "closed"
                if isinstance(error, ValueError):
                    raise OlafError(Problem("the connection to etcd was closed", endpoint)) from None
                if code not in _GONE:
                    raise OlafError(Problem(f"etcd refused: {details}", endpoint)) from None
                elects = elects or details.startswith(_MEMBER)
                self._move_on(channel)
                remedy = "start it, or name another endpoint with --etcd"
                problems.append(Problem(f"etcd does not answer: {details}", endpoint, remedy))
                if not repeats and not details.startswith(_UNSENT):
                    break
            else:
                self._answered = True
                return answer.FromString(found)
        raise OlafError(*problems[-len(self.endpoints) :])

    def _call_once(self, channel: Any, path: str, data: bytes, streams: bool) -> Any:
        if not streams:
            return channel.unary_unary(path)(data, timeout=self._timeout)
        stream = channel.stream_stream(path)(iter([data]), timeout=self._timeout)
        received = next(stream)
        stream.cancel()
        return received

    def _move_on(self, channel: Any) -> None:
        """Connect to the next endpoint, unless another thread has done so."""
        with self._lock:
            if channel is self._channel:
                # A connection that only hangs is not detected otherwise. Others' calls on it go on.
                self._turn += 1
                self._answered = False
                self._channel = self._open_channel()

    def _open_channel(self) -> Any:
        endpoint = self.endpoints[self._turn % len(self.endpoints)]
        # It needs its own channel: gRPC shares the connections of channels with the same options.
        return credentials.open_channel(endpoint, self._credentials, ("olaf.turn", self._turn))
