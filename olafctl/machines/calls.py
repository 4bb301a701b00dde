"""The calls of a machine's agent, which role may make which, and who makes one."""

import json
from contextlib import suppress
from enum import IntEnum
from typing import Any, NoReturn

from olafctl.machines.certificates import role_of
from olafswitch.errors import OlafError, Problem

SERVICE = "olaf.machine.v1.Machine"
DEPLOYMENT, DEVICE, PORT, VERSION = "olaf-deployment", "olaf-device", "olaf-port", "olaf-version"
"""Metadata: the deployment that a call is about, a device's id, a front port's number; the caller's Olaf."""
PROBLEMS = "olaf-problems-bin"
"""In the trailing metadata of a refused call: what is wrong, as JSON."""
LONGEST = 32 << 20
"""Bytes of a message."""


class Role(IntEnum):
    """What a certificate allows; each role may do what those before it may."""

    READER = 1
    """Status, counters, tables."""
    CONTROLLER = 2
    """Bring engines up and program them."""
    OPERATOR = 3
    """Also frames of hosts and programs as hosts."""

    @classmethod
    def of(cls, context: Any) -> "Role":
        """That of a call's caller; a certificate without one is a reader's."""
        for pem in context.auth_context().get("x509_pem_cert", ()):
            with suppress(KeyError):
                return cls[role_of(pem).upper()]
        return cls.READER

    def check(self, context: Any, name: str) -> None:
        """Raises Forbidden when the caller of ``name`` has less than this role."""
        if Role.of(context) < self:
            word = self.name.lower()
            what = f"{caller(context)} may not {name}: it needs the role {word}"
            remedy = f"olafctl certs FOLDER NAME --role {word} makes such a certificate"
            raise Forbidden(Problem(what, remedy=remedy))


class Forbidden(OlafError):
    """The caller's role does not allow a call."""


def caller(context: Any) -> str:
    """The caller, as far as the connection shows: a certificate's name, and the peer's address."""
    names = context.auth_context().get("x509_common_name", ())
    certificate = " ".join(name.decode(errors="replace") for name in names)
    # A UNIX socket shows no more: only its owner, and root, can have connected.
    peer = str(context.peer()).rstrip(":") or "unix"
    return f"{certificate} at {peer}" if certificate else peer


def refuse(context: Any, error: OlafError, code: Any, *metadata: tuple[str, str | bytes]) -> NoReturn:
    """End a call with an error's problems."""
    problems = [vars(problem) for problem in error.problems]
    context.set_trailing_metadata([(PROBLEMS, json.dumps(problems).encode()), *metadata])
    context.abort(code, str(error)[:1000])
    raise AssertionError("abort returned")


CALLS = {
    "Describe": Role.READER,
    "Find": Role.READER,
    "Deployed": Role.READER,
    "Logs": Role.READER,
    "Follow": Role.READER,
    "Pipeline": Role.READER,
    "Ask": Role.READER,
    "Problems": Role.CONTROLLER,
    "Foresee": Role.CONTROLLER,
    "Prepare": Role.CONTROLLER,
    "Start": Role.CONTROLLER,
    "Stop": Role.CONTROLLER,
    "Hosts": Role.CONTROLLER,
    "Pause": Role.OPERATOR,
}
"""One request, any number of answers: the last one is the value, those before it are steps or parts."""
STREAMS = {"Frames": Role.OPERATOR, "Capture": Role.OPERATOR, "Exec": Role.OPERATOR}
"""Frames, and what programs read and write, not JSON."""
READS = frozenset({"read", "read_all", "settings", "stats", "devices", "card", "shards", "steering"})
"""What a reader may ask of a queue; everything else changes it."""
READING = frozenset({"Read", "GetForwardingPipelineConfig", "Capabilities", "StreamChannel"})
"""P4Runtime calls of a reader; on the stream it may not elect itself."""
