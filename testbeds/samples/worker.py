"""A worker with plain sockets, to copy into any language: worker.py SERVER PORT UPDATES

Sends gradients to the parameter server at SERVER from UDP port PORT, its own in the testbed; each waits for
weights. As a host of a deployment: olafctl exec WORKER -- python3 worker.py ...
"""

import select
import socket
import struct
import sys
import time

HEADER = struct.Struct(">BBHIf6sHH")  # olafctl/wire/layouts.py, "olaf": 22 bytes
UPDATE, STATUS = 0x11, 0x02  # version 1 and type; the flag "a status header of 8 bytes follows"
server, port, updates = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
link = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
link.bind(("", port))
weights, version = [0.0] * 16, 0
for number in range(updates):
    gradient = [0.1 * (1.0 - weight) for weight in weights]  # towards 1; yours comes from training
    now = (time.time_ns() % 2**48).to_bytes(6, "big")
    header = HEADER.pack(UPDATE, 0, 1, number, 0.0, now, 0, version)
    link.sendto(header + struct.pack("<16f", *gradient), (server, 20300))
    patience = 5.0  # for the first; a lost one is made up for by the next
    while select.select([link], [], [], patience)[0]:  # the newest: others' updates are answered too
        ack, patience = link.recv(9000), 0.0
        _, flags, *_, version = HEADER.unpack_from(ack)
        weights = list(struct.unpack_from("<16f", ack, HEADER.size + (8 if flags & STATUS else 0)))
print(f"{updates} updates sent, weights of version {version}: {weights[0]:.3f}", flush=True)
