"""A page on what a P4Runtime controller finds at the two devices of an engine, from their P4Info."""

from collections.abc import Iterator, Mapping
from typing import Any

from olafctl.paths import sources
from olafswitch.p4.compiler import p4info_of
from olafswitch.p4.syntax.preprocess import preprocess_file

_DEVICES = {"VNP4₁": "vnp4_1", "VNP4₂": "vnp4_2"}
_LEAD = """\
# P4Runtime: tables of the devices

Each engine has two P4Runtime devices: ids 1 and 2 for the first engine. Their programs are in `p4src/`. [The
page on P4](../docs/p4.md) says what the server supports of P4Runtime 1.4, and
[](python/olafswitch.p4runtime.session.md) is a client in Python.
"""


def table_pages() -> Mapping[str, str]:
    """Return Markdown by the place of the page."""
    lines = [_LEAD]
    for title, program in _DEVICES.items():
        path = sources() / "p4src" / f"{program}.p4"
        lines += _device_section(title, p4info_of(preprocess_file(path), str(path)))
    return {"reference/p4runtime": "\n".join(lines)}


def _device_section(title: str, info: Any) -> Iterator[str]:
    actions = {each.preamble.id: each for each in info.actions}
    yield from (f"## {title}", "")
    for table in info.tables:
        yield from (f"### `{table.preamble.name}`", "", *_document_lines(table.preamble))
        yield from (f"At most {table.size:,} entries.", "", "| match field | bits | kind |", "|---|---|---|")
        for match in table.match_fields:
            kind = type(match).MatchType.Name(match.match_type).lower()
            yield f"| `{match.name}` | {match.bitwidth} | {kind} |"
        yield from ("", "| action | parameters |", "|---|---|")
        for reference in table.action_refs:
            action = actions[reference.id]
            parameters = ", ".join(f"`{each.name}` ({each.bitwidth} bits)" for each in action.params)
            yield f"| `{action.preamble.name}` | {parameters or '–'} |"
        yield ""
    for kind, found in (("Counters", info.counters), ("Direct counters", info.direct_counters),
                        ("Registers", info.registers), ("Meters", info.meters)):  # fmt: skip
        if found:
            names = ", ".join(f"`{each.preamble.name}`" for each in found)
            yield from (f"{kind}: {names}.", "")
    for header in info.controller_packet_metadata:
        fields = ", ".join(f"`{each.name}` ({each.bitwidth} bits)" for each in header.metadata)
        yield from (f"Metadata of `{header.preamble.name}`: {fields}.", "")


def _document_lines(preamble: Any) -> Iterator[str]:
    if preamble.doc.brief:
        yield from (preamble.doc.brief, "")
