"""Machines as namespaces of network, mounts and processes, joined by veths as cables, each with an agent; one
more, the desk, for olafctl. Ending a machine's first process ends all of it."""

import os
import secrets
import shutil
import subprocess
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

import psutil

from olafctl.machines.certificates import issue_pair
from olafctl.membership.model import Host
from olafctl.network import interfaces, ip, offload
from olafswitch.ports.namespace import run_within
from olaftest.daemon.daemon_process import TIMEOUT, DaemonProcess

MTU = 9600
DESK = "desk"
PORT = 9700
OPERATOR = "certs"
"""Folder of the certificates of the lab's authority, an operator's among them as ``client``."""
_SEVERAL = ["numtxqueues", "2", "numrxqueues", "2"]
_UNSHARED = ["unshare", "--net", "--mount", "--pid", "--fork"]
_FIRST = (
    "mkdir -p /run/netns; mount -t tmpfs olaf /run/netns; mount -t sysfs olaf /sys"
    "; ip link set lo up; echo; while :; do sleep 3600; done"
)


def why_not() -> str | None:
    """Say why there can be no machines here."""
    if reason := interfaces.why_not():
        return reason
    tried = subprocess.run([*_UNSHARED, "true"], check=False, capture_output=True, text=True)
    return tried.stderr.strip() or "unshare is refused" if tried.returncode else None


@dataclass
class LabMachine:
    """A machine: its first process, its folder, its address, and its agent when that runs."""

    name: str
    first: subprocess.Popen[bytes]
    folder: Path
    address: str
    agent: DaemonProcess | None = None

    @property
    def inside(self) -> psutil.Process:
        """The process that is the first one inside."""
        return psutil.Process(self.first.pid).children()[0]

    @property
    def network(self) -> str:
        """Its network namespace."""
        return f"/proc/{self.inside.pid}/ns/net"

    def command_inside(self, *argv: str) -> list[str]:
        """Return ``argv`` as a command inside."""
        return ["nsenter", f"--target={self.inside.pid}", "--net", "--mount", "--pid", "--", *argv]

    def run_ip(self, *argv: str) -> None:
        """Run ``ip`` inside."""
        subprocess.run(self.command_inside("ip", *argv), check=True)

    def processes(self, module: str) -> Sequence[psutil.Process]:
        """List the processes of this machine that run the module ``module``."""
        own, found = _pid_namespace(self.inside.pid), []
        for process in psutil.process_iter():
            with suppress(psutil.Error, OSError):
                if _pid_namespace(process.pid) == own and process.cmdline()[1:3] == ["-m", module]:
                    found.append(process)
        return found

    def kill_all(self) -> None:
        """Kill every process inside at once; its interfaces and files stay."""
        subprocess.run(self.command_inside("kill", "-KILL", "--", "-1"), check=False)


@dataclass
class MachineLab:
    """Some machines and the desk."""

    folder: Path
    machines: dict[str, LabMachine] = field(default_factory=dict)

    def olafctl(self, *argv: str, code: int = 0, role: str = OPERATOR) -> str:
        """Run a verb at the desk and return what it prints, after checking its exit code."""
        done = self.try_olafctl(*argv, role=role)
        said = f"{done.stdout[-3000:]}\n{done.stderr[-3000:]}"
        assert done.returncode == code, f"{argv}: {done.returncode}\n{said}"
        return done.stdout + done.stderr

    def try_olafctl(
        self, *argv: str, role: str = OPERATOR, at: str = DESK, **more: str
    ) -> subprocess.CompletedProcess[str]:
        """Run a verb, however it ends, with ``more`` of its environment."""
        line = self.machines[at].command_inside(sys.executable, "-m", "olafctl", *argv)
        environment = {**os.environ, **self.environment_at(at, role), **more}
        return subprocess.run(
            line, check=False, capture_output=True, text=True, env=environment, timeout=1000
        )

    def begin_python(self, *argv: str) -> subprocess.Popen[str]:
        """Begin Python at the desk with these arguments; its streams are pipes."""
        pipe, line = subprocess.PIPE, self.machines[DESK].command_inside(sys.executable, *argv)
        environment = {**os.environ, **self.environment_at()}
        return subprocess.Popen(line, stdin=pipe, stdout=pipe, stderr=pipe, text=True, env=environment)

    def make_daemon(self, testbed: Path, at: str = DESK, *options: str, listen: str = "") -> DaemonProcess:
        """Make a daemon of ``testbed``, to be started."""
        address = listen or f"unix:{self.machines[at].folder}/api.sock"
        arguments = ["daemon", str(testbed), "--listen", address, *options]
        return self._make_process(at, arguments, address)

    def start_agent(self, name: str, **more: str) -> None:
        """Start a machine's agent, with ``more`` of its environment, and wait until it serves."""
        machine, certs = self.machines[name], self.folder / OPERATOR
        address = f"{machine.address}:{PORT}"
        line = ["agent", "--listen", address, "--tls-ca", f"{certs}/ca.pem"]
        line += ["--tls-cert", f"{certs}/{name}.pem", "--tls-key", f"{certs}/{name}.key"]
        machine.agent = self._make_process(name, line, address, more)
        machine.agent.start()

    def kill_agent(self, name: str) -> None:
        """Kill the agent as kill -9 does."""
        agent = self.machines[name].agent
        assert agent is not None
        agent.kill()

    def join_cable(self, one: str, other: str, name: str) -> None:
        """Join two machines: at each end the interface is called ``name``."""
        ends = [str(self.machines[each].inside.pid) for each in (one, other)]
        peer = ["type", "veth", "peer", "name", name, "netns", ends[1], *_SEVERAL]
        ip.run_ip(["link", "add", "name", name, "netns", ends[0], *_SEVERAL, *peer])
        for each in (one, other):
            self.machines[each].run_ip(
                "link", "set", "dev", name, "arp", "off", "addrgenmode", "none", "mtu", str(MTU), "up"
            )

    def add_host(self, host: Host, machine: str, interface: str, others: Iterable[tuple[str, str]]) -> str:
        """Add a host behind a network card of a machine, which knows the MAC addresses of ``others``; return
        its network namespace."""
        self.machines[host.name] = made = _start_machine(self.folder, host.name, str(host.ip))
        self.join_cable(host.name, machine, interface)
        made.run_ip("link", "set", "dev", interface, "address", host.mac, "arp", "on")
        made.run_ip("address", "add", f"{host.ip}/8", "dev", interface)
        for ip_address, mac in others:
            made.run_ip(
                "neighbour", "replace", ip_address, "lladdr", mac, "dev", interface, "nud", "permanent"
            )
        run_within(made.network, lambda: offload.disable_offloads(interface))
        return made.network

    def cut_network(self, name: str, *, whole: bool = False, interface: str = "mgmt") -> None:
        """Take a machine off the network of the agents, or an ``interface`` off its cable; or bring it
        back."""
        self.machines[name].run_ip("link", "set", "dev", interface, "up" if whole else "down")

    def environment_at(self, at: str = DESK, role: str = OPERATOR) -> dict[str, str]:
        """Return what a verb needs at a machine, with the certificate of ``role``."""
        return {"OLAF_STATE": str(self.machines[at].folder), "OLAF_CERTS": str(self.folder / role)}

    def _make_process(
        self, at: str, arguments: Sequence[str], address: str, more: Mapping[str, str] = {}
    ) -> DaemonProcess:
        machine = self.machines[at]
        log, environment = machine.folder / f"{arguments[0]}.log", {**self.environment_at(at), **more}
        return DaemonProcess("olafctl", arguments, address, environment, machine.command_inside(), log)


@contextmanager
def lab(*names: str) -> Iterator[MachineLab]:
    """Run a desk and these machines, each with its agent, in a folder of their own."""
    # Short, for sockets.
    folder = Path("/tmp") / f"olafm{secrets.token_hex(3)}"
    folder.mkdir(mode=0o700)
    made = MachineLab(folder)
    try:
        certs = folder / OPERATOR
        issue_pair(certs, "client", (), 1)
        for role in ("controller", "reader"):
            issue_pair(certs, role, (), 1, role)
            client_folder(certs, folder / role, role)
        for place, name in enumerate((DESK, *names)):
            made.machines[name] = _start_machine(folder, name, f"10.97.0.{place + 1}")
        desk = made.machines[DESK]
        desk.run_ip("link", "add", "name", "br0", "type", "bridge")
        desk.run_ip("address", "add", f"{desk.address}/24", "dev", "br0")
        desk.run_ip("link", "set", "dev", "br0", "up")
        for name in names:
            machine = made.machines[name]
            peer = ["type", "veth", "peer", "name", "mgmt", "netns", str(machine.inside.pid)]
            ip.run_ip(["link", "add", "name", f"to-{name}", "netns", str(desk.inside.pid), *peer])
            desk.run_ip("link", "set", "dev", f"to-{name}", "master", "br0", "up")
            machine.run_ip("address", "add", f"{machine.address}/24", "dev", "mgmt")
            machine.run_ip("link", "set", "dev", "mgmt", "up")
            issue_pair(certs, name, (machine.address,), 1)
            made.start_agent(name)
        yield made
    finally:
        for machine in made.machines.values():
            _end_machine(machine)
        shutil.rmtree(folder)


def star_testbed(made: MachineLab, names: Sequence[str], mode: str = "olaf") -> str:
    """Write the testbed ``many``: its root on the first of these machines, a rack with a worker on each
    other."""
    racks = [*enumerate(names[1:], 2)]
    listed = ", ".join(f"{{name: {name}, address: {made.machines[name].address}:{PORT}}}" for name in names)
    engine = "indices: 4, slots: 16, beats: 4"
    down = ", ".join(f"{{number: {n}, name: d{n}, transport: nic, path: cable{n}}}" for n, _ in racks)
    leaves = "\n".join(
        f"  - {{name: r{n}, machine: {name}, {engine}, ports: [{{number: {100 + n}, name: h{n}, "
        f"transport: unix}}, {{number: {200 + n}, name: u{n}, transport: nic, path: cable{n}}}]}}"
        for n, name in racks
    )
    links = ", ".join(f"{{ends: [r{n}.u{n}, root.d{n}]}}" for n, _ in racks)
    workers = ", ".join(f"{{name: w{n}, port: h{n}, ip: 10.0.1.{n}}}" for n, _ in racks)
    return f"""
name: many
target: software
machines: [{listed}]
engines:
  - {{name: root, machine: m1, {engine}, ports: [{{number: 1, name: ps, transport: unix}}, {down}]}}
{leaves}
links: [{links}]
parameter_servers: [{{name: ps, port: ps, ip: 10.0.0.254}}]
clusters: [{{name: all, mode: {mode}, workers: [{workers}]}}]
"""


def client_folder(certs: Path, folder: Path, name: str) -> None:
    """Make the folder of the client that has the certificate ``name`` of ``certs``."""
    folder.mkdir()
    for source, target in ((certs / "ca.pem", "ca.pem"), *((certs / f"{name}.{end}", f"client.{end}")
                           for end in ("pem", "key"))):  # fmt: skip
        shutil.copyfile(source, folder / target)


def _pid_namespace(process: int) -> Path:
    """Return the namespace of processes that a process is in."""
    return Path(f"/proc/{process}/ns/pid").readlink()


def _start_machine(folder: Path, name: str, address: str) -> LabMachine:
    home = folder / name
    home.mkdir()
    line = [*_UNSHARED, "--kill-child", "--mount-proc", "sh", "-c", _FIRST]
    first = subprocess.Popen(line, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, start_new_session=True)
    assert first.stdout is not None
    first.stdout.readline()  # it is set up
    return LabMachine(name, first, home, address)


def _end_machine(machine: LabMachine) -> None:
    """End a machine: the kernel ends every process of a namespace whose first one ends; interfaces go with
    it."""
    with suppress(psutil.Error, IndexError):
        machine.inside.kill()
    machine.first.kill()
    machine.first.wait(TIMEOUT)
    if machine.agent is not None:
        machine.agent.kill()
