"""The project's own P4, compiled, behind the stand-ins for the IPs; and what the box must then send."""

import zlib
from collections.abc import Mapping
from functools import cache

from olafctl.targets.opennic.box_registers import Copy
from olafctl.wire import layouts
from olafctl.wire.frames import Endpoint, mac_bits, pack, unpack
from olafctl.wire.layouts import ANY_PORT, CPU_PORT, QUEUE_PORT, TUSER, Refusal
from olaflab.opennic.box import Box, Outcome
from olafswitch.p4.switch.native import NativeSwitch
from olafswitch.p4runtime.dataplane import Lpm, Replica
from tests.p4src.conftest import FLOOD_GROUP, Programmer, address
from tests.p4src.frames import EPOCH, NEIGHBOUR, SERVER, STRANGER, WORKER

WORKERS_PORT, SERVERS_PORT = 1, 2
CLUSTER_GROUP = 6
MEMBERS = ((WORKERS_PORT, WORKER), (WORKERS_PORT, NEIGHBOUR), (SERVERS_PORT, STRANGER))
FLOOD_PORTS = (WORKERS_PORT, SERVERS_PORT)
PROBE_PORT = 200
"""The probing VNP4₂ has one replica in each group: at this port plus the group's number."""

Sent = tuple[int, bytes]


@cache
def vnp4_1() -> NativeSwitch:
    """A worker with an id in cluster 5, one without in cluster 6, one parameter server."""
    programmer = Programmer("vnp4_1")
    for reason in Refusal:
        programmer.add("refusals", reason, "refuse")
    programmer.add("workers", address(WORKER), "assign", 5, 77, 8, 4, 3, EPOCH, ANY_PORT)
    programmer.add("workers", address(NEIGHBOUR), "assign", 6, 0, 12, 1, 0, 0, ANY_PORT)
    programmer.add("workers", address(SERVER), "not_a_worker", ANY_PORT)
    programmer.add("parameter_servers", address(SERVER), "admit", ANY_PORT, mac_bits(SERVER.mac), SERVER.port)
    return programmer.switch


def _vnp4_2() -> Programmer:
    programmer = Programmer("vnp4_2")
    programmer.add("cluster_multicast", 5, "multicast", CLUSTER_GROUP)
    for port, endpoint in ((WORKERS_PORT, WORKER), (WORKERS_PORT, NEIGHBOUR), (SERVERS_PORT, SERVER)):
        programmer.add("forwarding", Lpm(address(endpoint), 32), "forward", port)
    programmer.add("bridging", mac_bits(WORKER.mac), "forward", WORKERS_PORT)
    programmer.add("bridging", (1 << 48) - 1, "flood", FLOOD_GROUP)
    return programmer


@cache
def vnp4_2() -> NativeSwitch:
    """VNP4₂ as the twin has it, with its groups and members."""
    programmer = _vnp4_2()
    for member, (_, endpoint) in enumerate(MEMBERS, start=1):
        programmer.add("members", member, "deliver", *_delivery(endpoint))
    replicas = [Replica(port, member) for member, (port, _) in enumerate(MEMBERS, start=1)]
    programmer.switch.set_multicast_group(CLUSTER_GROUP, replicas)
    programmer.switch.set_multicast_group(FLOOD_GROUP, [Replica(port, 0) for port in FLOOD_PORTS])
    return programmer.switch


@cache
def _probe() -> NativeSwitch:
    """VNP4₂ without replication: the port that a frame leaves by names the group it was for."""
    switch = _vnp4_2().switch
    for group in (CLUSTER_GROUP, FLOOD_GROUP):
        switch.set_multicast_group(group, [Replica(PROBE_PORT + group, 0)])
    return switch


def _delivery(endpoint: Endpoint) -> tuple[int, int, int]:
    return mac_bits(endpoint.mac), address(endpoint), endpoint.port


def set_tables(box: Box) -> None:
    """The groups and members of :func:`vnp4_2`, in the box's own tables."""
    members = [Copy(port, *_delivery(endpoint)) for port, endpoint in MEMBERS]
    box.registers.set_group(CLUSTER_GROUP, members)
    box.registers.set_group(FLOOD_GROUP, [Copy(port) for port in FLOOD_PORTS])


def first(metadata: Mapping[str, int], head: bytes) -> Outcome | None:
    """VNP4₁, run on a frame's headers."""
    port, data = metadata["src"], head
    if port == CPU_PORT:
        data = pack(layouts.PACKET_OUT, {"egress_port": metadata["dst"]}) + head
    for out, sent in vnp4_1().process(port, data):
        if out == CPU_PORT:
            return Outcome(sent[layouts.PACKET_IN.size :], {"punt": 1})
        shim, frame = unpack(TUSER, sent), sent[TUSER.size :]
        after = {name: shim[name] for name in shim if name != "size"}
        five_tuple = head[26:34] + head[23:24] + head[34:38]
        if shim["kind"] and shim["worker"] == zlib.crc32(five_tuple):
            question = int.from_bytes(five_tuple, "big")
            return Outcome(frame, {**after, "worker": 0}, question, "worker")
        return Outcome(frame, after)
    return None


def second(metadata: Mapping[str, int], head: bytes) -> Outcome | None:
    """VNP4₂, run on a frame's headers."""
    shim = pack(TUSER, {field.name: metadata[field.name] for field in TUSER.fields})
    for out, frame in _probe().process(QUEUE_PORT, shim + head):
        return Outcome(frame, {"group": out - PROBE_PORT} if out > PROBE_PORT else {"dst": out})
    return None


PROGRAMS = {1: first, 2: second}


def expected(port: int, frame: bytes, slots: int) -> list[Sent]:
    """What the twin's two programs send for a frame that meets an empty queue; port 510 is the host."""
    sent = []
    for out, between in vnp4_1().process(port, frame):
        if out == CPU_PORT:
            sent.append((CPU_PORT, between))
            continue
        values = {**unpack(TUSER, between), "slots": slots}
        sent += vnp4_2().process(QUEUE_PORT, pack(TUSER, values) + between[TUSER.size :])
    return sent
