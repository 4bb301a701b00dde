"""A parameter server with plain sockets, to copy into any language: parameter_server.py

Adds the mean gradient of each update to the weights, one model for all clusters, and answers with them.
As a host of a deployment: olafctl exec ps -- python3 parameter_server.py
"""

import socket
import struct

HEADER = struct.Struct(">BBHIf6sHH")  # olafctl/wire/layouts.py, "olaf": 22 bytes
UPDATE, ACK = 0x11, 0x12  # version 1 and type

link = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
link.bind(("", 20300))
print("serving at UDP port 20300", flush=True)
weights, version = [0.0] * 16, 0
while True:
    update, worker = link.recvfrom(9000)
    if len(update) != HEADER.size + 4 * len(weights):
        continue  # not a model of ours
    kind, _, count, seq, reward, made, segment, _ = HEADER.unpack_from(update)
    if kind != UPDATE or count == 0:
        continue
    # The engine may have summed the gradients of `count` workers on the way.
    total = struct.unpack_from("<16f", update, HEADER.size)
    weights = [weight + value / count for weight, value in zip(weights, total, strict=True)]
    version = (version + 1) % 2**16
    answer = HEADER.pack(ACK, 0, count, seq, reward, made, segment, version)
    link.sendto(answer + struct.pack("<16f", *weights), worker)
    print(f"{count} from {worker[0]}, version {version}: {weights[0]:.3f}", flush=True)
