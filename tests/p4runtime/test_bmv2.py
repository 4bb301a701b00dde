"""The session against the reference switch, with the project's own programs.

The switch runs in its own network namespace (its Thrift port listens everywhere) and is reached by a Unix
socket.
"""

import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from olafswitch.p4runtime.entities import (
    CounterData,
    DefaultAction,
    Exact,
    Lpm,
    MulticastGroup,
    Replica,
    TableEntry,
)
from olafswitch.p4runtime.failures import P4RuntimeFailed, WriteFailed
from olafswitch.p4runtime.session import Session
from tests.p4runtime.controller import SECONDS

P4SRC = Path(__file__).parents[2] / "p4src"
TOOLS = ("p4c-bm2-ss", "simple_switch_grpc", "unshare")
MISSING = [tool for tool in TOOLS if not shutil.which(tool)]
pytestmark = pytest.mark.skipif(bool(MISSING), reason=f"not on PATH: {', '.join(MISSING)}")

CPU_PORT = 510
ASSIGNED = {"cluster": 1, "worker": 70000, "index": 1, "segments": 1, "member": 0, "epoch": 0, "port": 1}
WORKER = TableEntry("workers", {"worker_addr": 0x0A000001}, "assign", ASSIGNED | {"cluster": 3})


@pytest.fixture(scope="module")
def programs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Provide a folder with NAME.json and NAME.p4info.txtpb for both programs."""
    folder = tmp_path_factory.mktemp("bmv2")
    for name in ("vnp4_1", "vnp4_2"):
        info = folder / f"{name}.p4info.txtpb"
        command = ["p4c-bm2-ss", "--std", "p4-16", str(P4SRC / f"{name}.p4")]
        subprocess.run(
            [*command, "-o", str(folder / f"{name}.json"), "--p4runtime-files", str(info)], check=True
        )
    return folder


@pytest.fixture
def address(tmp_path: Path) -> Iterator[str]:
    address = f"unix:{tmp_path}/p4runtime"
    switch = ["simple_switch_grpc", "--no-p4", "--device-id", "1", "--", "--grpc-server-addr", address]
    isolated = ["unshare", "--map-root-user", "--net", *switch, "--cpu-port", str(CPU_PORT)]
    with (tmp_path / "log").open("w") as log:
        process = subprocess.Popen(isolated, stdout=log, stderr=log, stdin=subprocess.DEVNULL)
        try:
            yield address
        finally:
            process.kill()
            process.wait(10)


def test_a_session_with_bmv2(address: str, programs: Path) -> None:
    with Session.connect(address, 1, election_id=5, name="vnp4_1") as session:
        assert session.is_primary
        assert session.cookie() is None
        assert session.api_version().startswith("1.")
        session.push(programs / "vnp4_1.p4info.txtpb", programs / "vnp4_1.json", cookie=77)
        assert session.cookie() == 77

        session.insert(WORKER)
        assert session.entries("workers") == {WORKER}
        assert session.entries() == {WORKER}
        with pytest.raises(WriteFailed) as failed:
            session.insert(WORKER)
        assert [each.code for each in failed.value.failures] == ["ALREADY_EXISTS"]
        assert session.direct_counters("workers") == {WORKER: CounterData(0, 0)}
        assert session.default_action("workers") == DefaultAction("workers", "unknown_worker")

        with Session.connect(address, 1, election_id=4, name="backup") as backup:
            assert not backup.is_primary
            with pytest.raises(P4RuntimeFailed, match="PERMISSION_DENIED"):
                backup.delete(WORKER)
            assert backup.elect(6)
            assert session.wait_for_primary(False, timeout=SECONDS)
            backup.delete(WORKER)
            assert backup.entries() == set()


def test_forwarding_and_replication_with_bmv2(address: str, programs: Path) -> None:
    route = TableEntry("forwarding", {"dst_addr": Lpm(0x0A010000, 16)}, "forward", {"port": 2})
    bridge = TableEntry("bridging", {"dst_mac": Exact(0x020000000001)}, "flood", {"group": 9})
    group = MulticastGroup(9, [Replica(2, 1), Replica(1, 1)])
    with Session.connect(address, 1, name="vnp4_2") as session:
        session.push(programs / "vnp4_2.p4info.txtpb", programs / "vnp4_2.json")
        session.insert(group)
        session.insert(route, bridge)
        assert session.entries() == {route, bridge}
        assert session.multicast_groups() == {group}
        changed = MulticastGroup(9, [Replica(3, 1)])
        session.modify(changed)
        assert session.multicast_groups() == {changed}
        session.delete(route, bridge)
        session.delete(changed)
        assert session.entries() == set()
        assert session.multicast_groups() == set()


def test_many_entries_are_written_changed_and_removed_at_once(address: str, programs: Path) -> None:
    workers = [
        TableEntry("workers", {"worker_addr": 0x0A000000 + n}, "assign", ASSIGNED | {"worker": n})
        for n in range(200)
    ]
    with Session.connect(address, 1) as session:
        session.push(programs / "vnp4_1.p4info.txtpb", programs / "vnp4_1.json")
        session.insert(*workers)
        session.modify(*workers)
        assert session.entries("workers") == set(workers)
        session.delete(*workers)
        assert session.entries() == set()
