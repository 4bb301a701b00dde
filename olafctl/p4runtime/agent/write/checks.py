"""Counter values and meter configurations of requests (P4Runtime §9.3, §9.4)."""

from olafctl.p4runtime.agent.state.refusal import invalid, unimplemented
from olafctl.p4runtime.dataplane import CounterData, MeterConfig
from olafctl.p4runtime.protocol import p4info_pb2

_TWO_RATE = p4info_pb2.MeterSpec.TWO_RATE_THREE_COLOR
_SINGLE_RATE_THREE_COLOR = p4info_pb2.MeterSpec.SINGLE_RATE_THREE_COLOR


def check_meter(meter_type: int, config: MeterConfig | None, excess_burst: int) -> None:
    """Refuse a configuration that the meter's type (the P4Info's number) excludes."""
    if config is None:
        return
    if min(config.cir, config.cburst, config.pir, config.pburst, excess_burst) < 0:
        raise invalid("a meter's rates and bursts cannot be negative")
    if excess_burst and meter_type != _SINGLE_RATE_THREE_COLOR:
        raise invalid("only a single-rate three-color meter has an excess burst")
    if excess_burst:
        raise unimplemented("this device's meters have no excess burst")
    if meter_type != _TWO_RATE and (config.pir, config.pburst) != (config.cir, config.cburst):
        raise invalid("a single-rate meter's peak rate and burst equal its committed ones")


def check_counter(data: CounterData) -> CounterData:
    if data.packets < 0 or data.bytes < 0:
        raise invalid("a counter cannot be negative")
    return data
