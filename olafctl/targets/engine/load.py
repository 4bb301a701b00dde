"""Load over real interfaces: frames a second with never more than a window of them on their way."""

import ctypes
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import accumulate

from olafctl.targets.engine.engine import load_library
from olafswitch.errors import OlafError, Problem
from olafswitch.ports.attachment import Attachment
from olafswitch.ports.namespace import run_within

_TIMEOUT_MS = 500
_EACH, _PLACES = 16, 1024
"""The places of ``load.h`` for a power of two of ns, and all of them."""


@dataclass(frozen=True)
class EngineLoad:
    """The frames that were sent and that arrived, in ``seconds`` from the first sent to the last arrived."""

    sent: int
    received: int
    seconds: float
    refused: int
    """The frames lost at the sender, on their way into the engine."""
    missed: int
    """The frames lost at the receiver, which had no room."""
    latencies: Sequence[int]
    """The frames by their time on the way, in the places of ``load.h``."""

    def latency(self, share: float) -> float:
        """Return the µs within which ``share`` of the received frames arrived, to 1/16."""
        left = share * self.received
        place = next((place for place, count in enumerate(accumulate(self.latencies)) if count >= left), 0)
        power, part = divmod(place, _EACH)
        return float((_EACH + part + 1) * 2.0 ** (power - 1) / 1000)

    @property
    def rate(self) -> float:
        """The frames that arrived, a second."""
        return self.received / self.seconds if self.seconds else 0.0


def measure_load(
    sender: Attachment,
    receiver: Attachment,
    frames: Sequence[bytes],
    seconds: float,
    window: int,
    rate: float = 0,
    queues: int = 1,
) -> EngineLoad:
    """Send ``frames`` (all of one length) in turn from ``sender`` for ``seconds``, and count at ``receiver``.

    They leave by the sender's ``queues`` in turn, ``rate`` a second (0: as fast as they come back). Raises
    OlafError when either is not an interface that can be opened.
    """
    if len({len(frame) for frame in frames}) != 1:
        raise OlafError(Problem("frames of different lengths", "load"))
    library = load_library()
    result = (ctypes.c_uint64 * (5 + _PLACES))()
    with _open_interface(library, sender, queues) as out, _open_interface(library, receiver) as into:
        library.olaf_load_measure(
            out,
            into,
            b"".join(frames),
            len(frames),
            len(frames[0]),
            int(seconds * 1e9),
            window,
            int(1e9 / rate) if rate else 0,
            _TIMEOUT_MS,
            result,
        )
    return EngineLoad(result[0], result[1], result[2] / 1e9, result[3], result[4], result[5:])


@contextmanager
def _open_interface(
    library: ctypes.CDLL, attachment: Attachment, queues: int = 1
) -> Iterator[ctypes.c_void_p]:
    port = ctypes.c_void_p()
    name = attachment.path.encode()
    message = run_within(
        attachment.namespace, lambda: library.olaf_load_open(name, queues, ctypes.byref(port))
    )
    if message is not None:
        raise OlafError(Problem(message.decode(errors="replace"), f"port {attachment.number}"))
    try:
        yield port
    finally:
        library.olaf_load_close(port)
