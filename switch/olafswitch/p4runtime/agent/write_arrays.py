"""Writes of indirect counters, meters and registers (P4Runtime §9.3, §9.4, §9.7)."""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, TypeVar

from olafswitch.p4runtime.agent import p4data
from olafswitch.p4runtime.agent.refusals import invalid_argument, not_implemented
from olafswitch.p4runtime.agent.state import (
    Forwarding,
    Undo,
    find_indexed,
)

# Entities of which a device keeps one for each id: how an update changes them, and how it is undone.
from olafswitch.p4runtime.agent.write_objects import put_value
from olafswitch.p4runtime.dataplane import (
    CounterData,
    MeterConfig,
)
from olafswitch.p4runtime.plain import (
    counter_data,
    meter_config,
)
from olafswitch.p4runtime.protocol import p4info_pb2

_T = TypeVar("_T")
_TWO_RATE = p4info_pb2.MeterSpec.TWO_RATE_THREE_COLOR
_SINGLE_RATE_THREE_COLOR = p4info_pb2.MeterSpec.SINGLE_RATE_THREE_COLOR


def check_meter(meter_type: int, config: MeterConfig | None, excess_burst: int) -> None:
    """Refuse a configuration that the meter's type (the P4Info's number) excludes."""
    if config is None:
        return
    if min(config.cir, config.cburst, config.pir, config.pburst, excess_burst) < 0:
        raise invalid_argument("a meter's rates and bursts cannot be negative")
    if excess_burst and meter_type != _SINGLE_RATE_THREE_COLOR:
        raise invalid_argument("only a single-rate three-color meter has an excess burst")
    if excess_burst:
        raise not_implemented("this device's meters have no excess burst")
    if meter_type != _TWO_RATE and (config.pir, config.pburst) != (config.cir, config.cburst):
        raise invalid_argument("a single-rate meter's peak rate and burst equal its committed ones")


def check_counter(data: CounterData) -> CounterData:
    if data.packets < 0 or data.bytes < 0:
        raise invalid_argument("a counter cannot be negative")
    return data


def _set_values(put: Callable[[int, _T], None], before: Mapping[int, _T], value: _T) -> Undo:
    """Put ``value`` at the indices of ``before`` and return the undo, which puts the old values back."""

    def put_all(values: Mapping[int, _T]) -> None:
        for index, each in values.items():
            put(index, each)

    return put_value(put_all, before, dict.fromkeys(before, value))


def modify_counter(forwarding: Forwarding, message: Any) -> Undo:
    counter, indices = find_indexed(forwarding.program.counters, message.counter_id, message, "counter")
    if not message.HasField("data"):
        return lambda: None
    data = check_counter(counter_data(message.data))
    before = {index: forwarding.plane.counter(counter.id, index) for index in indices}
    return _set_values(partial(forwarding.plane.set_counter, counter.id), before, data)


def modify_meter(forwarding: Forwarding, message: Any) -> Undo:
    meter, indices = find_indexed(forwarding.program.meters, message.meter_id, message, "meter")
    if message.HasField("counter_data"):
        raise not_implemented("this device does not count packets by meter colour")
    config = meter_config(message.config) if message.HasField("config") else None
    check_meter(forwarding.program.meter_types[meter.id], config, message.config.eburst)

    def put(index: int, new: MeterConfig | None) -> None:
        forwarding.plane.set_meter(meter.id, index, new)
        if new is None:
            forwarding.meters.pop((meter.id, index), None)
        else:
            forwarding.meters[meter.id, index] = new

    return _set_values(put, {index: forwarding.meters.get((meter.id, index)) for index in indices}, config)


def modify_register(forwarding: Forwarding, message: Any) -> Undo:
    registers = forwarding.program.registers
    register, indices = find_indexed(registers, message.register_id, message, "register")
    if not message.HasField("data"):
        raise invalid_argument(f"register {register.name}: no data is given")
    value = p4data.decode_integer(forwarding.program.p4info.type_info, register.type_spec, message.data)
    before = {index: forwarding.plane.register(register.id, index) for index in indices}
    return _set_values(partial(forwarding.plane.set_register, register.id), before, value)
