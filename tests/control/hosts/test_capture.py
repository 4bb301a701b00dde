"""The files of ``olafctl capture``, read by programs that know nothing of Olaf."""

import io
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest
from scapy.utils import RawPcapNgReader

from olafctl.control.deploy import find_deployment
from olafctl.control.destroy import destroy_deployment
from olafctl.control.store import Store, folder_of
from olafswitch.ports.host import HostPort, open_host_port
from tests.control.hosts.conftest import SOON, bring_up, needs_interfaces

TO_RIGHT = bytes.fromhex("02000a000302") + bytes(6) + b"\x88\xb5"


@pytest.fixture(scope="module", params=["veth", "unix"])
def lab(request: pytest.FixtureRequest, place: Path) -> Iterator[str]:
    """Provide the transport of a deployment for all of these tests."""
    if request.param == "veth" and needs_interfaces.args[0]:
        pytest.skip(needs_interfaces.kwargs["reason"])
    ports = [(f"name: {name}}}", f"name: {name}, transport: {request.param}}}") for name in ("left", "right")]
    bring_up("lab", *ports, with_hosts=False)
    yield request.param
    destroy_deployment(Store(folder_of("lab")))


@contextmanager
def capturing(*words: str) -> Iterator["subprocess.Popen[bytes]"]:
    """Yield a capture that has begun."""
    line = [sys.executable, "-m", "olafctl", "capture", *words]
    with subprocess.Popen(line, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stderr is not None
        assert b"Ctrl-C" in (printed := process.stderr.readline()), printed
        yield process


def hosts() -> tuple[HostPort, HostPort]:
    """Return the hosts at the ports left and right."""
    _, running = find_deployment(Store(folder_of("lab")))
    assert running is not None
    left, right = [each for each in running.attachments if each.number in (4, 5)]
    return open_host_port(left), open_host_port(right)


def pass_frames(count: int) -> list[bytes]:
    """Send frames from left to right, and return them once they have arrived."""
    left, right = hosts()
    with closing(left), closing(right):
        frames = [TO_RIGHT + bytes([number]) * (50 + number) for number in range(count)]
        for frame in frames:
            left.send(frame)
        assert [right.receive(SOON) for _ in frames] == frames
    return frames


def read(file: Any) -> list[tuple[bytes, Any]]:
    """Return the frames of a file, by name or open, with the file's notes about each."""
    with RawPcapNgReader(file) as reader:
        return list(reader)


def test_a_capture_ended_by_ctrl_c_holds_every_frame(lab: str, tmp_path: Path) -> None:
    file = tmp_path / "right.pcapng"
    with capturing("right", "-w", str(file)) as process:
        begin = time.time_ns()
        frames = pass_frames(5)
        process.send_signal(signal.SIGINT)
        _, printed = process.communicate(timeout=SOON)
    assert (process.returncode, printed.decode()) == (0, "5 frames captured, 0 lost\n")
    seen = read(str(file))
    assert [frame for frame, _ in seen] == frames
    for _, about in seen:
        assert (about.ifname, about.tsresol) == (b"right", 10**9)
        assert begin <= about.tshigh << 32 | about.tslow <= time.time_ns()


def test_several_ports_to_standard_output_until_a_count(lab: str) -> None:
    if lab == "unix":
        pytest.skip("at a UNIX socket only what leaves the pipeline is heard")
    with capturing("left", "5", "-w", "-", "-c", "6") as process:
        frames = pass_frames(3)
        output, printed = process.communicate(timeout=SOON)
    assert (process.returncode, printed.decode()) == (0, "6 frames captured, 0 lost\n")
    found = read(io.BytesIO(output))
    for name, direction in ((b"left", 2), (b"right", 1)):
        mine = [(frame, about) for frame, about in found if about.ifname == name]
        assert [frame for frame, _ in mine] == frames
        assert {about.direction for _, about in mine} == {direction}


def test_a_reader_that_goes_away_ends_it(lab: str) -> None:
    with capturing("right", "-w", "-") as process:
        assert process.stdout is not None
        process.stdout.close()
        pass_frames(1)
        assert process.wait(SOON) == 0


@pytest.mark.skipif(shutil.which("capinfos") is None, reason="capinfos (tshark) is not installed")
def test_wireshark_finds_the_file_sound(lab: str, tmp_path: Path) -> None:
    file = tmp_path / "c.pcapng"
    with capturing("right", "-w", str(file), "-c", "2") as process:
        pass_frames(2)
        assert process.wait(SOON) == 0
    line = ["capinfos", "-M", str(file)]
    done = subprocess.run(line, capture_output=True, text=True, check=True)
    assert "nanoseconds (9)" in done.stdout
    assert "Name = right" in done.stdout
    assert "Number of packets = 2" in done.stdout


@pytest.mark.parametrize(
    ("words", "printed"),
    [
        (("middle", "-w", "-"), "port 'middle' does not exist"),
        (("left", "-w", "/no/such/folder/file"), "/no/such/folder/file: cannot be written: No such file"),
    ],
)
def test_what_cannot_be_captured_is_reported(lab: str, words: tuple[str, ...], printed: str) -> None:
    line = [sys.executable, "-m", "olafctl", "capture", *words]
    done = subprocess.run(line, capture_output=True, text=True, check=False)
    assert done.returncode in (1, 2)
    assert printed in done.stderr
