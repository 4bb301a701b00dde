"""VNP4₁ and VNP4₂, compiled to native code, with the entries of a small testbed."""

from collections.abc import Iterator

import pytest

from olafctl import paths
from olafctl.wire.frames import Endpoint, mac_bits
from olafctl.wire.layouts import CPU_PORT, Refusal
from olafswitch.p4.compiler import compile_program
from olafswitch.p4.switch.native import NativeSwitch
from olafswitch.p4runtime.dataplane import ActionCall, Exact, Key, Lpm, Replica
from tests.p4src.frames import (
    CHILD,
    ENGINE,
    FAR,
    LINK_PORT,
    NEIGHBOUR,
    NEIGHBOUR_PORT,
    OTHER_LINK_PORT,
    SERVER,
    SERVER_PORT,
    STRANGER,
    STRANGER_PORT,
    WORKER,
    WORKER_PORT,
)


class Programmer:
    """A program on a switch, to which entries are added by the P4Info's names."""

    def __init__(self, program: str, architecture: str = "v1model") -> None:
        defines = {"VITISNETP4": "1"} if architecture == "xsa" else {}
        compiled = compile_program(paths.sources() / "p4src" / f"{program}.p4", defines=defines)
        self._info = compiled.p4info
        self.switch = NativeSwitch(cpu_port=CPU_PORT, architecture=architecture)
        self.switch.commit(self.switch.prepare(compiled.p4info, compiled.device_config))

    def add(self, table: str, match: int | Lpm, action: str, *params: int, **named: int) -> None:
        """Insert an entry into a table with one key field; ``named`` parameters that are missing are 0."""
        table_id = next(t.preamble.id for t in self._info.tables if t.preamble.alias == table)
        form = next(each for each in self._info.actions if each.preamble.alias == action)
        key: Key = (Exact(match) if isinstance(match, int) else match,)
        values = params or tuple(named.get(param.name, 0) for param in form.params)
        self.switch.insert(table_id, key, 0, ActionCall(form.preamble.id, values))


def address(endpoint: Endpoint) -> int:
    """Return an endpoint's IPv4 address as a table key."""
    return int(endpoint.ip)


@pytest.fixture(scope="session")
def vnp4_1() -> Iterator[NativeSwitch]:
    """Provide VNP4₁: member 3 of cluster 5, whose model has four segments from index 20 on, with a worker id
    and in epoch 2; a worker without an id in cluster 6, whose model has one segment; one parameter server;
    two engines below, one with its address in cluster 5, and a worker of which only its place is known."""
    programmer = Programmer("vnp4_1")
    programmer.add("workers", address(WORKER), "assign", 5, 77, 20, 4, 3, 2, WORKER_PORT)
    programmer.add("workers", address(NEIGHBOUR), "assign", 6, 0, 24, 1, 0, 0, NEIGHBOUR_PORT)
    programmer.add(
        "parameter_servers", address(SERVER), "admit", SERVER_PORT, mac_bits(SERVER.mac), SERVER.port
    )
    programmer.add("workers", address(SERVER), "not_a_worker", SERVER_PORT)
    programmer.add("parameter_servers", address(ENGINE), "admit", 0, mac_bits(ENGINE.mac), ENGINE.port)
    programmer.add("workers", address(ENGINE), "not_a_worker", 0)
    for port in (LINK_PORT, OTHER_LINK_PORT):
        programmer.add("links", port, "from_below")
    programmer.add("workers", address(CHILD), "assign", 5, 0, 20, 4, 1, 2, LINK_PORT)
    programmer.add("workers", address(FAR), "elsewhere", SERVER_PORT)
    for reason in Refusal:
        programmer.add("refusals", reason, "refuse")
    yield programmer.switch


@pytest.fixture(scope="session")
def vnp4_2() -> Iterator[NativeSwitch]:
    """Provide VNP4₂: cluster 5 is the worker and the neighbour; forwarding and bridging as usual."""
    programmer = Programmer("vnp4_2")
    programmer.add("cluster_multicast", 5, "multicast", 6)
    programmer.switch.set_multicast_group(6, [Replica(WORKER_PORT, 1), Replica(NEIGHBOUR_PORT, 2)])
    for member, endpoint in enumerate((WORKER, NEIGHBOUR), start=1):
        programmer.add("members", member, "deliver", mac_bits(endpoint.mac), address(endpoint), endpoint.port)
    programmer.add("forwarding", Lpm(address(WORKER) & 0xFFFFFF00, 24), "forward", SERVER_PORT)
    programmer.add("forwarding", Lpm(address(WORKER), 32), "forward", WORKER_PORT)
    programmer.add("forwarding", Lpm(address(STRANGER), 32), "forward", STRANGER_PORT)
    programmer.add("bridging", mac_bits(WORKER.mac), "forward", WORKER_PORT)
    yield programmer.switch
