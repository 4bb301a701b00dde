"""The part of etcd's v3 API that the daemon uses (https://etcd.io/docs/v3.4/dev-guide/api_reference_v3/)."""

from collections.abc import Mapping
from typing import Any

from olafctl.daemon.protobuf import classes

# Compare.result and Compare.target
EQUAL = 0
CREATE, VALUE, VERSION = 1, 3, 0

_HEADER = {"header": (1, "ResponseHeader")}
_KEY = {"key": (1, "bytes"), "range_end": (2, "bytes")}

CLASSES: Mapping[str, Any] = classes(
    "etcdserverpb",
    {
        "ResponseHeader": {
            "cluster_id": (1, "uint64"),
            "member_id": (2, "uint64"),
            "revision": (3, "int64"),
            "raft_term": (4, "uint64"),
        },
        "KeyValue": {
            "key": (1, "bytes"),
            "create_revision": (2, "int64"),
            "mod_revision": (3, "int64"),
            "version": (4, "int64"),
            "value": (5, "bytes"),
            "lease": (6, "int64"),
        },
        "RangeRequest": {
            **_KEY,
            "limit": (3, "int64"),
            "revision": (4, "int64"),
            "keys_only": (8, "bool"),
        },
        "RangeResponse": {
            **_HEADER,
            "kvs": (2, "repeated KeyValue"),
            "more": (3, "bool"),
            "count": (4, "int64"),
        },
        "PutRequest": {"key": (1, "bytes"), "value": (2, "bytes"), "lease": (3, "int64")},
        "PutResponse": _HEADER,
        "DeleteRangeRequest": _KEY,
        "DeleteRangeResponse": {**_HEADER, "deleted": (2, "int64")},
        "RequestOp": {
            "request_range": (1, "oneof RangeRequest"),
            "request_put": (2, "oneof PutRequest"),
            "request_delete_range": (3, "oneof DeleteRangeRequest"),
        },
        "ResponseOp": {
            "response_range": (1, "oneof RangeResponse"),
            "response_put": (2, "oneof PutResponse"),
            "response_delete_range": (3, "oneof DeleteRangeResponse"),
        },
        "Compare": {
            "result": (1, "int32"),
            "target": (2, "int32"),
            "key": (3, "bytes"),
            "version": (4, "oneof int64"),
            "create_revision": (5, "oneof int64"),
            "value": (7, "oneof bytes"),
        },
        "TxnRequest": {
            "compare": (1, "repeated Compare"),
            "success": (2, "repeated RequestOp"),
            "failure": (3, "repeated RequestOp"),
        },
        "TxnResponse": {
            **_HEADER,
            "succeeded": (2, "bool"),
            "responses": (3, "repeated ResponseOp"),
        },
        "LeaseGrantRequest": {"TTL": (1, "int64"), "ID": (2, "int64")},
        "LeaseGrantResponse": {**_HEADER, "ID": (2, "int64"), "TTL": (3, "int64"), "error": (4, "string")},
        "LeaseRevokeRequest": {"ID": (1, "int64")},
        "LeaseRevokeResponse": _HEADER,
        "LeaseKeepAliveRequest": {"ID": (1, "int64")},
        "LeaseKeepAliveResponse": {**_HEADER, "ID": (2, "int64"), "TTL": (3, "int64")},
    },
)


def get(key: bytes, end: bytes = b"", **more: Any) -> Any:
    """Read one key, or those from ``key`` up to and without ``end``."""
    return _op(request_range=CLASSES["RangeRequest"](key=key, range_end=end, **more))


def put(key: bytes, value: bytes, lease: int = 0) -> Any:
    """Write a key; with ``lease`` it goes with that."""
    return _op(request_put=CLASSES["PutRequest"](key=key, value=value, lease=lease))


def delete(key: bytes, end: bytes = b"") -> Any:
    """Remove one key, or those from ``key`` up to and without ``end``."""
    return _op(request_delete_range=CLASSES["DeleteRangeRequest"](key=key, range_end=end))


def created_at(key: bytes, revision: int) -> Any:
    """The condition that a key was made at ``revision``; 0: that there is none."""
    return CLASSES["Compare"](result=EQUAL, target=CREATE, key=key, create_revision=revision)


def holds(key: bytes, value: bytes | None) -> Any:
    """The condition that a key has this value; None: that there is none."""
    if value is None:
        return CLASSES["Compare"](result=EQUAL, target=VERSION, key=key, version=0)
    return CLASSES["Compare"](result=EQUAL, target=VALUE, key=key, value=value)


def after(prefix: bytes) -> bytes:
    """The end of the range of all keys that begin with ``prefix``."""
    return prefix[:-1] + bytes([prefix[-1] + 1])


def _op(**request: Any) -> Any:
    return CLASSES["RequestOp"](**request)
