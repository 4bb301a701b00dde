"""Parts taken away from a running deployment: reported by status, restored by deploy."""

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from olafctl import paths
from olafctl.control.destroy import destroy_deployment
from olafctl.control.status import is_healthy, read_status
from olafctl.control.store import Store, all_names, folder_of
from olafctl.network import interfaces, ip
from olafctl.targets import front_ports, processes, testbeds
from olafctl.testbed.model import Testbed
from tests.control.conftest import bed, quietly


def test_a_port_that_was_taken_away_is_reported_and_made(laptop: Testbed) -> None:
    store = Store(folder_of("laptop"))
    socket = store.folder.resolve() / "ports" / "4.sock"
    socket.unlink()
    report = read_status(store)
    assert (report["drift"], is_healthy(report)) == ([f"+ port 4 (unix {socket})"], False)
    assert quietly(laptop, dry_run=True).started
    assert quietly(laptop).started
    assert is_healthy(read_status(store))
    assert quietly(laptop).changed is False


@pytest.mark.skipif(interfaces.why_not() is not None, reason=str(interfaces.why_not()))
def test_a_missing_interface_or_namespace_is_made_again(state: Path, tmp_path: Path) -> None:
    path = tmp_path / "bed.yaml"
    path.write_text((paths.sources() / "testbeds" / "laptop.yaml").read_text())
    laptop = testbeds.load_testbed(path)
    quietly(laptop)
    store = Store(folder_of("laptop"))
    name = interfaces.interface_of(store.folder, "p4")
    for lost in (["link", "delete", name], ["netns", "delete", interfaces.namespace_of(store.folder)]):
        ip.run_ip(lost)
        assert "+ port 4 (veth uplink)" in read_status(store)["drift"]
        assert quietly(laptop).started
        assert is_healthy(read_status(store))


def test_files_that_a_port_no_longer_has_are_missed(tmp_path: Path) -> None:
    laptop = bed(
        tmp_path / "bed.yaml",
        ("name: uplink, transport: unix}", "name: uplink, transport: pcap, path: up}"),
    )
    port = next(
        each for each in front_ports.plan_ports(laptop, tmp_path, lambda step: None) if each.number == 4
    )
    files = [Path(name) for name in port.inner.split(",")]
    assert list(front_ports.find_lost([port])) == [port]
    for file in files:
        file.touch()
    assert list(front_ports.find_lost([port])) == []


def test_a_damaged_build_is_reported_and_replaced(laptop: Testbed) -> None:
    store = Store(folder_of("laptop"))
    build = store.folder / "build"
    damages: list[Callable[[], object]] = [
        lambda: shutil.rmtree(build),
        lambda: (build / "vnp4_1" / "p4info.txtpb").write_text(""),
    ]
    for damage in damages:
        damage()
        report = read_status(store)
        assert ("+ vnp4_1 pipeline" in report["drift"], is_healthy(report)) == (True, False)
        assert quietly(laptop).started
        assert is_healthy(read_status(store))


def test_what_runs_without_a_record_is_not_taken_as_wanted(state: Path, tmp_path: Path) -> None:
    quietly(bed(tmp_path / "bed.yaml"))
    store = Store(folder_of("laptop"))
    (store.folder / "deployment.db").unlink()
    other = bed(tmp_path / "other.yaml", ("\nparameter_servers:", "  - {number: 9}\n\nparameter_servers:"))
    assert quietly(other, dry_run=True).started
    assert quietly(other).started
    assert len(read_status(store)["ports"]) == 5


def test_a_deployment_without_its_folder_is_known_and_ended(state: Path, tmp_path: Path) -> None:
    quietly(bed(tmp_path / "bed.yaml"))
    shutil.rmtree(state)
    assert all_names() == ("laptop",)
    destroy_deployment(Store(folder_of("laptop")))
    assert list(processes.find_processes(folder_of("laptop"))) == []
    assert list(interfaces.left_of(folder_of("laptop"))) == []
    assert (all_names(), list(state.iterdir())) == ((), [])
