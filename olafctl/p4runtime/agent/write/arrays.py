"""Writes of indirect counters, meters and registers (P4Runtime §9.3, §9.4, §9.7)."""

from typing import Any

from olafctl.p4runtime.agent.state import p4data
from olafctl.p4runtime.agent.state.arrays import indexed
from olafctl.p4runtime.agent.state.forwarding import Forwarding
from olafctl.p4runtime.agent.state.refusal import invalid, unimplemented
from olafctl.p4runtime.agent.state.tables import Undo
from olafctl.p4runtime.agent.write.checks import check_counter, check_meter
from olafctl.p4runtime.plain import counter_data, meter_config


def modify_counter(forwarding: Forwarding, message: Any) -> Undo:
    counter, indices = indexed(forwarding.program.counters, message.counter_id, message, "counter")
    if not message.HasField("data"):
        return lambda: None
    data = check_counter(counter_data(message.data))
    plane = forwarding.plane
    before = [(index, plane.counter(counter.id, index)) for index in indices]
    for index in indices:
        plane.set_counter(counter.id, index, data)

    def undo() -> None:
        for index, old in before:
            plane.set_counter(counter.id, index, old)

    return undo


def modify_meter(forwarding: Forwarding, message: Any) -> Undo:
    meter, indices = indexed(forwarding.program.meters, message.meter_id, message, "meter")
    if message.HasField("counter_data"):
        raise unimplemented("this device does not count packets by meter colour")
    config = meter_config(message.config) if message.HasField("config") else None
    check_meter(forwarding.program.meter_types[meter.id], config, message.config.eburst)
    before = [(index, forwarding.meters.get((meter.id, index))) for index in indices]

    def put(index: int, new: Any) -> None:
        forwarding.plane.set_meter(meter.id, index, new)
        if new is None:
            forwarding.meters.pop((meter.id, index), None)
        else:
            forwarding.meters[meter.id, index] = new

    for index in indices:
        put(index, config)

    def undo() -> None:
        for index, old in before:
            put(index, old)

    return undo


def modify_register(forwarding: Forwarding, message: Any) -> Undo:
    registers = forwarding.program.registers
    register, indices = indexed(registers, message.register_id, message, "register")
    if not message.HasField("data"):
        raise invalid(f"register {register.name}: no data is given")
    value = p4data.decode_integer(forwarding.program.p4info.type_info, register.type_spec, message.data)
    plane = forwarding.plane
    before = [(index, plane.register(register.id, index)) for index in indices]
    for index in indices:
        plane.set_register(register.id, index, value)

    def undo() -> None:
        for index, old in before:
            plane.set_register(register.id, index, old)

    return undo
