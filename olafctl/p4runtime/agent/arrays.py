"""Writes of indirect counters, meters and registers (P4Runtime §9.3, §9.4, §9.7)."""

from collections.abc import Mapping
from typing import Any

from olafctl.p4runtime.agent import p4data
from olafctl.p4runtime.agent.entries import Undo
from olafctl.p4runtime.agent.forwarding import Forwarding
from olafctl.p4runtime.agent.meters import check_meter
from olafctl.p4runtime.agent.refusal import Code, Refusal, invalid, unimplemented
from olafctl.p4runtime.agent.tables import check_counter
from olafctl.p4runtime.plain import counter_data, meter_config
from olafctl.p4runtime.program import Array


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


def indexed(arrays: Mapping[int, Array], id: int, message: Any, what: str) -> tuple[Array, range]:
    """The array with an id, and the indices that a message's ``index`` means: one, or without it all."""
    if id not in arrays:
        raise invalid(f"the program has no {what} {id:#x}")
    array = arrays[id]
    if not message.HasField("index"):
        return array, range(array.size)
    index = message.index.index
    if index < 0:
        raise invalid(f"{what} {array.name}: the index {index} is negative")
    if index >= array.size:
        raise Refusal(
            Code.OUT_OF_RANGE, f"{what} {array.name}: index {index} is beyond its size {array.size}"
        )
    return array, range(index, index + 1)
