"""The calls of a machine's agent, and which role may make which."""

from enum import IntEnum

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


CALLS = {
    "Describe": Role.READER,
    "Find": Role.READER,
    "Logs": Role.READER,
    "Follow": Role.READER,
    "Pipeline": Role.READER,
    "Ask": Role.READER,
    "Problems": Role.CONTROLLER,
    "Prepare": Role.CONTROLLER,
    "Start": Role.CONTROLLER,
    "Stop": Role.CONTROLLER,
}
"""One request, any number of answers: the last one is the value, those before it are steps or parts."""
STREAMS = {"Frames": Role.OPERATOR, "Capture": Role.OPERATOR}
"""Frames, not JSON."""
READS = frozenset({"read", "read_all", "settings", "stats", "devices", "card"})
"""What a reader may ask of a queue; everything else changes it."""
READING = frozenset({"Read", "GetForwardingPipelineConfig", "Capabilities", "StreamChannel"})
"""P4Runtime calls of a reader; on the stream it may not elect itself."""
