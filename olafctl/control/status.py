"""Status: the wanted state of a deployment, the state of its devices and queue, and the differences."""

import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from ipaddress import IPv4Address
from itertools import islice
from pathlib import Path
from typing import Any

from olafctl.control import devices, members, shards
from olafctl.control.deploy import find_processes, recorded_testbed
from olafctl.control.desired import desired_state
from olafctl.control.devices import Sessions
from olafctl.control.hosts import deployed as hosts
from olafctl.control.locks import unless_changing
from olafctl.control.pipeline import DEVICES, TABLES, block_of, show_action, show_key
from olafctl.control.plan import plan_changes
from olafctl.control.show import describe_unplugged
from olafctl.control.store import RecordRole, Store
from olafctl.control.wanted import ports_lost
from olafctl.machines import everywhere
from olafctl.machines.running import Found
from olafctl.membership.model import Cluster
from olafctl.queue.registers import is_staging
from olafctl.targets import deployment, processes
from olafctl.targets.interface import Registers, Running, TargetDevice, device_name
from olafctl.testbed.model import Testbed, TestbedMachine
from olafctl.testbed.topology import Topology
from olafswitch.p4runtime.dataplane import CounterData
from olafswitch.p4runtime.entities import TableEntry
from olafswitch.p4runtime.failures import P4RuntimeFailed
from olafswitch.p4runtime.session import Session

_MOST_DRIFT = 100

Json = dict[str, Any]


@dataclass(frozen=True)
class KeptMembership:
    """A deployment's membership as it was read from its store."""

    address: str | None
    """The address of the daemon that keeps it; None without a daemon."""
    clusters: tuple[Cluster, ...]
    unread: str = ""
    """The reason why the daemon cannot read the store, so that the clusters may be old."""


def read_status(store: Store, kept: KeptMembership | None = None) -> Json:
    """Return everything an operator may ask about a deployment, ready to be printed as JSON.

    Its wanted state is the membership in ``kept``, else the one that this machine keeps. Where neither is
    known, tables and groups are not compared. Raises OlafError when the stored testbed cannot be read or a
    device breaks off.
    """
    testbed = members.current_members(recorded_testbed(store), store)
    unread = kept.unread if kept else members.place_elsewhere(store)
    if kept is not None:
        testbed = replace(testbed, clusters=kept.clusters)
    machines = everywhere.read_conditions(testbed)
    stopped = [*processes.list_stopped(store.folder), *_of_all(machines, "stopped")]
    away = any(part.get("away") for part in machines.values())
    running = None if stopped or away else find_processes(testbed, store)
    alive = running is not None and running.alive()
    with unless_changing(store.folder) as quiet:
        interrupted = quiet and store.record(RecordRole.WANTED) is not None
    report: Json = {
        "name": testbed.name,
        "testbed": str(testbed.source),
        "target": testbed.target,
        "running": alive,
        "damaged": deployment.is_damaged(store.folder),
        "changing": not quiet and kept is None,
        "daemon": kept.address if kept else None,
        "membership_unread": unread or None,
        "interrupted": interrupted,
        "machines": [_show_machine(each, machines) for each in testbed.machines],
        "died": [*processes.list_died(store.folder), *_of_all(machines, "died")],
        "stopped": stopped,
        "engines": _show_engines(testbed),
        "clusters": _show_clusters(testbed),
        "unplugged": [],
        "parameter_servers": [_pick_fields(host, "name", "ip", "port") for host in testbed.parameter_servers],
    }
    if running is None or not alive:
        return report
    parts = [process for part in machines.values() for process in part.get("processes", ())]
    report["processes"] = [*processes_of(store.folder), *parts]
    stats = running.stats()
    counted = {str(number): counters for number, counters in stats.get("ports", {}).items()}
    with devices.watch_devices(running) as sessions:
        carriers = stats.get("carriers", {})
        report["ports"] = _show_ports(testbed, running, counted, carriers)
        report["unplugged"] = [*describe_unplugged(testbed.ports, carriers)]
        elsewhere = [host for part in machines.values() for host in part.get("hosts", ())]
        report["hosts"] = [*hosts.show_hosts(store.folder), *elsewhere]
        report["links"] = _show_links(testbed, counted)
        several = shards.threads_of(running)
        report["shards"] = {engine: list(threads.counted()) for engine, threads in several.items()}
        report["steering"] = dict(at for threads in several.values() for at in threads.steering().items())
        report["devices"] = _show_devices(running, sessions)
        queues = devices.at_once(_show_queue, running.queues.values())
        report["queues"] = dict(zip(running.queues, queues, strict=True))
        lost = [f"+ {part}" for part in (*_of_all(machines, "lost"), *_of_all(machines, "absent"))]
        report["drift"] = lost or _find_drift(testbed, store.folder, running, sessions, compares=not unread)
    return report


def _of_all(machines: Mapping[str, Found], what: str) -> list[str]:
    """Return ``what`` of every machine, each line with the machine's name."""
    return [f"{name}: {line}" for name, part in machines.items() for line in part.get(what, ())]


def _show_machine(machine: TestbedMachine, found: Mapping[str, Found]) -> Json:
    """Return a machine's state; ``away`` is why it cannot be reached, None where it answers."""
    part = found.get(machine.name, {})
    return {
        "name": machine.name,
        "address": machine.address,
        "away": part.get("away"),
        "running": bool(part.get("alive")),
    }


def is_healthy(report: Json) -> bool:
    """Return whether everything runs and is known to be in its wanted state."""
    known = not report["interrupted"] and not report["membership_unread"]
    return bool(report["running"]) and known and not report["drift"]


def _show_clusters(testbed: Testbed) -> list[Json]:
    return [
        {
            **_pick_fields(cluster, "number", "name", "group"),
            "mode": testbed.mode_of(cluster),
            **_pick_fields(cluster, "first", "segments"),
            "threshold": cluster.h if testbed.mode_of(cluster).sums else None,
            **_pick_fields(cluster, "halted", "epoch"),
            "workers": [
                _pick_fields(worker, "name", "ip", "udp_port", "port", "replica", "number")
                for worker in cluster.workers
            ],
        }
        for cluster in testbed.clusters
    ]


def _pick_fields(item: object, *names: str) -> Json:
    """Return these fields of ``item``, addresses as text."""
    values = ((name, getattr(item, name)) for name in names)
    return {name: str(value) if isinstance(value, IPv4Address) else value for name, value in values}


def _show_engines(testbed: Testbed) -> list[Json]:
    """Return each engine behind its parent, with the link to it."""
    topology = Topology(testbed)
    found = []
    for engine in testbed.engines:
        link = topology.up.get(engine.name)
        found.append(
            {
                "name": engine.name,
                "parent": topology.parent(engine.name),
                "link": None if link is None else asdict(link),
                "devices": [device_name(testbed, engine.name, block) for block in DEVICES],
            }
        )
    return found


def _show_queue(registers: Registers) -> Json:
    """Return ``registers``: status, counters and global settings, without the parameters of commands for
    indices, which have no meaning alone; and ``indices``: the settings of all indices, as ranges."""
    shown = {name: value for name, value in registers.read_all().items() if not is_staging(name)}
    return {"registers": shown, "indices": [part.as_json() for part in registers.settings()]}


def processes_of(folder: Path) -> list[Json]:
    """Return the processes of the deployment in ``folder``."""
    now = time.time()
    return [
        {
            "pid": process.pid,
            "command": " ".join(process.cmdline()[:4]),
            "uptime_seconds": round(now - process.create_time()),
        }
        for process in processes.find_processes(folder)
    ]


def _show_ports(
    testbed: Testbed, running: Running, counted: Mapping[str, Json], carriers: Mapping[str, bool]
) -> list[Json]:
    named = {port.number: port for port in testbed.ports}
    return [
        {
            "number": attachment.number,
            "name": named[attachment.number].name if attachment.number in named else "",
            "engine": named[attachment.number].engine if attachment.number in named else "",
            **_pick_fields(attachment, "transport", "path", "namespace"),
            "carrier": carriers.get(str(attachment.number)),
            "counters": counted.get(str(attachment.number), {}),
        }
        for attachment in running.attachments
    ]


def _show_links(testbed: Testbed, counted: Mapping[str, Json]) -> list[Json]:
    """Return the links between engines with the counts of each, up and down."""
    topology = Topology(testbed)
    return [
        {
            "from": name,
            "to": topology.parent(name),
            **_pick_fields(link, "port", "peer", "rate", "delay"),
            "counters": counted.get(str(link.port), {}),
        }
        for name, link in topology.up.items()
    ]


def _show_devices(running: Running, sessions: Sessions) -> Json:
    def of(device: TargetDevice) -> Json:
        there = devices.has_pipeline(device, sessions)
        contents = _show_contents(device.name, sessions[device.name], there)
        return {"device_id": device.device_id, "address": device.address, "pipeline": there, **contents}

    names = [device.name for device in running.devices]
    return dict(zip(names, devices.at_once(of, running.devices), strict=True))


def _show_contents(name: str, session: Session, has_pipeline: bool) -> Json:
    """Return a device's tables and groups; none without its pipeline."""
    if not has_pipeline:
        return {"tables": {}, "groups": {}}
    groups = sorted(session.multicast_groups(), key=lambda group: group.group_id)
    return {
        "tables": {table: _show_table(session, table) for table in TABLES[block_of(name)]},
        "groups": {
            str(group.group_id): [
                {"port": replica.egress_port, "member": replica.instance} for replica in group.replicas
            ]
            for group in groups
        },
    }


def _show_table(session: Session, table: str) -> Json:
    counted = _count_entries(session, table)
    return {
        "size": session.program.table_named(table).size,
        "entries": [
            {"key": show_key(entry), "action": show_action(entry), **count}
            for entry, count in sorted(counted.items(), key=lambda item: str(item[0]))
        ],
        "missed": _count_missed(session, table),
    }


def _count_entries(session: Session, table: str) -> dict[TableEntry, Json]:
    """Return each entry's packets and bytes; None where the device does not count those of this table."""
    try:
        return {entry: asdict(count) for entry, count in session.direct_counters(table).items()}
    except P4RuntimeFailed as error:
        if error.code != "UNIMPLEMENTED":
            raise
        return {entry: {"packets": None, "bytes": None} for entry in session.entries(table)}


def _count_missed(session: Session, table: str) -> Json | None:
    """Return the packets that matched no entry; None where the device does not count them."""
    try:
        missed: CounterData = session.default_counter(table)
    except P4RuntimeFailed:
        return None
    return asdict(missed)


def _find_drift(
    testbed: Testbed, folder: Path, running: Running, sessions: Sessions, compares: bool
) -> list[str]:
    if gone := ports_lost(folder):
        return [f"+ port {port.number} ({port.transport} {port.outer.path})" for port in gone]
    if lacking := devices.find_lacking(running, sessions):
        return [f"+ {device.name} pipeline" for device in lacking]
    absent = [f"+ host {stack.name} {stack.ip}" for stack in hosts.missing_hosts(folder)]
    if not compares:
        return absent
    wanted = desired_state(testbed)
    changes = plan_changes(devices.read_state(running, sessions, wanted), wanted)
    return list(islice((*absent, *changes.lines()), _MOST_DRIFT))
