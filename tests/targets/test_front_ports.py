"""The places of front ports: chosen, named, made and removed."""

import dataclasses
from pathlib import Path

import pytest

from olafctl.network import interfaces
from olafctl.targets import deployment, front_ports, registry
from olafctl.targets.testbeds import load_testbed
from olafctl.testbed.model import Port, Testbed
from olafswitch.errors import OlafError
from olafswitch.ports.transport import Transport

LAPTOP = Path(__file__).resolve().parents[2] / "testbeds" / "laptop.yaml"


def bed_with(tmp_path: Path, *ports: Port) -> Testbed:
    return dataclasses.replace(load_testbed(LAPTOP), source=tmp_path / "bed.yaml", ports=ports)


def forbid(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(interfaces, "why_not", lambda: "making interfaces needs root (CAP_NET_ADMIN)")


def test_without_rights_ports_are_sockets_and_a_notice_says_why(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    forbid(monkeypatch)
    notices: list[str] = []
    bed = bed_with(tmp_path, Port(1, "ps", None, None), Port(2, "w", None, None))
    ports = front_ports.plan_ports(bed, tmp_path / "state", notices.append)
    assert [port.transport for port in ports] == [Transport.UNIX, Transport.UNIX]
    assert ports[0].outer.path == ports[0].inner == str(tmp_path / "state" / "ports" / "1.sock")
    assert len(notices) == 1
    assert "needs root" in notices[0]


def test_without_rights_a_requested_veth_is_an_error_a_port(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    forbid(monkeypatch)
    bed = bed_with(tmp_path, Port(1, "ps", Transport.VETH, None), Port(2, "w", Transport.TAP, None))
    with pytest.raises(OlafError) as caught:
        front_ports.plan_ports(bed, tmp_path, lambda _: None)
    assert [problem.where.rsplit(" ", 1)[1] for problem in caught.value.problems] == ["1", "2"]


def test_without_rights_bmv2_is_refused_once_whatever_its_ports(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    forbid(monkeypatch)
    bed = bed_with(tmp_path, Port(1, "ps", Transport.UNIX, None), Port(2, "w", Transport.UNIX, None))
    (problem,) = registry.get_target("bmv2").problems(bed, tmp_path / "state")
    assert problem.where == f"{tmp_path / 'bed.yaml'}: target bmv2"
    assert "needs root" in problem.what
    assert "use the target twin" in problem.remedy


def test_relative_paths_are_relative_to_the_testbed(tmp_path: Path) -> None:
    bed = bed_with(
        tmp_path,
        Port(1, "a", Transport.UNIX, "run/a.sock"),
        Port(2, "b", Transport.PCAP, "b"),
        Port(3, "c", Transport.PCAP, "c.in,/tmp/c.out"),
    )
    inner = [port.inner for port in front_ports.plan_ports(bed, tmp_path / "state", lambda _: None)]
    assert inner == [
        f"{tmp_path}/run/a.sock",
        f"{tmp_path}/b.in.pcap,{tmp_path}/b.out.pcap",
        f"{tmp_path}/c.in,/tmp/c.out",
    ]


@pytest.mark.skipif(interfaces.why_not() is not None, reason=str(interfaces.why_not()))
def test_veths_are_named_after_their_ports(tmp_path: Path) -> None:
    bed = bed_with(
        tmp_path,
        Port(1, "ps", None, None),
        Port(2, "a-name-that-is-too-long", None, None),
        Port(499, "x", Transport.VETH, "eth0"),
    )
    state = tmp_path / "state"
    ports = front_ports.plan_ports(bed, state, lambda _: None)
    assert [port.outer.path for port in ports] == ["ps", "port2", "eth0"]
    assert {port.outer.namespace for port in ports} == {interfaces.namespace_of(state)}
    front_ports.make_ports(state, ports)
    assert len(interfaces.left_of(state)) == 4
    front_ports.remove_ports(state, ports)
    assert not interfaces.left_of(state)


def test_obstacles_are_reported_a_port_and_nothing_is_made(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "file").touch()
    bed = bed_with(
        tmp_path,
        Port(1, "a", Transport.UNIX, "folder"),
        Port(2, "b", Transport.UNIX, "file"),
        Port(3, "c", Transport.UNIX, "file/c.sock"),
        Port(4, "d", Transport.PCAP, "folder,new/out.pcap"),
        Port(5, "e", Transport.PCAP, "e"),
        Port(6, "f", Transport.UNIX, "f" * 300),
    )
    found = front_ports.find_problems(bed, tmp_path / "state")
    assert [(problem.where.rsplit(" ", 1)[1], problem.what) for problem in found] == [
        ("1", f"{tmp_path}/folder is a folder"),
        ("2", f"{tmp_path}/file exists and is not a socket"),
        ("3", f"{tmp_path}/file is not a folder"),
        ("4", f"folder {tmp_path}/new does not exist"),
        ("6", str(tmp_path / ("f" * 60))[:60] + " cannot be used: File name too long"),
    ]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["file", "folder"]
    with pytest.raises(OlafError, match="is a folder"):
        front_ports.plan_ports(bed, tmp_path / "state", lambda _: None)


def test_a_relative_state_folder_keeps_its_pcap_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    bed = bed_with(tmp_path / "beds", Port(1, "a", Transport.PCAP, None))
    (port,) = front_ports.plan_ports(bed, Path("state"), lambda _: None)
    home = tmp_path / "state" / "ports"
    assert port.inner == f"{home}/1.in.pcap,{home}/1.out.pcap"


def test_folders_made_for_sockets_go_when_they_are_empty(tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    bed = bed_with(
        tmp_path,
        Port(1, "a", Transport.UNIX, "socks/deep/1.sock"),
        Port(2, "b", Transport.UNIX, "socks/other/2.sock"),
        Port(3, "c", Transport.UNIX, "mine/3.sock"),
    )
    state = tmp_path / "state"
    state.mkdir()
    ports = front_ports.plan_ports(bed, state, lambda _: None)
    deployment.save_deployment(state, deployment.Deployment("twin", ports, (), (), ()))
    front_ports.make_ports(state, ports)
    (tmp_path / "socks" / "other" / "notes").touch()
    deployment.undo_deployment(state)
    left = sorted(str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*"))
    assert left == ["mine", "socks", "socks/other", "socks/other/notes", "state"]


def test_sockets_lie_in_folders_with_commas(tmp_path: Path) -> None:
    home = tmp_path / "a,b"
    state = home / "state"
    state.mkdir(parents=True)
    bed = bed_with(home, Port(1, "a", Transport.UNIX, None), Port(2, "b", Transport.UNIX, "mine/2,.sock"))
    ports = front_ports.plan_ports(bed, state, lambda _: None)
    assert [port.inner for port in ports] == [f"{state}/ports/1.sock", f"{home}/mine/2,.sock"]
    front_ports.make_ports(state, ports)
    assert sorted(path.name for path in tmp_path.rglob("*")) == ["a,b", "mine", "ports", "state"]
    front_ports.remove_ports(state, ports)
    assert not (home / "mine").exists()


@pytest.mark.parametrize(("state", "bed"), [("a,b", "beds"), ("state", "a,b")])
def test_pcap_files_in_a_folder_with_a_comma_are_refused(tmp_path: Path, state: str, bed: str) -> None:
    path = None if state == "a,b" else "p"
    testbed = bed_with(tmp_path / bed, Port(1, "a", Transport.PCAP, path))
    [problem] = front_ports.find_problems(testbed, tmp_path / state)
    assert problem.where.endswith("port 1")
    assert "comma" in problem.what and "a,b" in problem.what
    assert "OLAF_STATE" in problem.remedy
    assert not list(tmp_path.iterdir())


def test_pcap_files_of_their_own_work_with_any_folder_name(tmp_path: Path) -> None:
    files = f"{tmp_path}/in.pcap,{tmp_path}/out.pcap"
    testbed = bed_with(tmp_path / "a,b", Port(1, "a", Transport.PCAP, files))
    assert front_ports.plan_ports(testbed, tmp_path / "c,d", lambda _: None)[0].inner == files
