"""The calls of a machine's agent, the role that each needs, and the name of a caller."""

import json
import threading
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from enum import IntEnum
from typing import Any, NoReturn

from olafswitch.errors import BadInput, OlafError, Problem
from olafswitch.terminal import escape_controls

SERVICE = "olaf.machine.v1.Machine"
DEPLOYMENT, DEVICE, PORT, VERSION = "olaf-deployment", "olaf-device", "olaf-port", "olaf-version"
"""Metadata: a call's deployment, a device's id, a front port's number, and the caller's Olaf."""
PROBLEMS = "olaf-problems-bin"
"""The trailing metadata of a refused call: its problems, as JSON."""
LONGEST = 32 << 20
"""The most bytes of a message."""


class CertificateRole(IntEnum):
    """The rights of a certificate; each role includes those before it."""

    READER = 1
    """Status, counters, tables."""
    CONTROLLER = 2
    """Bring engines up and program them."""
    OPERATOR = 3
    """Also frames of hosts and programs as hosts."""

    @classmethod
    def of(cls, context: Any) -> "CertificateRole":
        """Return the role of a call's caller; a certificate without one is a reader's."""
        from olafctl.machines.certificates import role_of  # its library loads slowly, and servers alone ask

        for pem in context.auth_context().get("x509_pem_cert", ()):
            with suppress(KeyError):
                return cls[role_of(pem).upper()]
        return cls.READER

    def check(self, context: Any, name: str) -> None:
        """Raise Forbidden when the caller of ``name`` has less than this role."""
        if CertificateRole.of(context) < self:
            word = self.name.lower()
            what = f"{name_caller(context)} may not {name}: it needs the role {word}"
            remedy = f"olafctl certs FOLDER NAME --role {word} makes such a certificate"
            raise Forbidden(Problem(what, remedy=remedy))


class Forbidden(OlafError):
    """The caller's role does not allow a call."""


class TooManyCalls(OlafError):
    """A caller has the most calls open that it may; the call was not begun."""


class CallQuota:
    """A limit of the calls open at a time, for each caller and for all; some are reserved for changes."""

    def __init__(self, most: int, reserved: int, each: Mapping[CertificateRole, int]) -> None:
        """Keep ``reserved`` of ``most`` calls for callers that are not readers. ``each`` is the most calls
        that one certificate may have open, by its role."""
        self._most, self._reserved, self._each = most, reserved, each
        self._lock = threading.Lock()
        self._open: Counter[bytes] = Counter()

    @contextmanager
    def count_open(self, context: Any) -> Iterator[None]:
        """Count a call while it is open. Raises TooManyCalls."""
        role = CertificateRole.of(context)
        key = b"".join(context.auth_context().get("x509_pem_cert", ()))
        with self._lock:
            room = self._most - (self._reserved if role is CertificateRole.READER else 0)
            if self._open[key] >= self._each[role] or self._open.total() >= room:
                what = (
                    f"{name_caller(context)} has {self._open[key]} calls open, of {self._open.total()} in all"
                )
                raise TooManyCalls(Problem(what, remedy="end some of them, or try again later"))
            self._open[key] += 1
        try:
            yield
        finally:
            with self._lock:
                self._open[key] -= 1
                if not self._open[key]:
                    del self._open[key]


def name_caller(context: Any) -> str:
    """Return the caller's name, as far as the connection shows: its certificate and the peer's address."""
    names = context.auth_context().get("x509_common_name", ())
    certificate = escape_controls(" ".join(name.decode(errors="replace") for name in names))
    # A UNIX socket shows no more: only its owner and root can have connected.
    peer = str(context.peer()).rstrip(":") or "unix"
    return f"{certificate} at {peer}" if certificate else peer


def refuse_call(context: Any, error: OlafError, code: Any, *metadata: tuple[str, str | bytes]) -> NoReturn:
    """End a call with an error's problems."""
    problems = [vars(problem) for problem in error.problems]
    context.set_trailing_metadata([(PROBLEMS, json.dumps(problems).encode()), *metadata])
    context.abort(code, str(error)[:1000])
    raise AssertionError("abort returned")


CALLS = {
    "Describe": CertificateRole.READER,
    "Find": CertificateRole.READER,
    "Deployed": CertificateRole.READER,
    "Logs": CertificateRole.READER,
    "Follow": CertificateRole.READER,
    "Pipeline": CertificateRole.READER,
    "Ask": CertificateRole.READER,
    "Problems": CertificateRole.CONTROLLER,
    "Foresee": CertificateRole.CONTROLLER,
    "Prepare": CertificateRole.CONTROLLER,
    "Start": CertificateRole.CONTROLLER,
    "Stop": CertificateRole.CONTROLLER,
    "Hosts": CertificateRole.CONTROLLER,
    "Pause": CertificateRole.OPERATOR,
}
"""One request, any number of answers: the last one is the value, those before it are steps or parts."""
FIELDS: Mapping[str, Mapping[str, type | tuple[type, ...]]] = {
    "Problems": {"testbed": str, "machine": str},
    "Foresee": {"testbed": str, "machine": str},
    "Prepare": {"testbed": str, "machine": str},
    "Start": {"testbed": str, "machine": str},
    "Hosts": {"network": (dict, type(None)), "dry": bool},
    "Pause": {"paused": bool},
    "Ask": {"request": dict},
    "Pipeline": {"digest": str},
    "Logs": {"lines": int},
    "Exec": {"host": str, "line": list},
}
"""The fields that a request must have, by call; other calls have no fields."""
STREAMS = {
    "Frames": CertificateRole.OPERATOR,
    "Capture": CertificateRole.OPERATOR,
    "Exec": CertificateRole.OPERATOR,
}
"""Streams of frames, and of programs' input and output, without JSON."""
READS = frozenset({"read", "read_all", "settings", "stats", "devices", "card", "shards", "steering"})
"""The questions about a queue that a reader may ask; every other request changes it."""
READING = frozenset({"Read", "GetForwardingPipelineConfig", "Capabilities", "StreamChannel"})
"""P4Runtime calls of a reader, which may not elect itself on the stream."""


def parse_request(name: str, data: bytes) -> dict[str, Any]:
    """Parse the request of a call. Raises BadInput, which names the field that does not fit."""
    try:
        fields = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise BadInput(Problem(f"is not JSON: {error!s:.100}", name)) from None
    if not isinstance(fields, dict):
        raise BadInput(Problem("a request is a JSON object", name))
    for field, kind in FIELDS.get(name, {}).items():
        given = fields.get(field)
        if not isinstance(given, kind) or (kind is int and isinstance(given, bool)):
            names = " or ".join(each.__name__ for each in (kind if isinstance(kind, tuple) else (kind,)))
            raise BadInput(Problem(f"{given!r:.100} is not a {names}", f"{name}: {field}"))
    return fields
