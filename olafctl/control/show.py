"""Register values and ports in the form that an operator reads."""

from collections.abc import Iterable, Iterator, Mapping

from olafctl.queue.registers import CLOCK_HZ, IndexSettings, rate_of
from olafctl.testbed.model import Port
from olafctl.wire.frames import bits_float


def show_register(name: str, value: int) -> str:
    """Return a setting's value with its unit: ``40 Gb/s``, ``10 ms``; other settings as numbers."""
    match name:
        case "hold":
            return "on" if value else "off"
        case "accumulate_quota":
            return f"{value} slots"
        case "stale_shifts_low" | "stale_shifts_high":
            return f"{value:#010x}"
        case "rate":
            rate = rate_of(value)
            return "off" if rate is None else _scale_value(rate, ("b/s", "kb/s", "Mb/s", "Gb/s"))
        case "active_window":
            return _scale_value(value * 1e9 / CLOCK_HZ, ("ns", "µs", "ms", "s"))
        case "clock_hz":
            return _scale_value(value, ("Hz", "kHz", "MHz", "GHz"))
    return str(value)


def show_settings(settings: IndexSettings) -> str:
    """Return an index's settings: ``olaf``, ``olaf, reward rule 5, staleness 8``, ``iswitch, H 4,
    halted``."""
    parts = [str(settings.mode)]
    if settings.mode.sums or settings.threshold != 1:
        parts.append(f"H {settings.threshold}")
    if settings.reward_enable:
        parts.append(f"reward rule {bits_float(settings.reward_threshold):g}")
    if settings.stale_enable:
        parts.append(f"staleness {settings.stale_bound}")
    if settings.halted:
        parts.append("halted")
    return ", ".join(parts)


def show_indices(first: int, last: int) -> str:
    """Return a range of indices: ``index 7``, ``indices 0-133``."""
    return f"index {first}" if first == last else f"indices {first}-{last}"


def describe_unplugged(ports: Iterable[Port], carriers: Mapping[str, bool]) -> Iterator[str]:
    """Yield a line for each of ``ports`` whose cable has no other end that is up."""
    for port in ports:
        if carriers.get(str(port.number)) is False:
            called = f"port {port.number} ({port.name})" if port.name else f"port {port.number}"
            yield f"{called} has no carrier: is its cable plugged in, and the other end up?"


def _scale_value(value: float, units: tuple[str, ...]) -> str:
    for unit in units[:-1]:
        if round(value, 3) < 1000:
            return f"{value:.3g} {unit}"
        value /= 1000
    return f"{value:.3g} {units[-1]}"
