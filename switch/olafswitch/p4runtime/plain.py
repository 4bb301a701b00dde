"""Table entries of requests in a plain form: reading a message field by field is slow, and locks wait."""

from dataclasses import dataclass, field
from typing import Any

from olafswitch.p4runtime.dataplane import CounterData, GroupRef, MemberRef, MeterConfig
from olafswitch.p4runtime.program import MatchKind

FieldRequest = tuple[int, MatchKind | None, bytes, Any]
"""(field id, kind, first operand, second operand); the second is a prefix length or a byte string."""

CallRequest = tuple[int, list[tuple[int, bytes]]]
"""(action id, [(parameter id, value)])."""


@dataclass(slots=True)
class OneShotAction:
    call: CallRequest
    weight: int
    watched: bool
    """Whether a watch port was given."""


ActionRequest = CallRequest | MemberRef | GroupRef | list[OneShotAction]


@dataclass(slots=True)
class EntryRequest:
    """A ``p4.v1.TableEntry`` as it was sent, unchecked."""

    table_id: int
    match: list[FieldRequest] = field(default_factory=list)
    action: ActionRequest | None = None
    priority: int = 0
    metadata: bytes = b""
    controller_metadata: int = 0
    is_default: bool = False
    is_const: bool = False
    idle_timeout_ns: int = 0
    has_last_hit: bool = False
    meter: MeterConfig | None = None
    has_meter: bool = False
    excess_burst: int = 0
    counter: CounterData | None = None
    has_meter_counter: bool = False


def entry_request(message: Any) -> EntryRequest:
    """Return the plain form of a ``p4.v1.TableEntry`` message."""
    has_meter = message.HasField("meter_config")
    has_counter = message.HasField("counter_data")
    return EntryRequest(
        message.table_id,
        [field_request(each) for each in message.match],
        _read_action(message.action) if message.HasField("action") else None,
        message.priority,
        message.metadata,
        message.controller_metadata,
        message.is_default_action,
        message.is_const,
        message.idle_timeout_ns,
        message.HasField("time_since_last_hit"),
        meter_config(message.meter_config) if has_meter else None,
        has_meter,
        message.meter_config.eburst if has_meter else 0,
        counter_data(message.counter_data) if has_counter else None,
        message.HasField("meter_counter_data"),
    )


def field_request(message: Any) -> FieldRequest:
    match message.WhichOneof("field_match_type"):
        case "exact":
            return message.field_id, MatchKind.EXACT, message.exact.value, None
        case "lpm":
            return message.field_id, MatchKind.LPM, message.lpm.value, message.lpm.prefix_len
        case "ternary":
            return message.field_id, MatchKind.TERNARY, message.ternary.value, message.ternary.mask
        case "range":
            return message.field_id, MatchKind.RANGE, message.range.low, message.range.high
        case "optional":
            return message.field_id, MatchKind.OPTIONAL, message.optional.value, None
        case _:
            return message.field_id, None, b"", None


def call_request(message: Any) -> CallRequest:
    return message.action_id, [(param.param_id, param.value) for param in message.params]


def meter_config(message: Any) -> MeterConfig:
    return MeterConfig(message.cir, message.cburst, message.pir, message.pburst)


def counter_data(message: Any) -> CounterData:
    return CounterData(message.packet_count, message.byte_count)


def _read_action(message: Any) -> ActionRequest | None:
    match message.WhichOneof("type"):
        case "action":
            return call_request(message.action)
        case "action_profile_member_id":
            return MemberRef(message.action_profile_member_id)
        case "action_profile_group_id":
            return GroupRef(message.action_profile_group_id)
        case "action_profile_action_set":
            return [
                OneShotAction(
                    call_request(each.action), each.weight, each.WhichOneof("watch_kind") is not None
                )
                for each in message.action_profile_action_set.action_profile_actions
            ]
        case _:
            return None
