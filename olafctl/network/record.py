"""Record the frames that pass several front ports as one pcapng file."""

import select
import socket
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import astuple
from itertools import islice

from olafctl import __version__
from olafctl.network import pcapng
from olafswitch.ports import packet_socket
from olafswitch.ports.capture import FrameListener


def record_frames(
    ports: Mapping[str, FrameListener], write: Callable[[bytes], None], until: socket.socket, most: int | None
) -> tuple[int, int]:
    """Write a pcapng file of the frames that pass ``ports``; return how many it has, and how many were lost.

    It ends when ``until`` is readable, ``most`` frames are written, or the file's reader is gone. Raises
    OlafError when a port is gone, and what ``write`` raises; the file is complete in any case.
    """
    listeners = list(ports.values())
    taken, dropped = [0] * len(ports), [0] * len(ports)
    waiting = select.poll()
    waiting.register(until, select.POLLIN)
    for each in listeners:
        waiting.register(each, select.POLLIN)
    with suppress(BrokenPipeError):
        write(pcapng.start_section(f"olafctl {__version__}", list(ports), packet_socket.MAX_FRAME))
        try:
            while most is None or sum(taken) < most:
                ready = {descriptor for descriptor, _ in waiting.poll()}
                for number, listener in enumerate(listeners):
                    if listener.fileno() in ready:
                        left = None if most is None else most - sum(taken)
                        seen = list(islice(listener.seen(), left))
                        write(b"".join(pcapng.packet_block(number, *astuple(each)) for each in seen))
                        taken[number] += len(seen)
                if until.fileno() in ready:
                    break
        finally:
            for number, listener in enumerate(listeners):
                dropped[number] = listener.lost()
                received = taken[number] + dropped[number]
                write(pcapng.statistics_block(number, time.time_ns(), received, dropped[number]))
    return sum(taken), sum(dropped)
