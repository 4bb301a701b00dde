"""A deployment's veth pairs and namespace: named after its state folder, so that they are found again with
that folder alone, whatever died in between."""

import glob
import hashlib
import json
import os
import re
import secrets
from collections.abc import Callable, Mapping, Sequence, Set
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from olafctl.network import ip, offload, steering, trial
from olafswitch.errors import MissingTool, OlafError, Problem
from olafswitch.ports import tap
from olafswitch.ports.namespace import HOME, namespace_exists, run_within

MTU = 9600
_CAPABILITIES = {12: "CAP_NET_ADMIN", 13: "CAP_NET_RAW", 21: "CAP_SYS_ADMIN"}
_HOST = ":"
"""The separator between a deployment's namespace and a host's name, which is in neither."""
_NAMESPACE = re.compile(rf"(olaf-.+-[0-9a-f]{{6}})(-cables|{_HOST}.*)?")
_ALIAS = 256
"""The bytes of an interface's alias, its end included (IFALIASZ)."""
_SYSCTL = Path("/proc/sys/net/ipv6/conf")


@dataclass(frozen=True)
class VethPair:
    """A veth pair: ``inner`` at the pipeline, ``outer`` for the host, in the deployment's namespace."""

    inner: str
    outer: str
    queues: int = 1
    """The number of queues of each end, over which flows are spread."""


def _mark_of(state: Path) -> str:
    return hashlib.sha256(str(state.resolve()).encode()).hexdigest()[:6]


def namespace_of(state: Path) -> str:
    """Return the namespace that holds the host sides of the deployment in ``state``."""
    return f"olaf-{state.name}-{_mark_of(state)}"


def cables_of(state: Path) -> str:
    """Return the namespace that holds the cables between processes of the deployment in ``state``."""
    return f"{namespace_of(state)}-cables"


def host_namespace_of(state: Path, host: str) -> str:
    """Return the namespace of the single ``host``, in the deployment in ``state``."""
    return f"{namespace_of(state)}{_HOST}{host}"


def receiver_of(state: Path) -> int | None:
    """Return the processor that receives for the hosts of the deployment in ``state``; None: any."""
    return steering.choose_processor(_mark_of(state))


def interface_of(state: Path, tail: str) -> str:
    """Return an interface name of the deployment in ``state``, with a ``tail`` of up to 5 characters."""
    name = f"olaf{_mark_of(state)}{tail}"
    assert len(name) <= 15, name
    return name


def why_not() -> str | None:
    """Return why this user cannot make interfaces, or None when it can."""
    if not ip.is_installed():
        return ip.NO_IP
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("CapEff:"):
            held = int(line.split()[1], 16)
            if lacking := [name for bit, name in _CAPABILITIES.items() if not held >> bit & 1]:
                return f"making interfaces needs root ({', '.join(lacking)})"
    return _find_refusal()


def why_no_tap() -> str | None:
    """Return why this user cannot make TAPs, or None when it can."""
    return why_not() or _tap_refusal()


@cache
def _find_refusal() -> str | None:
    """Return the kernel's error on a trial namespace with a veth pair: in a container, capabilities alone do
    not tell."""
    end = f"olaft{secrets.token_hex(4)}"
    try:
        with trial.trial_namespace() as name:
            ip.run_ip(["link", "add", "name", end, "type", "veth", "peer", "name", "try", "netns", name])
            try:
                run_within(name, lambda: None)
            finally:
                ip.try_to(["link", "delete", "dev", end])
    except (OlafError, OSError) as error:
        what = error.problems[0].what if isinstance(error, OlafError) else str(error.strerror)
        return f"making interfaces is not allowed here: {what}"
    return None


@cache
def _tap_refusal() -> str | None:
    try:
        os.close(tap.open_tap(f"olaft{secrets.token_hex(4)}"))
    except OSError as error:
        return f"/dev/net/tun makes no TAP: {error.strerror}"
    return None


def create_pairs(state: Path, pairs: Sequence[VethPair]) -> None:
    """Make the namespace of ``state``, if it does not exist, and ``pairs`` into it, up and silent.

    They have no IPv6, no ARP answers from the pipeline's side, and no offloads. Raises OlafError; interfaces
    made until then are left for :func:`remove_interfaces`.
    """
    namespace = namespace_of(state)
    if not namespace_exists(namespace):
        add_namespaces(state, [namespace])
    ip.run_batch(
        [],
        [
            f"link add name {pair.inner} {_queue_options(pair)} type veth"
            f" peer name {pair.outer} {_queue_options(pair)} "
            f"netns {namespace}"
            for pair in pairs
        ],
        state,
    )
    inner = [pair.inner for pair in pairs]
    outer = [pair.outer for pair in pairs]
    for name in inner:
        _silence_ipv6(name)
    ip.run_batch([], [f"link set dev {name} arp off addrgenmode none mtu {MTU} up" for name in inner], state)
    ip.run_batch(
        ["-n", namespace], [f"link set dev {name} addrgenmode none mtu {MTU} up" for name in outer], state
    )
    _disable_offloads(inner)
    run_within(namespace, lambda: _disable_offloads(outer))
    if (receiver := receiver_of(state)) is not None:
        steering.receive_on(receiver, namespace, outer, state)


def _queue_options(pair: VethPair) -> str:
    return f"numtxqueues {pair.queues} numrxqueues {pair.queues}"


def create_cables(state: Path, pairs: Sequence[VethPair]) -> None:
    """Make ``pairs`` with both ends in their own namespace, where only the deployment's processes hear them.
    Raises OlafError."""
    namespace = cables_of(state)
    add_namespaces(state, [namespace])
    ends = [name for pair in pairs for name in (pair.inner, pair.outer)]
    options = ["-n", namespace]
    ip.run_batch(
        options, [f"link add name {pair.inner} type veth peer name {pair.outer}" for pair in pairs], state
    )
    ip.run_batch(
        options, [f"link set dev {name} arp off addrgenmode none mtu {MTU} up" for name in ends], state
    )
    run_within(namespace, lambda: _disable_offloads(ends))


def adopt_interface(state: Path, interface: str, name: str) -> None:
    """Move ``interface`` (a TAP) into the namespace of ``state`` as ``name``, and bring it up.

    Raises OlafError.
    """
    namespace = namespace_of(state)
    ip.run_ip(["link", "set", "dev", interface, "netns", namespace, "name", name], state)
    ip.run_ip(
        ["-n", namespace, "link", "set", "dev", name, "addrgenmode", "none", "mtu", str(MTU), "up"], state
    )
    run_within(namespace, lambda: offload.disable_offloads(name))


def remove_interfaces(state: Path) -> None:
    """Remove every interface and namespace of ``state``, with its hosts', if they exist.

    Raises OlafError when one remains.
    """
    trial.sweep_namespaces()
    _remove_found(state, lambda: left_of(state))


def remove_but(state: Path, inner: Set[str]) -> None:
    """Remove the cables of ``state``, its interfaces but the pairs with these ``inner`` ends, and its
    namespace when no pair is left; its hosts' namespaces stay.

    Raises OlafError when one remains.
    """
    kept = {*inner, *(host_namespace_of(state, host) for host in hosts_of(state))}
    if inner:
        kept.add(namespace_of(state))
    _remove_found(state, lambda: [name for name in left_of(state) if name not in kept])


def _remove_found(state: Path, find: Callable[[], Sequence[str]]) -> None:
    found = find()
    if not found:
        return
    if not ip.is_installed():
        raise MissingTool(Problem(ip.NO_IP, found[0], "install it, then try again"))
    namespaces = set(namespaces_of(state))
    # They are removed one by one: removing a namespace first removes its pairs at some later time.
    for name in found:
        if name not in namespaces:
            ip.try_to(["link", "delete", "dev", name])
    for name in found:
        if name in namespaces:
            ip.try_to(["netns", "delete", name])
    if still := find():
        remedy = "as root: ip link delete, ip netns delete"
        raise OlafError(*(Problem("could not be removed", name, remedy) for name in still))


def left_of(state: Path) -> Sequence[str]:
    """Return the names of the interfaces here and of the namespaces that ``state`` still owns."""
    prefix = interface_of(state, "")
    interfaces = Path("/sys/class/net")
    found = sorted(entry.name for entry in interfaces.glob(f"{prefix}*")) if interfaces.is_dir() else []
    return [*found, *namespaces_of(state)]


def find_owners(home: Path) -> Sequence[str]:
    """Return the names of the folders in ``home``, existing or deleted, that still own a namespace."""
    found = {entry.name.partition(_HOST)[0].removesuffix("-cables") for entry in HOME.glob("olaf-*")}
    named = {namespace: namespace.removeprefix("olaf-").rpartition("-")[0] for namespace in sorted(found)}
    return [name for namespace, name in named.items() if name and namespace_of(home / name) == namespace]


def find_states() -> Mapping[str, Path | None]:
    """Return every deployment on this machine that still has a namespace, by the namespace's name: its state
    folder, existing or deleted; None when no namespace of it shows the folder."""
    found: dict[str, Path | None] = {}
    for name in sorted(entry.name for entry in HOME.glob("olaf-*")):
        if (ours := _NAMESPACE.fullmatch(name)) and found.get(ours[1]) is None:
            found[ours[1]] = _owner_of(name)
    return found


def _owner_of(namespace: str) -> Path | None:
    """Return the folder that :func:`add_namespaces` wrote down in a namespace."""
    try:
        links = json.loads(ip.read_output(["-n", namespace, "-json", "link", "show", "dev", "lo"]))
        return Path(links[0]["ifalias"])
    except (OlafError, OSError, ValueError, LookupError):
        return None


def add_namespaces(state: Path, names: Sequence[str]) -> None:
    """Make silent namespaces of the deployment in ``state``, their loopbacks up. Raises OlafError."""
    ip.run_batch([], [f"netns add {name}" for name in names], state)
    owner = str(state.resolve())
    alias = ["alias", owner] if len(os.fsencode(owner)) < _ALIAS else []
    for name in names:
        # The name holds only a digest; the loopback's alias names the owner when the folder is gone.
        ip.run_ip(["-n", name, "link", "set", "dev", "lo", "up", *alias], state)
        run_within(name, lambda: _silence_ipv6("default"))


def hosts_of(state: Path) -> Sequence[str]:
    """Return the hosts of the deployment in ``state`` that have their own namespace."""
    start = host_namespace_of(state, "")
    return sorted(entry.name.removeprefix(start) for entry in HOME.glob(f"{glob.escape(start)}*"))


def namespaces_of(state: Path) -> Sequence[str]:
    """Return the existing namespaces of ``state``: its hosts', its own, its cables'."""
    hosts = [host_namespace_of(state, host) for host in hosts_of(state)]
    return [*hosts, *(name for name in (namespace_of(state), cables_of(state)) if namespace_exists(name))]


def _disable_offloads(interfaces: Sequence[str]) -> None:
    for name in interfaces:
        offload.disable_offloads(name)


def _silence_ipv6(interface: str) -> None:
    # A read-only /proc/sys (containers) leaves addrgenmode none, which is enough for no noise.
    with suppress(OSError):
        (_SYSCTL / interface / "disable_ipv6").write_text("1")
