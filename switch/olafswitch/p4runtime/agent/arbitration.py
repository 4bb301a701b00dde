"""The election of the controllers that may write: one primary for each role of a device (P4Runtime §5).

A role without a configuration has full access, so named roles differ only in their elections. As in BMv2,
with ``as_bmv2`` a missing election id counts as 0, the highest id among the connected controllers is primary,
a role's configuration is ignored, and while no controller is connected a request without an election id is
carried out.
"""

import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Protocol

from google.rpc import code_pb2

from olafswitch.p4runtime.agent.refusals import Code, Refusal, invalid_argument, not_found, permission_denied
from olafswitch.p4runtime.protocol import number_of, p4runtime_pb2, uint128_fields


class RoleController(Protocol):
    """A controller's live StreamChannel."""

    name: str
    """The controller's peer address and program, for people."""

    def send(self, message: bytes) -> None:
        """Queue a StreamMessageResponse; never blocks."""

    def offer(self, message: bytes) -> None:
        """Queue a StreamMessageResponse, or drop it when the controller reads too slowly."""


@dataclass
class _Role:
    name: str
    controllers: dict[RoleController, int | None] = field(default_factory=dict)
    """Live controllers and their election ids; None is an id that was left unset."""
    primary: RoleController | None = None
    highest: int | None = None
    """The highest election id ever received."""
    in_charge: bool = False
    """Whether the primary may write: the writes of the primary before it have ended."""


class Arbitration:
    """The elections of one device.

    ``finish_writes`` returns once every write that has started has ended; no lock of this object is held
    meanwhile. ``as_bmv2`` applies BMv2's rules, see the module.
    """

    def __init__(self, device_id: int, finish_writes: Callable[[], None], *, as_bmv2: bool = False) -> None:
        self._device_id = device_id
        self._as_bmv2 = as_bmv2
        self._finish_writes = finish_writes
        self._roles: dict[str, _Role] = {"": _Role("")}
        self._state = threading.Lock()
        self._one_at_a_time = threading.Lock()

    def update_controller(self, controller: RoleController, message: Any) -> None:
        """Handle a MasterArbitrationUpdate from ``controller``. Raises Refusal: its stream must end."""
        if message.HasField("role") and message.role.HasField("config") and not self._as_bmv2:
            raise invalid_argument("role configurations are not supported: a role has full access")
        name = role_name(message.role.name, message.role.id)
        election_id: int | None = number_of(message.election_id)
        if not message.HasField("election_id") and not self._as_bmv2:
            election_id = None
        with self._one_at_a_time:
            self._elect_primary(controller, name, election_id)

    def remove_controller(self, controller: RoleController) -> None:
        """Remove ``controller``, whose stream has ended."""
        with self._one_at_a_time, self._state:
            role = self._role_of(controller)
            if role is None:
                return
            del role.controllers[controller]
            if role.primary is controller:
                role.primary, role.in_charge = None, False
                if self._as_bmv2:
                    # A write of the old primary has the device's lock; writes of the new one wait for it.
                    self._promote_highest(role)
                self._notify_controllers(role, list(role.controllers))
            if not role.controllers and role.name and role.highest is None:
                del self._roles[role.name]

    def check_primary(self, role: str, election_id: int | None) -> None:
        """Refuse a write that is not from the role's primary. Raises Refusal."""
        with self._state:
            found = self._roles.get(role)
            if self._as_bmv2 and election_id is None:
                if found is None or not found.controllers:
                    return
                election_id = 0
            if found is None:
                raise not_found(f"device {self._device_id} has no role {role!r}")
            if found.primary is None or not found.in_charge:
                raise permission_denied("there is no primary controller")
            if election_id is None or found.controllers[found.primary] != election_id:
                raise permission_denied("only the primary controller may do this")

    def is_primary(self, controller: RoleController) -> bool:
        with self._state:
            role = self._role_of(controller)
            return role is not None and role.primary is controller and role.in_charge

    def primaries(self) -> list[RoleController]:
        """Return the controllers that get notifications and packets: each role's primary."""
        with self._state:
            return [role.primary for role in self._roles.values() if role.primary and role.in_charge]

    def _elect_primary(self, controller: RoleController, name: str, election_id: int | None) -> None:
        with self._state:
            current = self._role_of(controller)
            if current is not None and current.name != name:
                raise Refusal(Code.FAILED_PRECONDITION, "a stream cannot change its role")
            role = self._roles.get(name) or _Role(name)
            taken = (id for other, id in role.controllers.items() if other is not controller)
            if election_id is not None and election_id in taken:
                raise invalid_argument(f"election id {election_id} is used by another controller")
            self._roles[name] = role
            role.controllers[controller] = election_id
            was_primary = role.primary is controller
            if self._as_bmv2:
                role.highest = max(id for id in role.controllers.values() if id is not None)
            wins = election_id is not None and (role.highest is None or election_id >= role.highest)
            if not wins:
                if was_primary:
                    role.primary, role.in_charge = None, False
                    if self._as_bmv2:
                        self._promote_highest(role)
                self._notify_controllers(role, list(role.controllers) if was_primary else [controller])
                return
            role.primary, role.highest, role.in_charge = controller, election_id, False
            self._notify_controllers(role, [other for other in role.controllers if other is not controller])
        self._finish_writes()
        with self._state:
            if role.primary is controller:
                role.in_charge = True
                self._notify_controllers(role, [controller])

    def _promote_highest(self, role: _Role) -> None:
        """Make the connected controller with the highest election id primary, if there is one."""
        role.highest = max((id for id in role.controllers.values() if id is not None), default=None)
        for controller, election_id in role.controllers.items():
            if election_id is not None and election_id == role.highest:
                role.primary, role.in_charge = controller, True

    def _role_of(self, controller: RoleController) -> _Role | None:
        return next((role for role in self._roles.values() if controller in role.controllers), None)

    def _notify_controllers(self, role: _Role, controllers: list[RoleController]) -> None:
        update: dict[str, Any] = {"device_id": self._device_id}
        if role.name.startswith("#"):
            update["role"] = {"id": int(role.name[1:])}
        elif role.name:
            update["role"] = {"name": role.name}
        if role.highest is not None:
            update["election_id"] = uint128_fields(role.highest)
        for controller in controllers:
            if controller is role.primary:
                code, why = code_pb2.OK, "primary"
            elif role.primary is not None:
                code, why = code_pb2.ALREADY_EXISTS, f"the primary controller is {role.primary.name}"
            else:
                code, why = code_pb2.NOT_FOUND, "there is no primary controller"
            update["status"] = {"code": code, "message": why}
            controller.send(p4runtime_pb2.StreamMessageResponse(arbitration=update).SerializeToString())


def role_name(name: str, id: int) -> str:
    """Return a role's name, or the number that older controllers give ("#" and the number)."""
    return name or (f"#{id}" if id else "")
