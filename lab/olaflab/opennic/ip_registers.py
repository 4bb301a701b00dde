"""The registers of a simulated IP: what the stand-in for its driver writes programs a compiled XSA program.

``driver/ip_registers.h`` says how they are laid out; nothing else knows.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from olafswitch import cache
from olafswitch.p4.compiler import Program as Compiled
from olafswitch.p4.switch.native import NativeSwitch
from olafswitch.p4runtime.dataplane import ActionCall, CounterData, Exact, Key, Lpm, Match, P4Info, Ternary
from olafswitch.p4runtime.program import Action, Array, MatchField, MatchKind, Program, Table

PAGE = 8192
BUILD_INFO = 4
_SCRATCH = 0
_KEY, _MASK, _PARAMS = 0x000, 0x100, 0x200
_PRIORITY, _ACTION, _COMMAND, _ERROR = 0x300, 0x304, 0x308, 0x30C
_INSERT, _UPDATE, _DELETE, _CLEAR = 1, 2, 3, 4
_CLEAR_ALL = 0xFFFFFFFF
_PACKETS = 0x10
_HIGHEST_PRIORITY = (1 << 31) - 1


@dataclass(frozen=True)
class Stored:
    """An entry as the IP holds it: priority (the lowest wins), the action's number, parameters."""

    priority: int
    action: int
    params: int


@dataclass
class _TablePage:
    table: Table
    actions: Sequence[Action]
    words: dict[int, int] = field(default_factory=dict)
    entries: dict[tuple[int, int], Stored] = field(default_factory=dict)


@dataclass
class _CounterPage:
    counter: Array
    words: list[int] = field(default_factory=lambda: [0, 0, 0, 0])


def build_info(program: Compiled) -> int:
    """What the simulated IP and the stand-in for its driver know each other by."""
    return int(cache.digest([program.device_config])[:8], 16)


def action_list(table: Table) -> Sequence[Action]:
    """A table's actions in the order of the driver's numbers."""
    return tuple(table.actions.values())


class IpRegisters:
    """One IP's registers, in front of a program that runs."""

    def __init__(self, switch: NativeSwitch, info: P4Info, build_info: int) -> None:
        self._switch = switch
        program = Program(info)
        self._own = {_SCRATCH: 0, BUILD_INFO: build_info}
        tables = [_TablePage(table, action_list(table)) for table in program.tables.values()]
        self._tables = {page.table.name: page for page in tables}
        self._pages: list[_TablePage | _CounterPage] = [
            *tables,
            *(_CounterPage(counter) for counter in program.counters.values()),
        ]

    def entries(self) -> Mapping[str, Mapping[tuple[int, int], Stored]]:
        """What each table holds, by key and mask."""
        return {name: dict(page.entries) for name, page in self._tables.items()}

    def read(self, address: int) -> int:
        """A word; 0 where there is none."""
        number, offset = divmod(address, PAGE)
        if number == 0:
            return self._own.get(offset, 0)
        page = self._pages[number - 1] if number <= len(self._pages) else None
        match page:
            case _TablePage():
                return page.words.get(offset, 0)
            case _CounterPage():
                place = (offset - _PACKETS) // 4
                return page.words[place] if 0 <= place < len(page.words) else 0
        return 0

    def write(self, address: int, value: int) -> None:
        """Write a word; one of a command acts."""
        number, offset = divmod(address, PAGE)
        if number == 0:
            if offset == _SCRATCH:
                self._own[_SCRATCH] = value
            return
        page = self._pages[number - 1] if number <= len(self._pages) else None
        match page:
            case _TablePage() if offset == _COMMAND:
                page.words[_ERROR] = int(not self._carry_out(page, value))
            case _TablePage():
                page.words[offset] = value
            case _CounterPage() if offset == 0:
                self._take_counts(page, value)

    def _carry_out(self, page: _TablePage, command: int) -> bool:
        table = page.table
        if command == _CLEAR:
            for key, mask in list(page.entries):
                self._remove(page, key, mask)
            return True
        bits = sum(each.bits for each in table.fields)
        key = _number(page, _KEY, bits)
        mask = _number(page, _MASK, bits) if _is_masked(table) else (1 << bits) - 1
        known = (key, mask) in page.entries
        if known == (command == _INSERT):
            return False
        if command == _DELETE:
            self._remove(page, key, mask)
            return True
        priority, number = page.words.get(_PRIORITY, 0), page.words.get(_ACTION, 0)
        if number >= len(page.actions):
            return False
        call, params = _call(page, page.actions[number])
        where = (table.id, _key(table, key, mask), _native_priority(table, priority))
        if command == _INSERT:
            self._switch.insert(*where, call)
        else:
            self._switch.modify(*where, call)
        page.entries[key, mask] = Stored(priority, number, params)
        return True

    def _remove(self, page: _TablePage, key: int, mask: int) -> None:
        stored = page.entries.pop((key, mask))
        table = page.table
        self._switch.delete(table.id, _key(table, key, mask), _native_priority(table, stored.priority))

    def _take_counts(self, page: _CounterPage, index: int) -> None:
        counter = page.counter.id
        if index == _CLEAR_ALL:
            for each in range(page.counter.size):
                self._switch.set_counter(counter, each, CounterData(0, 0))
            return
        counted = self._switch.counter(counter, index)
        self._switch.set_counter(counter, index, CounterData(0, 0))
        page.words = [
            counted.packets & 0xFFFFFFFF,
            counted.packets >> 32,
            counted.bytes & 0xFFFFFFFF,
            counted.bytes >> 32,
        ]


def _is_masked(table: Table) -> bool:
    return any(each.kind is not MatchKind.EXACT for each in table.fields)


def _number(page: _TablePage, offset: int, bits: int) -> int:
    """Words that hold ``bits`` bits, the first on top."""
    value = 0
    for word in range((bits + 31) // 32):
        value = value << 32 | page.words.get(offset + 4 * word, 0)
    return value


def _call(page: _TablePage, action: Action) -> tuple[ActionCall, int]:
    longest = max(sum(param.bits for param in each.params) for each in page.actions)
    packed = _number(page, _PARAMS, longest)
    rest, values = packed, []
    for param in reversed(action.params):
        values.append(rest & (1 << param.bits) - 1)
        rest >>= param.bits
    return ActionCall(action.id, tuple(reversed(values))), packed


def _key(table: Table, key: int, mask: int) -> Key:
    fields: list[Match] = []
    for each in reversed(table.fields):
        full = (1 << each.bits) - 1
        fields.append(_match(each, key & full, mask & full))
        key >>= each.bits
        mask >>= each.bits
    return tuple(reversed(fields))


def _match(of: MatchField, value: int, mask: int) -> Match:
    match of.kind:
        case MatchKind.EXACT:
            return Exact(value)
        case MatchKind.LPM:
            return Lpm(value, mask.bit_count()) if mask else None
        case _:
            return Ternary(value, mask) if mask else None


def _native_priority(table: Table, priority: int) -> int:
    """The compiled program takes P4Runtime's: the highest wins."""
    return _HIGHEST_PRIORITY - priority if table.has_priority else 0
