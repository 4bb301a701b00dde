"""The processor that receives a deployment's frames to its hosts, so that the engine's thread need not.

By default the kernel lets the thread that sends into a veth receive at its other end as well. One processor
for all of a deployment's hosts keeps the order of frames.
"""

import os
from collections.abc import Iterator, Sequence, Set
from contextlib import AbstractContextManager, contextmanager, suppress
from pathlib import Path

from olafctl.network import ip
from olafswitch.errors import OlafError

_BITS = 32
_WRITE = 'mask=$1; shift; for name; do echo "$mask" > "/sys/class/net/$name/queues/rx-0/rps_cpus"; done'


def choose_processor(key: str) -> int | None:
    """Return the processor that receives for the deployment with this ``key`` (hexadecimal digits), of those
    that this process may use; None when there is only one."""
    usable = sorted(os.sched_getaffinity(0))
    return usable[int(key, 16) % len(usable)] if len(usable) > 1 else None


def receive_on(number: int | None, namespace: str, interfaces: Sequence[str], state: Path) -> None:
    """Let processor ``number`` receive at ``interfaces`` (Linux: Receive Packet Steering); None: the
    sender's.

    Where that is not allowed (containers with a read-only /sys), the sender goes on doing so.
    """
    with suppress(OlafError):
        ip.run_ip(
            [
                "netns",
                "exec",
                namespace,
                "sh",
                "-ec",
                _WRITE,
                "sh",
                "0" if number is None else processor_mask(number),
                *interfaces,
            ],
            state,
        )


def keep_off(number: int | None) -> AbstractContextManager[None]:
    """Start threads within the context on other processors than ``number`` (None: on any)."""
    usable = os.sched_getaffinity(0)
    return keep_on(usable - {number} or usable)


@contextmanager
def keep_on(processors: Set[int]) -> Iterator[None]:
    """Start threads within the context on ``processors``. Raises OSError when none of them exists."""
    usable = os.sched_getaffinity(0)
    os.sched_setaffinity(0, processors)
    try:
        yield
    finally:
        os.sched_setaffinity(0, usable)


def processor_mask(number: int) -> str:
    """Return sysfs' mask of processor ``number``: groups of 32 bits in hexadecimal, the highest first."""
    groups, bit = divmod(number, _BITS)
    return ",".join([f"{1 << bit:x}", *["00000000"] * groups])
