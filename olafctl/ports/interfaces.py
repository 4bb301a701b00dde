"""A deployment's veth pairs and namespace: named after its state folder, so that they are found again
with nothing but that folder, whatever died in between."""

import hashlib
import os
import re
import secrets
import shutil
import subprocess
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from olafctl.errors import MissingTool, OlafError, Problem
from olafctl.ports import offload, tap
from olafctl.ports.namespace import within

MTU = 9600
_CAPABILITIES = {12: "CAP_NET_ADMIN", 13: "CAP_NET_RAW", 21: "CAP_SYS_ADMIN"}
_NO_IP = "the program `ip` (package iproute2) is not installed"
_SYSCTL = Path("/proc/sys/net/ipv6/conf")


@dataclass(frozen=True)
class Pair:
    """A veth pair: ``inner`` at the pipeline, ``outer`` for the host, in the deployment's namespace."""

    inner: str
    outer: str


def _mark(state: Path) -> str:
    return hashlib.sha256(str(state.resolve()).encode()).hexdigest()[:6]


def namespace_of(state: Path) -> str:
    """The namespace that holds the host sides of the deployment in ``state``."""
    return f"olaf-{state.name}-{_mark(state)}"


def cables_of(state: Path) -> str:
    """The namespace that holds the cables between processes of the deployment in ``state``."""
    return f"{namespace_of(state)}-cables"


def interface_of(state: Path, tail: str) -> str:
    """An interface name of the deployment in ``state``; ``tail`` of up to 5 characters tells which."""
    name = f"olaf{_mark(state)}{tail}"
    assert len(name) <= 15, name
    return name


def why_not() -> str | None:
    """Why this user cannot make interfaces, or None when it can."""
    if shutil.which("ip") is None:
        return _NO_IP
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("CapEff:"):
            held = int(line.split()[1], 16)
            if lacking := [name for bit, name in _CAPABILITIES.items() if not held >> bit & 1]:
                return f"making interfaces needs root ({', '.join(lacking)})"
    return _refusal()


def why_no_tap() -> str | None:
    """Why this user cannot make TAPs, or None when it can."""
    return why_not() or _tap_refusal()


@cache
def _refusal() -> str | None:
    """What the kernel says to a namespace with a veth pair into it: capabilities alone do not tell,
    in a container they may not count."""
    name = f"olaf-try-{secrets.token_hex(4)}"
    end = f"olaft{secrets.token_hex(4)}"
    try:
        _ip(["netns", "add", name])
        _ip(["link", "add", "name", end, "type", "veth", "peer", "name", "try", "netns", name])
        within(name, lambda: None)
    except (OlafError, OSError) as error:
        what = error.problems[0].what if isinstance(error, OlafError) else str(error.strerror)
        return f"making interfaces is not allowed here: {what}"
    finally:
        for made in (["link", "delete", "dev", end], ["netns", "delete", name]):
            subprocess.run(["ip", *made], capture_output=True, check=False)
    return None


@cache
def _tap_refusal() -> str | None:
    try:
        os.close(tap.open_tap(f"olaft{secrets.token_hex(4)}"))
    except OSError as error:
        return f"/dev/net/tun makes no TAP: {error.strerror}"
    return None


def create(state: Path, pairs: Sequence[Pair]) -> None:
    """Make the namespace of ``state`` and ``pairs`` into it, up and silent: no IPv6, no ARP answers
    from the pipeline's side, no offloads.

    Raises OlafError; what was made until then is left for :func:`remove`.
    """
    namespace = namespace_of(state)
    _add_namespace(namespace)
    _batch(
        [],
        [f"link add name {pair.inner} type veth peer name {pair.outer} netns {namespace}" for pair in pairs],
    )
    inner = [pair.inner for pair in pairs]
    outer = [pair.outer for pair in pairs]
    for name in inner:
        _silence_ipv6(name)
    _batch([], [f"link set dev {name} arp off addrgenmode none mtu {MTU} up" for name in inner])
    _batch(["-n", namespace], [f"link set dev {name} addrgenmode none mtu {MTU} up" for name in outer])
    _disable_offloads(inner)
    within(namespace, lambda: _disable_offloads(outer))


def create_cables(state: Path, pairs: Sequence[Pair]) -> None:
    """Make ``pairs`` with both ends in a namespace of their own, where nothing but the deployment's
    processes hears them. Raises OlafError."""
    namespace = cables_of(state)
    _add_namespace(namespace)
    ends = [name for pair in pairs for name in (pair.inner, pair.outer)]
    options = ["-n", namespace]
    _batch(options, [f"link add name {pair.inner} type veth peer name {pair.outer}" for pair in pairs])
    _batch(options, [f"link set dev {name} arp off addrgenmode none mtu {MTU} up" for name in ends])
    within(namespace, lambda: _disable_offloads(ends))


def adopt(state: Path, interface: str, name: str) -> None:
    """Move ``interface`` (a TAP) into the namespace of ``state`` as ``name``, and bring it up.

    Raises OlafError.
    """
    namespace = namespace_of(state)
    _ip(["link", "set", "dev", interface, "netns", namespace, "name", name])
    _ip(["-n", namespace, "link", "set", "dev", name, "addrgenmode", "none", "mtu", str(MTU), "up"])
    within(namespace, lambda: offload.disable(name))


def remove(state: Path) -> None:
    """Remove every interface and the namespace of ``state``; what is not there is fine.

    Raises OlafError when something of it stays.
    """
    found = left_of(state)
    if not found:
        return
    if shutil.which("ip") is None:
        raise MissingTool(Problem(_NO_IP, found[0], "install it, then try again"))
    namespaces = (namespace_of(state), cables_of(state))
    # One by one: taking a namespace away first removes its pairs at some later time.
    for name in found:
        if name not in namespaces:
            subprocess.run(["ip", "link", "delete", "dev", name], capture_output=True, check=False)
    for name in namespaces:
        if name in found:
            subprocess.run(["ip", "netns", "delete", name], capture_output=True, check=False)
    if still := left_of(state):
        remedy = "as root: ip link delete, ip netns delete"
        raise OlafError(*(Problem("could not be removed", name, remedy) for name in still))


def left_of(state: Path) -> Sequence[str]:
    """The names of the interfaces here and of the namespaces that ``state`` still owns."""
    prefix = interface_of(state, "")
    interfaces = Path("/sys/class/net")
    found = sorted(entry.name for entry in interfaces.glob(f"{prefix}*")) if interfaces.is_dir() else []
    namespaces = (namespace_of(state), cables_of(state))
    return [*found, *(name for name in namespaces if (Path("/run/netns") / name).exists())]


def owners(home: Path) -> Sequence[str]:
    """The names of the folders in ``home``, there or deleted, that still own a namespace."""
    found = {entry.name.removesuffix("-cables") for entry in Path("/run/netns").glob("olaf-*")}
    named = {namespace: namespace.removeprefix("olaf-").rpartition("-")[0] for namespace in sorted(found)}
    return [name for namespace, name in named.items() if name and namespace_of(home / name) == namespace]


def _add_namespace(name: str) -> None:
    _ip(["netns", "add", name])
    _ip(["-n", name, "link", "set", "lo", "up"])
    within(name, lambda: _silence_ipv6("default"))


def _disable_offloads(interfaces: Sequence[str]) -> None:
    for name in interfaces:
        offload.disable(name)


def _silence_ipv6(interface: str) -> None:
    # A read-only /proc/sys (containers) leaves addrgenmode none, which is enough for no noise.
    with suppress(OSError):
        (_SYSCTL / interface / "disable_ipv6").write_text("1")


def _ip(arguments: Sequence[str]) -> None:
    _run([*arguments], None)


def _batch(options: Sequence[str], lines: Sequence[str]) -> None:
    if lines:
        _run([*options, "-batch", "-"], "\n".join(lines) + "\n")


def _run(arguments: Sequence[str], given: str | None) -> None:
    done = subprocess.run(["ip", *arguments], input=given, capture_output=True, text=True, check=False)
    if done.returncode:
        message = " ".join(done.stderr.split()) or f"exit code {done.returncode}"
        raise OlafError(Problem(message, _failed(arguments, given, done.stderr), "see olafctl status"))


def _failed(arguments: Sequence[str], given: str | None, message: str) -> str:
    """The command that failed; of a batch the line that ``message`` names."""
    failed = re.search(r"Command failed -:(\d+)", message)
    if given is None or failed is None:
        return f"ip {' '.join(arguments)}"
    return f"ip {' '.join([*arguments[:-2], given.splitlines()[int(failed[1]) - 1]])}"
