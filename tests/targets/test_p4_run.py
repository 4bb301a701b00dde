"""``olafctl p4 run``: any v1model program as a switch with real ports and a P4Runtime server."""

import os
import re
import resource
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from olafctl.cli.main import main
from olafctl.network import interfaces, ip, offload, trial
from olafswitch.p4runtime.session import Session
from olafswitch.ports.host import PcapHostPort, UnixHostPort
from olafswitch.ports.offloads import describe_offloads

from .conftest import why_not

pytestmark = pytest.mark.skipif(why_not("twin") is not None, reason=str(why_not("twin")))

SOON = 60.0
HUB = """
#include <core.p4>
#include <v1model.p4>
header ethernet_t { bit<48> dst; bit<48> src; bit<16> type; }
struct headers_t { ethernet_t ethernet; }
struct meta_t { }
parser P(packet_in packet, out headers_t hdr, inout meta_t meta, inout standard_metadata_t standard) {
    state start { packet.extract(hdr.ethernet); transition accept; }
}
control Check(inout headers_t hdr, inout meta_t meta) { apply { } }
control Switch(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t standard) {
    action send(bit<9> port) { standard.egress_spec = port; }
    action drop() { mark_to_drop(standard); }
    table out_of {
        key = { standard.ingress_port : exact; }
        actions = { send; drop; }
        default_action = drop();
        const entries = { 1 : send(2); 2 : send(1); 3 : send(7); }
    }
    apply { out_of.apply(); }
}
control Leave(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t standard) { apply { } }
control Compute(inout headers_t hdr, inout meta_t meta) { apply { } }
control Deparse(packet_out packet, in headers_t hdr) { apply { packet.emit(hdr.ethernet); } }
V1Switch(P(), Check(), Switch(), Leave(), Compute(), Deparse()) main;
"""


def start(folder: Path, *options: str) -> subprocess.Popen[str]:
    (folder / "hub.p4").write_text(HUB)
    argv = [sys.executable, "-m", "olafctl", "p4", "run", str(folder / "hub.p4")]
    argv += ["--listen", f"unix:{folder}/p4runtime.sock"]
    return subprocess.Popen([*argv, *options], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


@pytest.fixture
def hub(tmp_path: Path) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """Provide a running hub, and its P4Runtime address: port 1 is a socket, ports 2 and 3 are pcap files."""
    for name in ("2.in", "3.in"):
        (tmp_path / name).touch()
    process = start(
        tmp_path,
        *("--port", f"1=unix:{tmp_path}/1.sock"),
        *("--port", f"2=pcap:{tmp_path}/2.in,{tmp_path}/2.out"),
        *("--port", f"3=pcap:{tmp_path}/3.in,{tmp_path}/3.out"),
        *("--device-id", "0"),
    )
    assert process.stdout is not None
    line = process.stdout.readline()
    found = re.match(r"device 0 at (\S+), 3 ports", line)
    assert found, line + process.communicate()[1]
    yield process, found[1]
    process.kill()
    process.communicate()


def test_frames_go_as_the_program_says_and_are_counted(
    hub: tuple[subprocess.Popen[str], str], tmp_path: Path
) -> None:
    process, _ = hub
    first = UnixHostPort(tmp_path / "1.sock")
    second = PcapHostPort(f"{tmp_path}/2.in,{tmp_path}/2.out")
    third = PcapHostPort(f"{tmp_path}/3.in,{tmp_path}/3.out")
    frame = bytes(range(100))
    first.send(frame)
    assert second.receive(SOON) == frame
    third.send(frame)
    second.send(frame[::-1])
    assert first.receive(SOON) == frame[::-1]
    process.send_signal(signal.SIGTERM)
    output, _ = process.communicate(timeout=SOON)
    assert process.returncode == 0
    assert "port 1: 1 in, 1 out, 0 dropped" in output
    assert "port 2: 1 in, 1 out, 0 dropped" in output
    assert not (tmp_path / "1.sock").exists()


def test_a_capture_on_a_full_disk_lacks_frames_but_is_readable(
    hub: tuple[subprocess.Popen[str], str], tmp_path: Path
) -> None:
    process, _ = hub
    first = UnixHostPort(tmp_path / "1.sock")
    second = PcapHostPort(f"{tmp_path}/2.in,{tmp_path}/2.out")
    frames = [bytes([number]) * 100 for number in range(3)]
    first.send(frames[0])
    assert second.receive(SOON) == frames[0]
    room = (tmp_path / "2.out").stat().st_size + 40
    _, most = resource.prlimit(process.pid, resource.RLIMIT_FSIZE)
    resource.prlimit(process.pid, resource.RLIMIT_FSIZE, (room, most))
    first.send(frames[1])
    # The engine may take the first two before it writes its frames for port 2; it takes the third later.
    for _ in range(3):
        second.send(frames[1])
        assert first.receive(SOON) == frames[1]
    resource.prlimit(process.pid, resource.RLIMIT_FSIZE, (most, most))
    first.send(frames[2])
    assert second.receive(SOON) == frames[2]
    process.send_signal(signal.SIGTERM)
    output, _ = process.communicate(timeout=SOON)
    assert "port 2: 3 in, 2 out, 1 dropped" in output


def test_a_client_sees_the_program_that_runs(hub: tuple[subprocess.Popen[str], str]) -> None:
    with Session.connect(hub[1], 0, election_id=5) as session:
        assert session.is_primary
        assert len(list(session.entries())) == 3


@pytest.mark.skipif(interfaces.why_not() is not None, reason=str(interfaces.why_not()))
def test_offloads_of_veths_are_warned_of_until_they_are_off(tmp_path: Path) -> None:
    """Both ends are in sight, or one is in another namespace; a new veth has its offloads on."""
    with trial.trial_namespace() as away:
        names = [(f"w{os.getpid():x}{n}", f"w{os.getpid():x}{n}o") for n in range(2)]
        try:
            for (name, other), where in zip(names, ([], ["netns", away]), strict=True):
                ip.run_ip(["link", "add", "name", name, "type", "veth", "peer", "name", other, *where])
                ip.run_ip(["link", "set", "dev", name, "up"])
            ports = [word for n, (name, _) in enumerate(names) for word in ("--port", f"{n + 1}=veth:{name}")]
            process = start(tmp_path, *ports)
            assert process.stdout is not None
            process.stdout.readline()
            process.terminate()
            warned = process.communicate(timeout=SOON)[1]
            assert warned.count("TCP is slow or fails") == 2
            assert f"ethtool -K {names[0][1]} tx off tso off gso off\n" in warned
            assert f"ethtool -K {names[1][0]} tx off tso off gso off (and at its other end)\n" in warned
            for name, other in names:
                assert describe_offloads(name)
                offload.disable_offloads(name)
                with suppress(OSError):
                    offload.disable_offloads(other)
                assert describe_offloads(name) is None
        finally:
            for name, _ in names:
                ip.try_to(["link", "delete", "dev", name])


@pytest.mark.parametrize(
    ("options", "word", "code"),
    [
        (["--port", "1=wire:x"], "kind 'wire' does not exist", 2),
        (["--port", "1=veth:no-such-if0"], "no-such-if0", 1),
        (["--port", "1=unix:/no/such/folder/a.sock"], "cannot be opened", 1),
        (["--port", "1=pcap:/no/such/in,"], "/no/such/in", 1),
        (["--listen", "256.0.0.1:1"], "256.0.0.1", 2),
        (["--listen", "0.0.0.0:0"], "every host", 2),
        (["--listen", "9559"], "not an address", 2),
        (["--listen", "unix:/proc/none/a.sock"], "cannot listen", 1),
        (["--tls-cert", "hub.p4"], "--tls-key", 2),
    ],
)
def test_what_cannot_be_opened_is_one_clear_line(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    options: list[str],
    word: str,
    code: int,
) -> None:
    (tmp_path / "hub.p4").write_text(HUB)
    monkeypatch.chdir(tmp_path)
    argv = ["olafctl", "p4", "run", str(tmp_path / "hub.p4"), "--listen", "127.0.0.1:0", *options]
    monkeypatch.setattr(sys, "argv", argv)
    with pytest.raises(SystemExit) as ended:
        main()
    output, errors = capsys.readouterr()
    problems = [line for line in errors.splitlines() if line.startswith("error:")]
    assert len(problems) == 1, errors
    assert word in problems[0]
    assert (ended.value.code, output) == (code, "")
