"""A page on the daemon's gRPC interface, from the comments of ``olaf.proto``."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from olafctl import paths

_PLACE = "olafctl/daemon/api/olaf.proto"
_BLOCK = re.compile(r"^(service|message|enum) (\w+) \{$")
_LINE = re.compile(r"^\s+(?P<said>[^;]+);(?:\s*// (?P<comment>.*))?$")
_CALL = re.compile(r"rpc (\w+)\((\w+)\) returns \((stream )?(\w+)\)")


@dataclass
class _Block:
    kind: str
    name: str
    lines: list[tuple[str, str]] = field(default_factory=list)
    """What each line declares, and its comment."""


def api_pages() -> Mapping[str, str]:
    """Return Markdown by the place of the page."""
    text = (paths.sources() / _PLACE).read_text(encoding="utf-8")
    lead = " ".join(line.removeprefix("// ") for line in text.partition("\nsyntax")[0].splitlines())
    blocks = list(_read_blocks(text))
    lines = [
        "# gRPC: the daemon's interface", "", lead, "",
        f"All of it is in [`olaf.proto`](../{_PLACE}), from which every language makes its own client;",
        "[](python/olafctl.daemon.api.client.md) is Python's.", "",
    ]  # fmt: skip
    for block in blocks:
        lines += _call_table(block) if block.kind == "service" else _field_table(block)
    return {"reference/grpc": "\n".join(lines)}


def _read_blocks(text: str) -> Iterator[_Block]:
    block = None
    for line in text.splitlines():
        if begun := _BLOCK.match(line):
            block = _Block(begun[1], begun[2])
            yield block
        elif block and (declared := _LINE.match(line)):
            block.lines.append((declared["said"].strip(), declared["comment"] or ""))


def _call_table(block: _Block) -> Iterator[str]:
    yield from ("## Calls", "", "| call | takes | returns | |", "|---|---|---|---|")
    for line, comment in block.lines:
        call = _CALL.fullmatch(line)
        assert call, line
        returned = f"{'a stream of ' if call[3] else ''}[{call[4]}](#{call[4].lower()})"
        yield f"| `{call[1]}` | [{call[2]}](#{call[2].lower()}) | {returned} | {comment} |"
    yield ""


def _field_table(block: _Block) -> Iterator[str]:
    yield from (f"## {block.name}", "")
    if not block.lines:
        yield from ("It has no fields.", "")
        return
    yield from (f"| {'value' if block.kind == 'enum' else 'field'} | number | |", "|---|---|---|")
    for line, comment in block.lines:
        name, _, number = line.partition(" = ")
        yield f"| `{name}` | {number} | {comment} |"
    yield ""
