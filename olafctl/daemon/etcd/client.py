"""A client of etcd's v3 gRPC API: transactions and leases, each call bounded in time and never repeated."""

import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import grpc

from olafctl.daemon.etcd import etcd_pb2
from olafctl.machines import credentials
from olafswitch.errors import BadInput, OlafError, Problem
from olafswitch.p4runtime import address as addresses

_GONE = (grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.DEADLINE_EXCEEDED, grpc.StatusCode.CANCELLED)


class Etcd:
    """A connection to an etcd cluster; any thread may use it.

    Whether a call that failed was carried out is not known, so none is repeated; the next one goes to the
    next endpoint.
    """

    def __init__(
        self, endpoints: Sequence[str], certificates: Path | None = None, *, timeout: float = 2.0
    ) -> None:
        """``endpoints`` are HOST:PORT. ``certificates`` is a folder with ca.pem, client.pem and client.key;
        without it all endpoints must be loopback. ``timeout`` in seconds is that of every call.

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
        self._credentials = None if certificates is None else credentials.client(certificates)
        self._lock = threading.Lock()
        self._turn = 0
        self._channel = self._connect()

    def transact(self, compare: Sequence[Any], success: Sequence[Any], failure: Sequence[Any] = ()) -> Any:
        """One transaction, at most 128 operations. Raises OlafError."""
        request = etcd_pb2.TxnRequest(compare=compare, success=success, failure=failure)
        return self._call("KV/Txn", request, etcd_pb2.TxnResponse)

    def grant(self, seconds: int) -> tuple[int, int]:
        """A new lease: its id, and its seconds, which may be more than was requested. Raises OlafError."""
        request = etcd_pb2.LeaseGrantRequest(TTL=seconds)
        answer = self._call("Lease/LeaseGrant", request, etcd_pb2.LeaseGrantResponse)
        return int(answer.ID), int(answer.TTL)

    def keep(self, lease: int) -> int:
        """Prolong a lease; its seconds from now on, 0 when it has ended. Raises OlafError."""
        request = etcd_pb2.LeaseKeepAliveRequest(ID=lease)
        answer = self._call("Lease/LeaseKeepAlive", request, etcd_pb2.LeaseKeepAliveResponse, streams=True)
        return int(answer.TTL)

    def revoke(self, lease: int) -> None:
        """End a lease, and remove its keys. Raises OlafError."""
        request = etcd_pb2.LeaseRevokeRequest(ID=lease)
        self._call("Lease/LeaseRevoke", request, etcd_pb2.LeaseRevokeResponse)

    def close(self) -> None:
        """End the connection."""
        with self._lock:
            self._channel.close()

    def _call(self, name: str, request: Any, answer: Any, streams: bool = False) -> Any:
        channel, path, data = self._channel, f"/etcdserverpb.{name}", request.SerializeToString()
        try:
            if streams:
                stream = channel.stream_stream(path)(iter([data]), timeout=self._timeout)
                received = next(stream)
                stream.cancel()
            else:
                received = channel.unary_unary(path)(data, timeout=self._timeout)
        except (grpc.RpcError, ValueError, StopIteration) as error:
            raise self._failed(channel, error) from None
        return answer.FromString(received)

    def _failed(self, channel: Any, error: Any) -> OlafError:
        endpoint = self.endpoints[self._turn % len(self.endpoints)]
        code = error.code() if isinstance(error, grpc.RpcError) else grpc.StatusCode.CANCELLED
        details = (error.details() or code.name) if isinstance(error, grpc.RpcError) else "closed"
        if code not in _GONE:
            return OlafError(Problem(f"etcd refused: {details}", endpoint))
        with self._lock:
            if channel is self._channel:
                # A connection that only hangs is not noticed otherwise. Others' calls on it go on.
                self._turn += 1
                self._channel = self._connect()
        remedy = "start it, or name another endpoint with --etcd"
        return OlafError(Problem(f"etcd does not answer: {details}", endpoint, remedy))

    def _connect(self) -> Any:
        endpoint = self.endpoints[self._turn % len(self.endpoints)]
        # A channel of its own: gRPC shares the connections of channels with the same options.
        return credentials.channel(endpoint, self._credentials, ("olaf.turn", self._turn))
