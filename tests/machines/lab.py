"""Machines as namespaces of network, mounts and processes, joined by veths as cables, each with an agent; one
more, the desk, for olafctl. Ending a machine's first process ends all of it."""

import os
import secrets
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

import psutil

from olafctl.machines.certificates import issue
from olafctl.network import interfaces, ip

DEADLINE = 60.0
MTU = 9600
DESK = "desk"
PORT = 9700
_SEVERAL = ["numtxqueues", "2", "numrxqueues", "2"]
_FIRST = (
    "mkdir -p /run/netns; mount -t tmpfs olaf /run/netns; mount -t sysfs olaf /sys"
    "; ip link set lo up; echo; while :; do sleep 3600; done"
)


def why_not() -> str | None:
    """Why there can be no machines here."""
    if reason := interfaces.why_not():
        return reason
    tried = subprocess.run(
        ["unshare", "--net", "--mount", "--pid", "--fork", "true"],
        check=False,
        capture_output=True,
        text=True,
    )
    return tried.stderr.strip() or "unshare is refused" if tried.returncode else None


@dataclass
class Machine:
    """A machine: its first process, its folder, and its agent when that runs."""

    name: str
    first: subprocess.Popen[bytes]
    folder: Path
    address: str
    agent: subprocess.Popen[bytes] | None = None

    @property
    def inside(self) -> psutil.Process:
        """The process that is the first one inside."""
        return psutil.Process(self.first.pid).children()[0]

    def entered(self, *argv: str) -> list[str]:
        return ["nsenter", f"--target={self.inside.pid}", "--net", "--mount", "--pid", "--", *argv]

    def ip(self, *argv: str) -> None:
        subprocess.run(self.entered("ip", *argv), check=True)

    def processes(self, module: str) -> Sequence[psutil.Process]:
        """Processes of this machine that run the module ``module``."""
        own, found = _space(self.inside.pid), []
        for process in psutil.process_iter():
            with suppress(psutil.Error, OSError):
                if _space(process.pid) == own and process.cmdline()[1:3] == ["-m", module]:
                    found.append(process)
        return found


@dataclass
class Lab:
    """Some machines and the desk."""

    folder: Path
    machines: dict[str, Machine] = field(default_factory=dict)

    def olafctl(self, *argv: str, code: int = 0, role: str = "client") -> str:
        """Run a verb at the desk and return what it prints, after checking its exit code."""
        done = self.tried(*argv, role=role)
        said = f"{done.stdout[-3000:]}\n{done.stderr[-3000:]}"
        assert done.returncode == code, f"{argv}: {done.returncode}\n{said}"
        return done.stdout + done.stderr

    def tried(self, *argv: str, role: str = "client") -> subprocess.CompletedProcess[str]:
        """A verb at the desk, however it ended."""
        line = self.machines[DESK].entered(sys.executable, "-m", "olafctl", *argv)
        environment = self.environment(role=role)
        return subprocess.run(line, check=False, capture_output=True, text=True, env=environment, timeout=600)

    @contextmanager
    def daemon(self, testbed: str) -> Iterator[None]:
        """A daemon at the desk meanwhile."""
        line = self.machines[DESK].entered(sys.executable, "-m", "olafctl", "daemon", testbed)
        log = (self.folder / "daemon.out").open("ab")
        running = subprocess.Popen(line, env=self.environment(), stdout=subprocess.PIPE, stderr=log)
        try:
            assert running.stdout is not None
            assert b"Ctrl-C" in running.stdout.readline(), (self.folder / "daemon.out").read_text()
            yield
        finally:
            for process in psutil.Process(running.pid).children():
                process.terminate()
            running.wait(DEADLINE)

    def start(self, name: str) -> None:
        """Start a machine's agent and wait until it serves."""
        machine, certs = self.machines[name], self.folder / "certs"
        line = machine.entered(
            sys.executable, "-m", "olafctl", "agent", "--listen", f"{machine.address}:{PORT}"
        )
        line += ["--tls-cert", f"{certs}/{name}.pem", "--tls-key", f"{certs}/{name}.key"]
        line += ["--tls-ca", f"{certs}/ca.pem"]
        log = (machine.folder / "agent.out").open("ab")
        machine.agent = subprocess.Popen(
            line, env=self.environment(name, "client"), stdout=subprocess.PIPE, stderr=log
        )
        assert machine.agent.stdout is not None
        assert b"serving" in machine.agent.stdout.readline(), (machine.folder / "agent.out").read_text()

    def kill_agent(self, name: str) -> None:
        """As kill -9."""
        agent = self.machines[name].agent
        assert agent is not None
        for process in psutil.Process(agent.pid).children(recursive=True)[:1]:
            process.kill()
        agent.wait(DEADLINE)

    def cable(self, one: str, other: str, name: str) -> None:
        """Join two machines: at each end the interface is called ``name``."""
        ends = [str(self.machines[each].inside.pid) for each in (one, other)]
        peer = ["type", "veth", "peer", "name", name, "netns", ends[1], *_SEVERAL]
        ip.run(["link", "add", "name", name, "netns", ends[0], *_SEVERAL, *peer])
        for each in (one, other):
            self.machines[each].ip(
                "link", "set", "dev", name, "arp", "off", "addrgenmode", "none", "mtu", str(MTU), "up"
            )

    def cut(self, name: str, *, whole: bool = False) -> None:
        """Take a machine off the network of the agents, or bring it back."""
        self.machines[name].ip("link", "set", "dev", "mgmt", "up" if whole else "down")

    def environment(self, at: str = DESK, role: str = "client") -> dict[str, str]:
        machine = self.machines[at]
        return {**os.environ, "OLAF_STATE": str(machine.folder), "OLAF_CERTS": str(self.folder / role)}


@contextmanager
def lab(folder: Path, *names: str) -> Iterator[Lab]:
    """A desk and these machines, each with its agent."""
    made = Lab(folder)
    try:
        certs = folder / "certs"
        for role in ("operator", "controller", "reader"):
            issue(certs, role, (), 1, role)
            client_folder(certs, folder / ("client" if role == "operator" else role), role)
        for place, name in enumerate((DESK, *names)):
            made.machines[name] = _machine(folder, name, f"10.97.0.{place + 1}")
        desk = made.machines[DESK]
        desk.ip("link", "add", "name", "br0", "type", "bridge")
        desk.ip("address", "add", f"{desk.address}/24", "dev", "br0")
        desk.ip("link", "set", "dev", "br0", "up")
        for name in names:
            machine = made.machines[name]
            peer = ["type", "veth", "peer", "name", "mgmt", "netns", str(machine.inside.pid)]
            ip.run(["link", "add", "name", f"to-{name}", "netns", str(desk.inside.pid), *peer])
            desk.ip("link", "set", "dev", f"to-{name}", "master", "br0", "up")
            machine.ip("address", "add", f"{machine.address}/24", "dev", "mgmt")
            machine.ip("link", "set", "dev", "mgmt", "up")
            issue(certs, name, (machine.address,), 1)
            made.start(name)
        yield made
    finally:
        for machine in made.machines.values():
            _end(machine)


def _space(process: int) -> Path:
    """The namespace of processes that a process is in."""
    return Path(f"/proc/{process}/ns/pid").readlink()


def _machine(folder: Path, name: str, address: str) -> Machine:
    home = folder / name
    home.mkdir()
    line = [
        "unshare",
        "--net",
        "--mount",
        "--pid",
        "--fork",
        "--kill-child",
        "--mount-proc",
        "sh",
        "-c",
        _FIRST,
    ]
    first = subprocess.Popen(line, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, start_new_session=True)
    assert first.stdout is not None
    first.stdout.readline()  # it is set up
    return Machine(name, first, home, address)


def _end(machine: Machine) -> None:
    """The kernel ends every process of a namespace whose first one ends; its interfaces go with it."""
    with suppress(psutil.Error, IndexError):
        machine.inside.kill()
    machine.first.kill()
    machine.first.wait(DEADLINE)
    if machine.agent is not None:
        machine.agent.wait(DEADLINE)


def client_folder(certs: Path, folder: Path, name: str) -> None:
    """The folder of the client that has the certificate ``name`` of ``certs``."""
    folder.mkdir()
    for source, target in (
        ("ca.pem", "ca.pem"),
        (f"{name}.pem", "client.pem"),
        (f"{name}.key", "client.key"),
    ):
        (folder / target).write_bytes((certs / source).read_bytes())


def until(reached: object, seconds: float = DEADLINE) -> None:
    """Ask again until ``reached`` says so. Fails after the deadline."""
    assert callable(reached)
    end = time.monotonic() + seconds
    while not reached():
        assert time.monotonic() < end, f"not reached within {seconds} s"


def short_folder() -> Path:
    """A folder with a short path, for sockets."""
    folder = Path("/tmp") / f"olafm{secrets.token_hex(3)}"
    folder.mkdir(mode=0o700)
    return folder
