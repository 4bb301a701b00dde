"""Register values as an operator writes and reads them."""

import struct

from olafctl.queue.registers import CLOCK_HZ


def show_register(name: str, value: int) -> str:
    """A setting's value with its unit: ``40 Gb/s``, ``10 ms``, ``fifo``; others as they are."""
    match name:
        case "mode":
            return {0: "olaf", 1: "fifo"}.get(value, str(value))
        case "reward_enable" | "hold":
            return "on" if value else "off"
        case "reward_threshold":
            return f"{struct.unpack('<f', struct.pack('<I', value))[0]:g}"
        case "rate":
            return _scaled(value * CLOCK_HZ / 65536, ("b/s", "kb/s", "Mb/s", "Gb/s")) if value else "off"
        case "active_window":
            return _scaled(value * 1e9 / CLOCK_HZ, ("ns", "µs", "ms", "s"))
        case "clock_hz":
            return _scaled(value, ("Hz", "kHz", "MHz", "GHz"))
    return str(value)


def _scaled(value: float, units: tuple[str, ...]) -> str:
    for unit in units[:-1]:
        if round(value, 3) < 1000:
            return f"{value:.3g} {unit}"
        value /= 1000
    return f"{value:.3g} {units[-1]}"
