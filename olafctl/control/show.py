"""Register values as an operator writes and reads them."""

from olafctl.queue.registers import CLOCK_HZ, IndexSettings, rate_of
from olafctl.wire.frames import bits_float


def show_register(name: str, value: int) -> str:
    """A setting's value with its unit: ``40 Gb/s``, ``10 ms``; others as they are."""
    match name:
        case "hold":
            return "on" if value else "off"
        case "accumulate_quota":
            return f"{value} slots"
        case "stale_shifts_low" | "stale_shifts_high":
            return f"{value:#010x}"
        case "rate":
            rate = rate_of(value)
            return "off" if rate is None else _scaled(rate, ("b/s", "kb/s", "Mb/s", "Gb/s"))
        case "active_window":
            return _scaled(value * 1e9 / CLOCK_HZ, ("ns", "µs", "ms", "s"))
        case "clock_hz":
            return _scaled(value, ("Hz", "kHz", "MHz", "GHz"))
    return str(value)


def show_settings(settings: IndexSettings) -> str:
    """An index's settings: ``olaf``, ``olaf, reward rule 5, staleness 8``, ``iswitch, H 4, halted``."""
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
    """A range of indices: ``index 7``, ``indices 0-133``."""
    return f"index {first}" if first == last else f"indices {first}-{last}"


def _scaled(value: float, units: tuple[str, ...]) -> str:
    for unit in units[:-1]:
        if round(value, 3) < 1000:
            return f"{value:.3g} {unit}"
        value /= 1000
    return f"{value:.3g} {units[-1]}"
