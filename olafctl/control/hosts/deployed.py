"""Bring the hosts of a deployment to the state of its testbed, whatever a crash left.

The record, written first, says which hosts are whole, and exists as long as hosts are wanted. A namespace is
named after its host, so that one that is not in the record is found all the same, and made again or removed.
"""

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from olafctl.control.hosts import namespaces
from olafctl.control.hosts.network import HostNetwork, HostStack, Surroundings
from olafctl.network import interfaces
from olafswitch.errors import BadInput, OlafError, Problem

_RECORD = "hosts.json"
_NOTHING = HostNetwork((), Surroundings((), (), ()))


@dataclass(frozen=True)
class Changes:
    """The changes to make to the hosts, by name."""

    make: tuple[HostStack, ...]
    remove: tuple[str, ...]
    adapt: tuple[HostStack, ...]
    """The hosts that only get other routes and neighbours."""
    plug: tuple[HostStack, ...] = ()
    """The hosts whose interface is made again, in their namespace: the programs in it stay."""

    def lines(self) -> Sequence[str]:
        """Return a line for each change, as in a diff; a host that is made again is a changed one."""
        again = {stack.name for stack in self.make} & set(self.remove)
        return [
            *(f"- host {name}" for name in self.remove if name not in again),
            *(f"{'~' if each.name in again else '+'} host {each.name} {each.ip}" for each in self.make),
            *(f"~ host {each.name} {each.ip}" for each in self.plug),
            *(f"~ host {stack.name} routes and neighbours" for stack in self.adapt),
        ]


def are_wanted(state: Path) -> bool:
    """Return whether the deployment in ``state`` wants hosts."""
    return (state / _RECORD).exists()


def plan_changes(state: Path, network: HostNetwork) -> Changes:
    """Return the changes that make the hosts of ``state`` those of ``network``."""
    known, there = _load_record(state), interfaces.hosts_of(state)
    homes = {stack.name: stack for stack in known.stacks if stack.name in there}
    whole = {name: stack for name, stack in homes.items() if namespaces.is_whole(state, name)}
    kept = tuple(stack for stack in network.stacks if whole.get(stack.name) == stack)
    plug = tuple(
        stack
        for stack in network.stacks
        if stack not in kept and stack.name in homes and stack.is_host(homes[stack.name])
    )
    make = tuple(stack for stack in network.stacks if stack not in (*kept, *plug))
    names = {stack.name for stack in (*kept, *plug)}
    remove = tuple(name for name in there if name not in names)
    return Changes(make, remove, () if network.surroundings == known.surroundings else kept, plug)


def bring_hosts(state: Path, network: HostNetwork) -> Changes:
    """Make the hosts of ``state`` those of ``network``; hosts that fit are left alone. Return the changes.

    Raises OlafError; the record then holds the complete hosts.
    """
    todo = plan_changes(state, network)
    if are_wanted(state) and not todo.lines():
        return todo
    kept = [stack for stack in network.stacks if stack not in (*todo.make, *todo.plug)]
    unplugged = [replace(stack, parent="") for stack in todo.plug]
    _save_record(
        state, HostNetwork((*kept, *unplugged), _NOTHING.surroundings if todo.adapt else network.surroundings)
    )
    for name in todo.remove:
        namespaces.remove_namespace(state, name)
    namespaces.unplug_interfaces(state, todo.plug)
    namespaces.adapt_routes(state, todo.adapt, network.surroundings)
    namespaces.make_namespaces(state, todo.make)
    namespaces.plug_interfaces(state, (*todo.plug, *todo.make), network.surroundings)
    _save_record(state, network)
    return todo


def note_wanted(state: Path) -> None:
    """Write down that hosts are wanted that are elsewhere."""
    _save_record(state, _NOTHING)


def plan_removal(state: Path) -> Changes:
    """Return the changes that remove every host of ``state``."""
    return Changes((), tuple(interfaces.hosts_of(state)), ())


def take_away(state: Path) -> Changes:
    """Remove every host of ``state``, with its programs. Return the changes. Raises OlafError."""
    todo = plan_removal(state)
    for name in todo.remove:
        namespaces.remove_namespace(state, name)
    (state / _RECORD).unlink(missing_ok=True)
    return todo


def missing_hosts(state: Path) -> Sequence[HostStack]:
    """Return the hosts that are wanted and not whole."""
    return [stack for stack in _load_record(state).stacks if not namespaces.is_whole(state, stack.name)]


def show_hosts(state: Path) -> list[dict[str, str]]:
    """Return each host's name, address and namespace, as JSON."""
    return [
        {
            "name": stack.name,
            "ip": stack.ip,
            "mac": stack.mac,
            "behind": stack.parent,
            "namespace": interfaces.host_namespace_of(state, stack.name),
        }
        for stack in _load_record(state).stacks
    ]


def host_names(state: Path) -> set[str]:
    """Return the hosts that have their own namespaces."""
    return {stack.name for stack in _load_record(state).stacks}


def namespace_of(state: Path, host: str) -> str:
    """Return the namespace of ``host``. Raises BadInput when it has none."""
    known = host_names(state)
    if not known:
        what = "its hosts have no namespaces of their own"
        raise BadInput(Problem(what, state.name, "as root: olafctl deploy --hosts TESTBED"))
    if host not in known:
        shown = ", ".join(sorted(known)[:10]) + (", …" if len(known) > 10 else "")
        raise BadInput(Problem(f"host {host!r} does not exist", state.name, f"one of {shown}"))
    return interfaces.host_namespace_of(state, host)


@contextmanager
def pause_during(state: Path) -> Iterator[None]:
    """Disconnect the hosts inside the context: their kernels do not answer frames that a test sends in their
    name. Raises OlafError; the hosts are connected again even then, as far as possible."""
    try:
        pause_hosts(state)
        yield
    finally:
        connect_hosts(state)


def pause_hosts(state: Path) -> None:
    """Begin the pause of every host. Raises OlafError."""
    for stack in _load_record(state).stacks:
        namespaces.set_up(state, stack.name, False)


def connect_hosts(state: Path) -> None:
    """End the pause of every host. Raises OlafError for those that are gone."""
    known, problems = _load_record(state), list[Problem]()
    for stack in known.stacks:
        try:
            namespaces.set_up(state, stack.name, True)
            namespaces.adapt_routes(state, [stack], known.surroundings)
        except OlafError as error:
            problems.extend(error.problems)
    if problems:
        raise OlafError(*problems)


def _save_record(state: Path, network: HostNetwork) -> None:
    new = state / f"{_RECORD}.new"
    new.write_text(json.dumps(asdict(network), indent=1) + "\n")
    new.replace(state / _RECORD)


def _load_record(state: Path) -> HostNetwork:
    """Return the recorded hosts; none when the record cannot be read, so that all are made again."""
    try:
        return HostNetwork.from_json(json.loads((state / _RECORD).read_text()))
    except (OSError, ValueError, KeyError, TypeError):
        return _NOTHING
