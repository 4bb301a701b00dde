"""A target's record of a deployment, written before anything is made, and how all of it is undone."""

import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from olafctl.network.netem import Impairment
from olafctl.targets import front_ports, processes, rendered
from olafctl.targets.front_ports import FrontPort
from olafctl.targets.interface import Progress, TargetDevice, device_name
from olafctl.testbed.model import Testbed, TestbedEngine, TestbedLink
from olafctl.testbed.topology import Topology
from olafswitch.errors import OlafError, Problem
from olafswitch.ports.attachment import Attachment
from olafswitch.ports.transport import Transport

_RECORD = "deployment.json"


@dataclass(frozen=True)
class EnginePart:
    """One engine of a deployment."""

    name: str
    queue_library: Path
    ports: Sequence[int]
    """The numbers of the engine's ports, front ports and those of its links."""
    shards: int = 1


def make_devices(testbed: Testbed, files: Callable[[str], tuple[Path, Path]]) -> Sequence[TargetDevice]:
    """Return the devices of ``testbed``, two for each engine, without addresses yet; ``files`` returns the
    P4Info and the device_config of a block."""
    blocks = [(engine.name, block) for engine in testbed.engines for block in rendered.BLOCKS]
    return [
        TargetDevice(device_name(testbed, engine, block), number, "", *files(block))
        for number, (engine, block) in enumerate(blocks, 1)
    ]


def find_trunks(testbed: Testbed) -> Sequence[TestbedLink]:
    """Return the links between engines."""
    return [link for link in testbed.links if link.peer is not None]


def make_parts(testbed: Testbed, queues: Sequence[Path]) -> Sequence[EnginePart]:
    """Return the engines of ``testbed``, each with its library of ``queues``."""
    topology = Topology(testbed)
    return [
        EnginePart(engine.name, queue, [port.number for port in topology.ports_of(engine)], testbed.shards)
        for engine, queue in zip(testbed.engines, queues, strict=True)
    ]


@dataclass(frozen=True)
class Deployment:
    """A deployment's parts. Device addresses are empty until it runs."""

    target: str
    ports: Sequence[FrontPort]
    devices: Sequence[TargetDevice]
    """Two devices for each engine, in the engines' order."""
    engines: Sequence[EnginePart]
    links: Sequence[TestbedLink]
    """The links between engines."""
    made: Sequence[int] = ()
    """The numbers of the front ports that are complete."""

    @property
    def all_ports(self) -> Sequence[int]:
        """The numbers of the front ports and of the links' ports."""
        return sorted({number for part in self.engines for number in part.ports})

    @property
    def attachments(self) -> Sequence[Attachment]:
        """The host sides of the front ports."""
        return [port.outer for port in self.ports]


def plan_deployment(
    target: str,
    testbed: Testbed,
    state: Path,
    queue: Callable[[TestbedEngine, Progress], Path],
    files: Callable[[str], tuple[Path, Path]],
    progress: Progress,
) -> Deployment:
    """Return the parts that ``target`` will make of ``testbed`` in ``state``, two devices for each engine:
    ``queue`` builds the library of an engine's queue, ``files`` returns the P4Info and the device_config of a
    block. Raises OlafError."""
    ports = front_ports.plan_ports(testbed, state, progress)
    engines = make_parts(testbed, [queue(engine, progress) for engine in testbed.engines])
    return Deployment(target, ports, make_devices(testbed, files), engines, find_trunks(testbed))


def save_deployment(state: Path, deployment: Deployment) -> None:
    """Write ``deployment`` down in ``state``, in one step."""
    new = state / f"{_RECORD}.new"
    new.write_text(json.dumps(asdict(deployment), default=str, indent=1) + "\n")
    new.replace(state / _RECORD)


def load_deployment(state: Path) -> Deployment | None:
    """Return the deployment recorded in ``state``; None when nothing readable is there."""
    try:
        record = json.loads((state / _RECORD).read_text())
        ports = [_parse_port(port) for port in record["ports"]]
        return Deployment(
            record["target"],
            ports,
            [parse_device(entry) for entry in record["devices"]],
            [
                EnginePart(part["name"], Path(part["queue_library"]), part["ports"], part.get("shards", 1))
                for part in record["engines"]
            ],
            [TestbedLink(**link) for link in record["links"]],
            record.get("made", [port.number for port in ports]),  # earlier versions wrote down no more
        )
    except (OSError, ValueError, KeyError, TypeError):
        return None


def require_deployment(state: Path) -> Deployment:
    """Return the deployment recorded in ``state``. Raises OlafError when nothing readable is there."""
    if (recorded := load_deployment(state)) is None:
        raise OlafError(Problem("holds no deployment", str(state)))
    return recorded


def is_damaged(state: Path) -> bool:
    """Return whether ``state`` has a record that cannot be read any more."""
    return (state / _RECORD).exists() and load_deployment(state) is None


def parse_device(entry: dict[str, Any]) -> TargetDevice:
    """Return a Device from its JSON form."""
    return TargetDevice(
        entry["name"], entry["device_id"], entry["address"], Path(entry["p4info"]), Path(entry["config"])
    )


@contextmanager
def start_engine(state: Path, deployment: Deployment, progress: Progress) -> Iterator[None]:
    """Start the engine of ``deployment`` inside the context: the old engine is gone, its front ports exist.

    Front ports that fit stay as they are, and so do hosts and their programs. A failure inside leaves no
    engine; front ports are left then if there were any before. Raises OlafError.
    """
    state.mkdir(parents=True, exist_ok=True)
    processes.end_engine(state)
    before = load_deployment(state)
    if before is None:
        undo_deployment(state)
        before = replace(deployment, ports=())
    try:
        ports, kept = front_ports.keep_ports(state, before.ports, before.made, deployment.ports)
        _remove_sockets(state)
        recorded = replace(deployment, ports=ports, made=kept)
        save_deployment(state, recorded)
        progress("making ports" if len(kept) < len(ports) else "keeping ports")
        front_ports.make_ports(state, [port for port in ports if port.number not in kept])
        save_deployment(state, replace(recorded, made=[port.number for port in ports]))
        yield
    except BaseException:
        if before.ports:
            processes.end_engine(state)
            _remove_sockets(state)
        else:
            undo_deployment(state)
        raise


def list_rewiring(state: Path, testbed: Testbed) -> Sequence[str]:
    """Return the differences between the running front ports of ``state`` and those of ``testbed``, as lines
    of a diff. Raises OlafError."""
    recorded, wanted = require_deployment(state), front_ports.place_ports(testbed, state)
    fit = front_ports.find_fitting(recorded.ports, recorded.made, wanted)
    return [
        f"{sign} port {port.number} ({port.transport} {port.outer.path})"
        for sign, ports in (("-", recorded.ports), ("+", wanted))
        for port in ports
        if port.number not in fit
    ]


def rewire_ports(state: Path, testbed: Testbed, progress: Progress, request: Callable[..., Any]) -> None:
    """Make the running front ports of ``state`` those of ``testbed`` while frames pass at the others.

    No port is a TAP. ``request`` is :func:`olafctl.targets.control.ask_process` of its process. The next call
    repairs a failure. Raises OlafError.
    """
    before, wanted = require_deployment(state), front_ports.plan_ports(testbed, state, progress)
    fit = front_ports.find_fitting(before.ports, before.made, wanted)
    request("close", ports=[port.number for port in before.ports if port.number not in fit])
    ports, kept = front_ports.keep_ports(state, before.ports, before.made, wanted)
    engines = make_parts(testbed, [part.queue_library for part in before.engines])
    recorded = replace(before, ports=ports, engines=engines, made=kept)
    save_deployment(state, recorded)
    front_ports.make_ports(state, [port for port in ports if port.number not in kept])
    request("open")
    save_deployment(state, replace(recorded, made=[port.number for port in ports]))


def undo_deployment(state: Path) -> None:
    """End every process, remove every interface and socket of the deployment in ``state``.

    Missing ones, and a missing folder, are no error. Raises OlafError when something remains.
    """
    processes.end_all(state)
    recorded = load_deployment(state)
    front_ports.remove_ports(state, recorded.ports if recorded else ())
    _remove_sockets(state)
    (state / _RECORD).unlink(missing_ok=True)


def _remove_sockets(state: Path) -> None:
    for path in state.glob("*.sock"):
        if path.is_socket():
            path.unlink(missing_ok=True)


def _parse_port(entry: dict[str, Any]) -> FrontPort:
    outer = entry["outer"]
    attachment = Attachment(outer["number"], Transport(outer["transport"]), outer["path"], outer["namespace"])
    impair = Impairment(**entry["impair"]) if entry.get("impair") else None
    transport = Transport(entry["transport"])
    folders, queues = entry.get("folders", ()), entry.get("queues", 1)
    return FrontPort(entry["number"], transport, entry["inner"], attachment, folders, impair, queues)
