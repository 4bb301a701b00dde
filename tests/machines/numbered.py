"""``python numbered.py BED``: worker w2 sends numbered frames to the parameter server, which answers each,
until standard input ends. It prints a line at the first answer, then how many were sent and which were
lost."""

import itertools
import json
import sys
import threading
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from olafctl.machines.everywhere import Everywhere
from olafctl.membership.model import Host
from olafctl.targets import testbeds
from olafctl.wire.frames import Datagram, Endpoint
from olafctl.wire.layouts import FrameType
from olafswitch.ports.host import HostPort
from olaftest.frames import OlafFrame, endpoint_of

_WINDOW = 8
_PATIENCE = 10.0
"""The seconds without any answer after which the other frames are lost."""
_OTHER_PORT = 9
_VALUES = 8


def main(bed: Path) -> None:
    testbed = testbeds.load_testbed(bed)
    [server], worker = testbed.parameter_servers, next(each for each in testbed.workers if each.name == "w2")
    with TemporaryDirectory() as state:
        running = Everywhere(testbed.target).find(testbed, Path(state))
        assert running is not None
        above, below = (running.host_port(each.port) for each in (server, worker))
    ended = threading.Event()
    threading.Thread(target=_answer_updates, args=(above, server, worker), daemon=True).start()
    threading.Thread(target=_await_end, args=(ended,), daemon=True).start()
    waiting: set[int] = set()
    numbers = itertools.count()
    while waiting or not ended.is_set():
        while len(waiting) < _WINDOW and not ended.is_set():
            waiting.add(number := next(numbers))
            below.send(_make_numbered(worker, server, number))
        if (frame := below.receive(_PATIENCE)) is None:
            break
        if (answered := _number_of(frame)) == 0:
            print("flows", flush=True)
        waiting.discard(answered)
    print(json.dumps({"sent": next(numbers), "lost": sorted(waiting)}), flush=True)


def _await_end(ended: threading.Event) -> None:
    sys.stdin.read()
    ended.set()


def _answer_updates(port: HostPort, server: Host, worker: Host) -> None:
    while True:
        if (frame := port.receive(_PATIENCE)) is not None:
            port.send(_make_plain(server, worker, _number_of(frame)))


def _make_numbered(worker: Host, server: Host, number: int) -> bytes:
    """Return an update or another frame, in turn."""
    if number % 2:
        return _make_plain(worker, server, number)
    gradient = np.ones(_VALUES, np.float32)
    ends = endpoint_of(worker), endpoint_of(server)
    return OlafFrame(*ends, FrameType.UPDATE, 0, 1, number, 0.0, number, gradient).encode()


def _make_plain(source: Host, to: Host, number: int) -> bytes:
    one, other = (Endpoint(each.mac, each.ip, _OTHER_PORT) for each in (source, to))
    return Datagram(one, other, number.to_bytes(8, "big")).encode()


def _number_of(frame: bytes) -> int:
    datagram = Datagram.decode(frame)
    if datagram.destination.port == _OTHER_PORT:
        return int.from_bytes(datagram.body[:8], "big")
    return OlafFrame.decode(frame).seq


main(Path(sys.argv[1]))
