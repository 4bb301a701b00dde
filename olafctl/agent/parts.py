"""The work of a machine's agent for a deployment: its share of the testbed, in the agent's own folder.

The folder records what was started, as a deployment's folder does. Nothing else is stored: running processes
are looked up each time.
"""

import base64
import shutil
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any

import psutil

from olafctl import __version__, quantities
from olafctl.control import logs
from olafctl.control.hosts import deployed
from olafctl.control.hosts.network import HostNetwork, place_network
from olafctl.control.locks import CHANGE, hold_lock
from olafctl.control.status import processes_of
from olafctl.control.store import Record, RecordRole, Store
from olafctl.control.wanted import (
    Wanted,
    check_startable,
    find_reusable,
    list_rewiring,
    ports_lost,
    prepare_testbed,
    rewire_ports,
    start_target,
    target_of,
)
from olafctl.machines.calls import READS
from olafctl.network import interfaces, nic
from olafctl.targets import deployment, processes, registry, testbeds
from olafctl.targets.control import ask_process
from olafctl.targets.interface import Progress, Running
from olafctl.targets.queue_process import SOCKET
from olafctl.testbed.ends import interface_of
from olafctl.testbed.machines import share_of
from olafctl.testbed.model import Testbed
from olafctl.wire.layouts import BEAT_BYTES
from olafswitch import cache, paths
from olafswitch.errors import BadInput, MissingTool, OlafError, Problem
from olafswitch.ports.transport import Transport

Json = dict[str, Any]
_MOST_LINES = 10_000
_ETHERNET = 14


def agent_home() -> Path:
    """Return the folder of everything that the agent of this user's machine runs."""
    return paths.state() / ".agent"


@dataclass(frozen=True)
class Part:
    """A deployment's share on this machine."""

    name: str

    def __post_init__(self) -> None:
        """Raise BadInput for a name that no deployment can have, such as a path."""
        try:
            quantities.name(self.name)
        except quantities.Unreadable:
            raise BadInput(Problem("is not a deployment's name", quantities.brief(self.name))) from None

    @property
    def folder(self) -> Path:
        return agent_home() / self.name

    def find_problems(self, testbed: str, machine: str) -> list[Json]:
        """Return the problems that prevent a start of the share here."""
        bed = self._load_share(testbed, machine)
        try:
            found = list(target_of(bed).problems(bed, self.folder))
        except MissingTool as error:
            found = list(error.problems)
        return [
            {**vars(problem), "where": problem.where.replace(str(bed.source), bed.name)}
            for problem in (*found, *_short_cables(bed))
        ]

    def prepare_build(self, testbed: str, machine: str, progress: Progress) -> Json:
        """Build the share, unless that was done. Raises OlafError."""
        build = prepare_testbed(self._load_share(testbed, machine), self.folder, progress).build
        return {"key": build.key, "fresh": build.fresh}

    def foresee_start(self, testbed: str, machine: str) -> list[str] | None:
        """Return the changes of the running share's front ports as lines of a diff; None where its engines
        would start again. Raises OlafError."""
        wanted = prepare_testbed(self._load_share(testbed, machine), self.folder, lambda _: None)
        running = find_reusable(wanted, Store(self.folder), partial(share_of, machine=machine))
        return None if running is None else list(list_rewiring(wanted, running))

    def start_engines(self, testbed: str, machine: str, progress: Progress) -> Json:
        """Start the share in place of the running one; what fits is left as it is, and ``started`` is false
        then. Raises OlafError."""
        bed = self._load_share(testbed, machine)
        self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        with hold_lock(self.folder, CHANGE):
            wanted = prepare_testbed(bed, self.folder, progress)
            store = Store(self.folder)
            running = find_reusable(wanted, store, partial(share_of, machine=machine))
            if running is None or list_rewiring(wanted, running):
                check_startable(wanted.target, bed, self.folder)
            store.put(RecordRole.WANTED, self._make_record(wanted))
            fresh = running is None
            if running is None:
                progress("starting")
                running = start_target(wanted, progress)
            else:
                rewire_ports(wanted, running, progress)
            store.confirm()
            return {**self._describe_running(running), "started": fresh}

    def find_running(self) -> Json | None:
        """Return what runs, and the state of its processes; None where nothing was ever started."""
        running = self.running()
        return None if running is None and not self.folder.exists() else self._describe_running(running)

    def find_deployed(self) -> Json | None:
        """Return the whole testbed of which this is a share; None where nothing was ever started."""
        record = Store(self.folder).record(RecordRole.RUNNING)
        return None if record is None else {"testbed": record.testbed}

    def running(self) -> Running | None:
        """Return the running target, if it answers."""
        with suppress(OlafError):
            record = Store(self.folder).record(RecordRole.RUNNING)
            if record is not None and not processes.list_stopped(self.folder):
                bed = share_of(testbeds.load_testbed(record.source, record.testbed), record.source.stem)
                return registry.get_target(record.target).find(bed, self.folder)
        return None

    def stop_engines(self) -> None:
        """End the share, and remove all of its parts. Raises OlafError."""
        if not self.folder.exists():
            return
        with hold_lock(self.folder, CHANGE):
            for name in registry.target_names():
                registry.get_target(name).stop(self.folder)
            shutil.rmtree(self.folder)

    def change_hosts(self, network: Json | None, dry: bool) -> Json:
        """Make those hosts of ``network`` that are behind ports here, or remove all. Return what changed, or
        (``dry``) would change, as lines of a diff, and the names of the hosts here. Raises OlafError."""
        if network is None:
            changed = deployed.plan_removal(self.folder) if dry else deployed.take_away(self.folder)
            return {"lines": list(changed.lines()), "names": []}
        if (running := self.running()) is None:
            raise OlafError(Problem("does not run here", self.name, "olafctl deploy TESTBED"))
        here = place_network(HostNetwork.from_json(network), running.attachments)
        with hold_lock(self.folder, CHANGE):
            changed = (deployed.plan_changes if dry else deployed.bring_hosts)(self.folder, here)
        return {"lines": list(changed.lines()), "names": [stack.name for stack in here.stacks]}

    def pause_hosts(self, paused: bool) -> None:
        """Begin or end the pause of the hosts. Raises OlafError."""
        (deployed.pause_hosts if paused else deployed.connect_hosts)(self.folder)

    def ask_process(self, request: Json, *, reads: bool) -> Any:
        """Return the answer of the share's process; ``reads`` refuses changes. Raises OlafError."""
        fields = dict(request)
        name = str(fields.pop("do", ""))
        if reads and name not in READS:
            raise BadInput(
                Problem(f"a reader may not {name[:40]}", self.name, "use a controller's certificate")
            )
        if name == "replay":
            raise BadInput(Problem("engines on several machines share no virtual time", self.name))
        return ask_process(self.folder / SOCKET, name, **fields)

    def read_pipeline(self, digest: str) -> str:
        """Return a P4Info or device_config of the running share, by its digest. Raises BadInput."""
        running = self.running()
        for device in running.devices if running else ():
            for path in (device.p4info, device.config):
                data = path.read_bytes()
                if cache.digest([data]) == digest:
                    return base64.b64encode(data).decode()
        raise BadInput(Problem("no device has that pipeline", self.name, "deploy again"))

    def read_logs(self, lines: int) -> list[Json]:
        """Return the last lines of each log."""
        found = logs.paths_of(Store(self.folder)) if self.folder.exists() else []
        return [
            {"log": path.name, "lines": list(logs.last_lines(path, min(lines, _MOST_LINES)))}
            for path in found
        ]

    def address_of(self, device: int) -> str:
        """Return the address of a device's P4Runtime. Raises BadInput."""
        for each in ask_process(self.folder / SOCKET, "devices"):
            if each["device_id"] == device:
                return str(each["address"])
        raise BadInput(Problem(f"device {device} does not run", self.name))

    def _load_share(self, testbed: str, machine: str) -> Testbed:
        """Return the share of a checked testbed; relative paths are below this folder. Raises BadInput."""
        bed = testbeds.load_testbed(self.folder / f"{machine}.yaml", testbed)
        if bed.name != self.name:
            raise BadInput(Problem(f"is the testbed of {bed.name}", self.name))
        mine = share_of(bed, machine)
        if not mine.engines:
            raise BadInput(Problem(f"the testbed has no engine on {machine}", self.name))
        return mine

    def _make_record(self, wanted: Wanted) -> Record:
        return Record(
            wanted.testbed.text, wanted.testbed.source.resolve(), wanted.target.name, wanted.build.key
        )

    def _describe_running(self, running: Running | None) -> Json:
        """Return ``devices``, each with its pipeline's digests, ``queues`` by the names that the process
        knows, ``attachments``, and the state of the processes."""
        devices: list[Json] = []
        with suppress(FileNotFoundError):  # a start was interrupted: the next one copies them again
            devices = [
                {
                    "device_id": each.device_id,
                    "p4info": cache.digest([each.p4info]),
                    "config": cache.digest([each.config]),
                }
                for each in (running.devices if running else ())
            ]
        recorded = deployment.load_deployment(self.folder)
        return {
            "alive": running is not None and running.alive(),
            "devices": devices,
            "queues": list(running.queues) if running else [],
            "attachments": [vars(each) for each in (running.attachments if running else ())],
            "lost": [
                f"port {each.number} ({each.transport} {each.outer.path})" for each in ports_lost(self.folder)
            ],
            "stopped": list(processes.list_stopped(self.folder)),
            "died": list(processes.list_died(self.folder)),
            "last_words": dict(processes.words_of_dead(self.folder)),
            "processes": processes_of(self.folder),
            "target": recorded.target if recorded else None,
            "hosts": deployed.show_hosts(self.folder),
            "absent": [f"host {stack.name} {stack.ip}" for stack in deployed.missing_hosts(self.folder)],
        }


def known_deployments() -> Sequence[str]:
    """Return the deployments that have a share here."""
    return sorted(folder.name for folder in agent_home().glob("*") if folder.is_dir())


def describe_agent() -> Json:
    """Return a description of this machine and its agent."""
    return {
        "version": __version__,
        "deployments": list(islice(known_deployments(), 1000)),
        "processors": psutil.cpu_count(),
        "no_hosts": interfaces.why_not(),
    }


def _short_cables(bed: Testbed) -> Sequence[Problem]:
    """Return a problem for each interface between engines that cannot take a frame of a whole slot."""
    longest = max(engine.beats for engine in bed.engines) * BEAT_BYTES
    found = []
    for port in bed.ports:
        if port.transport is not Transport.NIC:
            continue
        name, mtu = interface_of(port), nic.read_mtu(interface_of(port))
        if mtu is not None and mtu + _ETHERNET < longest:
            what = f"{name} takes {mtu} bytes, updates have up to {longest - _ETHERNET}"
            remedy = f"ip link set dev {name} mtu {longest - _ETHERNET}"
            found.append(Problem(what, f"{bed.name}: port {port.number}", remedy))
    return found
