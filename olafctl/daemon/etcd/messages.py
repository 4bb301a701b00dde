"""Operations and conditions of etcd's transactions (https://etcd.io/docs/v3.4/dev-guide/api_reference_v3/)."""

from typing import Any

from olafctl.daemon.etcd import etcd_pb2


def get_keys(key: bytes, end: bytes = b"", **more: Any) -> Any:
    """Read one key, or the keys from ``key`` up to and without ``end``."""
    return _make_operation(request_range=etcd_pb2.RangeRequest(key=key, range_end=end, **more))


def put_key(key: bytes, value: bytes, lease: int = 0) -> Any:
    """Write a key; with ``lease`` it ends with that lease."""
    return _make_operation(request_put=etcd_pb2.PutRequest(key=key, value=value, lease=lease))


def delete_keys(key: bytes, end: bytes = b"") -> Any:
    """Remove one key, or the keys from ``key`` up to and without ``end``."""
    return _make_operation(request_delete_range=etcd_pb2.DeleteRangeRequest(key=key, range_end=end))


def created_at(key: bytes, revision: int) -> Any:
    """Return the condition that a key was made at ``revision``; 0: that it does not exist."""
    return etcd_pb2.Compare(target=etcd_pb2.Compare.CREATE, key=key, create_revision=revision)


def key_holds(key: bytes, value: bytes | None) -> Any:
    """Return the condition that a key has this value; None: that it does not exist."""
    if value is None:
        return etcd_pb2.Compare(target=etcd_pb2.Compare.VERSION, key=key, version=0)
    return etcd_pb2.Compare(target=etcd_pb2.Compare.VALUE, key=key, value=value)


def end_of_prefix(prefix: bytes) -> bytes:
    """Return the end of the range of all keys that begin with ``prefix``."""
    return prefix[:-1] + bytes([prefix[-1] + 1])


def _make_operation(**request: Any) -> Any:
    return etcd_pb2.RequestOp(**request)
