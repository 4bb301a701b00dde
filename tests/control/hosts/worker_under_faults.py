"""A worker of the tests: it follows a target, loses 30 % of its frames both ways, and prints its position.

It prints a JSON line every 20 steps: the time ``at`` (s, monotonic), the weights' ``version``, ``away``
(their distance to the target), and ``blocked``, the longest that a step did not run while it could have (s).
"""

import json
import random
import sys
import time
from pathlib import Path

import numpy as np
import olaf
from olaf.transport.port import Address, Bytes, Party
from olaf.transport.udp import UdpPort

VALUES = 300
LOST = 0.3


class FaultyPort(UdpPort):
    """A port that loses frames in both directions."""

    def send(self, to: Address, header: bytes, body: Bytes = b"", tos: int = 0) -> bool:
        return random.random() < LOST or super().send(to, header, body, tos)

    def serve(self, party: Party) -> None:
        receive = party.receive
        setattr(party, "receive", lambda *datagram: None if random.random() < LOST else receive(*datagram))  # noqa: B010
        super().serve(party)


def waited_for_a_core() -> float:
    """Return the seconds that this thread was ready to run while another ran."""
    return int(Path("/proc/thread-self/schedstat").read_text().split()[1]) / 1e9


def main() -> None:
    target = np.full(VALUES, float(sys.argv[2]), np.float32)
    worker = olaf.Worker(sys.argv[1], VALUES, mtu=1500, port=FaultyPort(("0.0.0.0", 20300)))
    weights, steps, blocked, version = np.zeros(VALUES, np.float32), 0, 0.0, 0
    worker.begin(weights)
    while True:
        begun, waited = time.monotonic(), waited_for_a_core()
        worker.offer(target - weights, 1.0)
        for block in worker.poll():
            weights[block.place], version = block.values, block.version
        blocked = max(blocked, time.monotonic() - begun - (waited_for_a_core() - waited))
        steps += 1
        if steps % 20 == 0:
            away = float(abs(target - weights).max())
            line = {"at": begun, "version": version, "away": away, "blocked": blocked}
            print(json.dumps(line), flush=True)
        time.sleep(0.005)


main()
