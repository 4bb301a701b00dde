"""Random frames that a program's parser understands, and random entries for its tables."""

import random
from collections.abc import Callable
from typing import Any

from olafswitch.p4.ir import nodes as ir
from olafswitch.p4.ir import types as t
from olafswitch.p4.verilog.parsing import flatten_parser
from olafswitch.p4runtime.dataplane import ActionCall, Exact, Key, Lpm, Match, Optional, Range, Ternary
from olafswitch.p4runtime.program import ActionScope

_STEPS = 40


def pick_pooled(r: random.Random, bits: int) -> int:
    """Pick often one of a few values, so that frames and entries meet."""
    full = (1 << bits) - 1
    if r.random() < 0.8:
        return r.choice((0, 1, 2, 3, 4, full, full >> 1, 0x0A000001 & full, 0x0A000102)) & full
    return r.getrandbits(bits)


class Walks:
    """Frames made by walking through a parser's states."""

    def __init__(self, program: ir.Program, r: random.Random) -> None:
        self._r = r
        self._ahead: dict[tuple[int, int], int] = {}
        """What a state looked ahead for, by place and bits."""
        self._states = {state.name: state for state in flatten_parser(program.parts["parser"])}
        self._matched: dict[int, list[int]] = {}
        """What the program's own entries match, by bits."""
        for table in program.tables:
            for each in table.entries:
                for key, match in zip(table.match_keys, each.matches, strict=True):
                    if match.value is not None:
                        self._matched.setdefault(t.key_width(key.value.type) or 0, []).append(match.value)

    def draw_frame(self) -> bytes:
        """Draw a frame; some are cut, or random altogether."""
        r = self._r
        if r.random() < 0.05:
            return r.randbytes(r.randrange(1, 100))
        data, name = bytearray(), "start"
        self._ahead.clear()
        for _ in range(_STEPS):
            if name in ("accept", "reject"):
                break
            name = self._extract_state(self._states[name], data)
        data += r.randbytes(r.choice((0, 0, 1, 10, 46, 64, 130)))
        if r.random() < 0.1:
            data = data[: r.randrange(len(data) + 1)]
        return bytes(data) or b"\0"

    def _extract_state(self, state: ir.State, data: bytearray) -> str:
        """Append what the state extracts; the state that follows, with its fields as that needs them."""
        r = self._r
        at: dict[str, tuple[int, int]] = {}
        for statement in state.body.statements:
            call = statement.call if isinstance(statement, ir.Do) else None
            if isinstance(call, ir.ExternCall) and call.method == "extract":
                start, number, bits = 8 * len(data), 0, 0
                for name, width in _header_fields(call.args[0].type):
                    at[name] = (start + bits, width)
                    number, bits = number << width | self._draw_value(width), bits + width
                data += number.to_bytes(bits // 8, "big")
                for (place, width), value in self._ahead.items():
                    if start <= place and place + width <= start + bits:
                        _patch_bits(data, place, width, value)
        transition = state.transition
        if not transition.subjects:
            return transition.state
        case = r.choice(transition.cases)
        if isinstance(case.sets, tuple):
            for subject, each in zip(transition.subjects, case.sets, strict=True):
                if each.match is None or each.match.value is None or not isinstance(subject, ir.Field):
                    continue
                if isinstance(subject.base, ir.ExternCall):
                    place = 8 * len(data)
                    for name, width in _header_fields(subject.base.type):
                        if name == subject.name:
                            self._ahead[place, width] = each.match.value
                        place += width
                elif subject.name in at:
                    _patch_bits(data, *at[subject.name], each.match.value)
        return case.state

    def _draw_value(self, bits: int) -> int:
        own = self._matched.get(bits)
        return self._r.choice(own) if own and self._r.random() < 0.5 else pick_pooled(self._r, bits)


def _header_fields(type_: t.Type) -> list[tuple[str, int]]:
    """Return the names and bits of a header's fields."""
    base = t.strip_type(type_)
    return [(name, t.max_width(inner)) for name, inner in base.fields] if isinstance(base, t.Struct) else []


def _patch_bits(data: bytearray, at: int, bits: int, value: int) -> None:
    number, total = int.from_bytes(data, "big"), 8 * len(data)
    low = total - at - bits
    number = number & ~(((1 << bits) - 1) << low) | value << low
    data[:] = number.to_bytes(len(data), "big")


def fill_tables(
    info: Any, r: random.Random, add: Callable[[int, Key, int, ActionCall], None], each: int = 12
) -> None:
    """Put random entries into every table of a P4Info's :class:`olafswitch.p4runtime.program.ProgramInfo`."""
    for table in info.tables.values():
        if not table.fields or table.is_const:
            continue
        for number in range(min(each, table.size or 1024)):
            key = tuple(_draw_match(field.kind.name, field.bits, r) for field in table.fields)
            usable = [
                table.actions[i] for i, scope in table.scopes.items() if scope is not ActionScope.DEFAULT_ONLY
            ]
            action = r.choice(usable)
            params = tuple(pick_pooled(r, param.bits) for param in info.actions[action.id].params)
            add(table.id, key, number + 1 if table.has_priority else 0, ActionCall(action.id, params))


def draw_members(value_set: Any, r: random.Random, most: int = 4) -> list[Key]:
    """Draw members for a parser's value set."""
    wanted = range(min(value_set.size, most))
    return list(
        dict.fromkeys(tuple(_draw_match(f.kind.name, f.bits, r) for f in value_set.fields) for _ in wanted)
    )


def _draw_match(kind: str, bits: int, r: random.Random) -> Match:
    value, full = pick_pooled(r, bits), (1 << bits) - 1
    match kind:
        case "EXACT":
            return Exact(value)
        case "LPM":
            length = r.choice((bits, bits, r.randrange(1, bits + 1)))
            return Lpm(value & full ^ value & full >> length, length)
        case "OPTIONAL":
            return Optional(value)
        case "RANGE":
            other = pick_pooled(r, bits)
            return Range(min(value, other), max(value, other))
    mask = r.choice((full, r.getrandbits(bits)))
    return Ternary(value & mask, mask)
