"""Figures as people read them, and the topology as text."""

from collections.abc import Iterator, Sequence

from olafctl.testbed.graph.tree import Behind, Cable, Rates, TreeNode, name_hosts

_UNITS = ("", "k", "M", "G", "T")


def format_quantity(value: float, unit: str) -> str:
    """Return a figure with three digits and a unit, as ``1.24 Gb/s`` or ``870 b/s``."""
    for prefix in _UNITS:
        if value < 999.5 or prefix == _UNITS[-1]:
            digits = f"{value:.0f}" if value >= 99.95 or value == 0 else f"{value:.3g}"
            return f"{digits} {prefix}{unit}"
        value /= 1000
    raise AssertionError("the last unit takes every value")


def describe_traffic(rates: Rates | None) -> tuple[str, str]:
    """Return the traffic into a port and out of it; empty when it is not known."""
    if rates is None:
        return "", ""
    return _describe_flow(rates.frames_in, rates.bits_in), _describe_flow(rates.frames_out, rates.bits_out)


def describe_engine(node: TreeNode) -> str:
    """Return an engine's queue in words."""
    if node.away:
        return "does not answer"
    used = "" if node.occupancy is None else f"{node.occupancy} of "
    state = "full" if node.is_full else "out"
    limit = "" if node.output_rate is None else f", {format_quantity(node.output_rate, 'b/s')} {state}"
    return f"{used}{node.slots} slots{limit}"


def about_cable(cable: Cable) -> str:
    """Return a link's rate and delay in words."""
    rate = "no limit" if cable.rate is None else format_quantity(cable.rate, "b/s")
    rate = f"full: {rate}" if cable.is_full else rate
    for unit, scale in (("s", 10**9), ("ms", 10**6), ("µs", 10**3)):
        if cable.delay >= scale:
            return f"{rate}, {cable.delay / scale:.3g} {unit}"
    return f"{rate}, {cable.delay} ns"


def draw_text(node: TreeNode) -> str:
    """Return the tree in lines, the root and the hosts above it first."""
    return "\n".join(_tree_lines(node))


def _describe_flow(frames: float, bits: float) -> str:
    return f"{format_quantity(frames, '').rstrip()} frames/s, {format_quantity(bits, 'b/s')}"


def _tree_lines(node: TreeNode) -> Iterator[str]:
    yield f"{node.name} ({describe_engine(node)})"
    below: list[Sequence[str]] = [[_describe_port(port)] for port in (*node.sinks, *node.sources)]
    for child in node.children:
        assert child.cable is not None
        first, *rest = _tree_lines(child)
        below.append(
            [f"{first}, link of {about_cable(child.cable)}{_describe_rates(child.cable.rates)}", *rest]
        )
    for number, block in enumerate(below):
        last = number == len(below) - 1
        yield f"{'└' if last else '├'}─ {block[0]}"
        yield from (f"{' ' if last else '│'}  {line}" for line in block[1:])


def _describe_port(port: Behind) -> str:
    workers = f" ({port.workers} workers)" if port.workers > 1 else ""
    state = "; no carrier" if port.unplugged else ""
    return f"{port.port}: {name_hosts(port)}{workers}{_describe_rates(port.rates)}{state}"


def _describe_rates(rates: Rates | None) -> str:
    into, out = describe_traffic(rates)
    return f"; in {into}; out {out}" if rates is not None else ""
