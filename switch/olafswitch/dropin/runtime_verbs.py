"""What each verb of ``simple_switch_CLI`` does with a switch. A wrong command is a ValueError, for people."""

import ipaddress
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TypeVar

from olafswitch.p4runtime.entities import (
    CloneSession,
    CounterData,
    DefaultAction,
    Exact,
    Lpm,
    Match,
    MulticastGroup,
    Optional,
    Range,
    Replica,
    TableEntry,
    Ternary,
)
from olafswitch.p4runtime.program import Action, MatchField, MatchKind, Table
from olafswitch.p4runtime.session import Session

_TOP = (1 << 31) - 1  # BMv2's smallest number is the first entry, P4Runtime's the last
_T = TypeVar("_T")
_Verb = Callable[[Sequence[str]], Iterable[str]]


class Verbs:
    """The verbs, by name; entry and node handles are this session's own, from 0."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._entries: list[TableEntry] = []
        self._nodes: list[list[Replica]] = []
        self._verbs: dict[str, tuple[str, int, _Verb]] = {
            "help": ("", 0, self._help),
            "show_tables": ("", 0, self._show_tables),
            "table_info": ("TABLE", 1, self._table_info),
            "table_add": ("TABLE ACTION MATCH... => PARAMETER... [PRIORITY]", 3, self._add),
            "table_modify": ("TABLE ACTION HANDLE [=>] PARAMETER...", 3, self._modify),
            "table_delete": ("TABLE HANDLE", 2, self._delete),
            "table_delete_match": ("TABLE MATCH... [PRIORITY]", 2, self._delete_match),
            "table_set_default": ("TABLE ACTION PARAMETER...", 2, self._set_default),
            "table_reset_default": ("TABLE", 1, self._reset_default),
            "table_clear": ("TABLE", 1, self._clear),
            "table_num_entries": ("TABLE", 1, self._num_entries),
            "table_dump": ("TABLE", 1, self._dump),
            "counter_read": ("COUNTER INDEX", 2, self._counter_read),
            "counter_write": ("COUNTER INDEX PACKETS BYTES", 4, self._counter_write),
            "counter_reset": ("COUNTER", 1, self._counter_reset),
            "register_read": ("REGISTER [INDEX]", 1, self._register_read),
            "register_write": ("REGISTER INDEX VALUE", 3, self._register_write),
            "register_reset": ("REGISTER", 1, self._register_reset),
            "mirroring_add": ("SESSION PORT", 2, self._mirroring_add),
            "mirroring_delete": ("SESSION", 1, self._mirroring_delete),
            "mc_mgrp_create": ("GROUP", 1, self._group_create),
            "mc_mgrp_destroy": ("GROUP", 1, self._group_destroy),
            "mc_node_create": ("INSTANCE PORT...", 1, self._node_create),
            "mc_node_associate": ("GROUP HANDLE", 2, self._node_associate),
        }

    def do(self, verb: str, words: Sequence[str]) -> Iterable[str]:
        """What the verb says. Raises ValueError for a wrong command, OlafError when the switch refuses."""
        if verb not in self._verbs:
            raise ValueError(f"{verb} does not exist over P4Runtime; help lists what does")
        form, least, call = self._verbs[verb]
        if len(words) < least:
            raise ValueError(f"{verb} needs {form}")
        return list(call(words))

    def _help(self, words: Sequence[str]) -> Iterator[str]:
        for verb, (form, _, _) in self._verbs.items():
            yield f"{verb} {form}".rstrip()

    # Tables

    def _show_tables(self, words: Sequence[str]) -> Iterator[str]:
        for table in self._session.program.tables.values():
            yield _described(table)

    def _table_info(self, words: Sequence[str]) -> Iterator[str]:
        table = self._table(words[0])
        yield _described(table)
        for action in table.actions.values():
            yield f"{action.name} [{', '.join(f'{param.name}({param.bits})' for param in action.params)}]"

    def _add(self, words: Sequence[str]) -> Iterator[str]:
        table = self._table(words[0])
        action = _action(table, words[1])
        if "=>" not in words:
            raise ValueError("write => between the match and the action's parameters")
        middle = words.index("=>")
        match, rest = words[2:middle], list(words[middle + 1 :])
        priority = _priority(rest.pop()) if table.has_priority and len(rest) > len(action.params) else 0
        if table.has_priority and not priority:
            raise ValueError(f"table {table.alias} needs a priority as the last word")
        entry = TableEntry(table.alias, _key(table, match), action.alias, _params(action, rest), priority)
        self._session.insert(entry)
        self._entries.append(entry)
        yield f"Entry has been added with handle {len(self._entries) - 1}"

    def _modify(self, words: Sequence[str]) -> Iterator[str]:
        old = self._entry(words[0], words[2])
        action = _action(self._table(words[0]), words[1])
        params = _params(action, [word for word in words[3:] if word != "=>"])
        entry = TableEntry(old.table, old.match, action.alias, params, old.priority)
        self._session.modify(entry)
        self._entries[_number(words[2])] = entry
        yield f"Entry {words[2]} has been modified"

    def _delete(self, words: Sequence[str]) -> Iterator[str]:
        self._session.delete(self._entry(words[0], words[1]))
        yield f"Entry {words[1]} has been deleted"

    def _delete_match(self, words: Sequence[str]) -> Iterator[str]:
        table = self._table(words[0])
        rest = list(words[1:])
        priority = _priority(rest.pop()) if table.has_priority else 0
        self._session.delete(TableEntry(table.alias, _key(table, rest), priority=priority))
        yield "Entry has been deleted"

    def _set_default(self, words: Sequence[str]) -> Iterator[str]:
        table = self._table(words[0])
        action = _action(table, words[1])
        rest = [word for word in words[2:] if word != "=>"]
        self._session.modify(DefaultAction(table.alias, action.alias, _params(action, rest)))
        yield f"Default action of {table.name} is {action.name}"

    def _reset_default(self, words: Sequence[str]) -> Iterator[str]:
        self._session.modify(DefaultAction(self._table(words[0]).alias))
        yield "The default action is the program's own"

    def _clear(self, words: Sequence[str]) -> Iterator[str]:
        entries = self._session.entries(self._table(words[0]).alias)
        self._session.delete(*entries)
        yield f"{len(entries)} entries have been deleted"

    def _num_entries(self, words: Sequence[str]) -> Iterator[str]:
        yield str(len(self._session.entries(self._table(words[0]).alias)))

    def _dump(self, words: Sequence[str]) -> Iterator[str]:
        table = self._table(words[0])
        yield from sorted(str(entry) for entry in self._session.entries(table.alias))
        yield str(self._session.default_action(table.alias))

    def _table(self, name: str) -> Table:
        return _known(self._session.program.table_named, name)

    def _entry(self, table: str, handle: str) -> TableEntry:
        number = _number(handle)
        if number >= len(self._entries) or self._entries[number].table != self._table(table).alias:
            raise ValueError(
                f"table {table} has no entry that this session added with handle {handle}; "
                "table_delete_match takes a match"
            )
        return self._entries[number]

    # Counters and registers

    def _counter_read(self, words: Sequence[str]) -> Iterator[str]:
        cells = self._session.counter(words[0])
        index = _within(words[1], len(cells))
        yield f"{words[0]}[{index}]= ({cells[index].bytes} bytes, {cells[index].packets} packets)"

    def _counter_write(self, words: Sequence[str]) -> Iterator[str]:
        value = CounterData(_number(words[2]), _number(words[3]))
        self._session.set_counter(words[0], [_number(words[1])], value)
        yield f"{words[0]}[{words[1]}] has been written"

    def _counter_reset(self, words: Sequence[str]) -> Iterator[str]:
        cells = _known(self._session.program.counter_named, words[0]).size
        self._session.set_counter(words[0], range(cells), CounterData(0, 0))
        yield f"{cells} cells have been reset"

    def _register_read(self, words: Sequence[str]) -> Iterator[str]:
        cells = self._session.register(words[0])
        if len(words) == 1:
            yield f"{words[0]}= {', '.join(map(str, cells))}"
        else:
            yield f"{words[0]}[{words[1]}]= {cells[_within(words[1], len(cells))]}"

    def _register_write(self, words: Sequence[str]) -> Iterator[str]:
        self._session.set_register(words[0], [_number(words[1])], _number(words[2]))
        yield f"{words[0]}[{words[1]}] has been written"

    def _register_reset(self, words: Sequence[str]) -> Iterator[str]:
        cells = _known(self._session.program.register_named, words[0]).size
        self._session.set_register(words[0], range(cells), 0)
        yield f"{cells} cells have been reset"

    # Replication

    def _mirroring_add(self, words: Sequence[str]) -> Iterator[str]:
        self._session.insert(CloneSession(_number(words[0]), [Replica(_number(words[1]), 0)]))
        yield f"Session {words[0]} mirrors to port {words[1]}"

    def _mirroring_delete(self, words: Sequence[str]) -> Iterator[str]:
        self._session.delete(CloneSession(_number(words[0])))
        yield f"Session {words[0]} has been deleted"

    def _group_create(self, words: Sequence[str]) -> Iterator[str]:
        self._session.insert(MulticastGroup(_number(words[0])))
        yield f"Group {words[0]} has been created"

    def _group_destroy(self, words: Sequence[str]) -> Iterator[str]:
        self._session.delete(MulticastGroup(_number(words[0])))
        yield f"Group {words[0]} has been deleted"

    def _node_create(self, words: Sequence[str]) -> Iterator[str]:
        self._nodes.append([Replica(_number(port), _number(words[0])) for port in words[1:]])
        yield f"Node has been created with handle {len(self._nodes) - 1}"

    def _node_associate(self, words: Sequence[str]) -> Iterator[str]:
        group, handle = _number(words[0]), _within(words[1], len(self._nodes))
        known = {each.group_id: list(each.replicas) for each in self._session.multicast_groups()}
        if group not in known:
            raise ValueError(f"multicast group {group} does not exist")
        self._session.modify(MulticastGroup(group, [*known[group], *self._nodes[handle]]))
        yield f"Node {handle} is in group {group}"


def _described(table: Table) -> str:
    fields = ", ".join(f"{field.name}({field.kind.name.lower()}, {field.bits})" for field in table.fields)
    return f"{table.name} [{fields}]"


def _known(lookup: Callable[[str], _T], name: str) -> _T:
    try:
        return lookup(name)
    except KeyError as error:
        raise ValueError(error.args[0]) from None


def _action(table: Table, name: str) -> Action:
    for action in table.actions.values():
        if name in (action.name, action.alias):
            return action
    known = ", ".join(action.alias for action in table.actions.values())
    raise ValueError(f"table {table.alias} has no action {name} (known: {known})")


def _params(action: Action, words: Sequence[str]) -> dict[str, int]:
    if len(words) != len(action.params):
        raise ValueError(f"action {action.alias} takes {len(action.params)} parameters, not {len(words)}")
    return {param.name: _number(word) for param, word in zip(action.params, words, strict=True)}


def _key(table: Table, words: Sequence[str]) -> dict[str, Match | int]:
    if len(words) != len(table.fields):
        raise ValueError(f"table {table.alias} has {len(table.fields)} key fields, not {len(words)}")
    return {field.name: _match(field, word) for field, word in zip(table.fields, words, strict=True)}


def _match(field: MatchField, word: str) -> Match:
    match field.kind:
        case MatchKind.EXACT:
            return Exact(_number(word))
        case MatchKind.OPTIONAL:
            return Optional(_number(word))
        case MatchKind.LPM:
            value, slash, length = word.partition("/")
            if not slash:
                raise ValueError(f"{field.name} is matched by prefix: write VALUE/LENGTH, not {word}")
            bits = _within(length, field.bits + 1)
            return Lpm(_number(value) >> field.bits - bits << field.bits - bits, bits)
        case MatchKind.TERNARY:
            value, ands, mask = word.partition("&&&")
            if not ands:
                raise ValueError(f"{field.name} is ternary: write VALUE&&&MASK, not {word}")
            return Ternary(_number(value) & _number(mask), _number(mask))
        case MatchKind.RANGE:
            low, arrow, high = word.partition("->")
            if not arrow:
                raise ValueError(f"{field.name} is a range: write LOW->HIGH, not {word}")
            return Range(_number(low), _number(high))


def _number(word: str) -> int:
    """A number, an IP address or a MAC address as one number."""
    try:
        if word.count(":") == 5 and len(word) <= 17:
            return int.from_bytes(bytes(int(part, 16) for part in word.split(":")), "big")
        if "." in word or ":" in word:
            return int(ipaddress.ip_address(word))
        value = int(word, 0)
    except ValueError:
        raise ValueError(f"{word!r} is not a number, an IP address or a MAC address") from None
    if value < 0:
        raise ValueError(f"{word} is negative")
    return value


def _within(word: str, size: int) -> int:
    value = _number(word)
    if value >= size:
        raise ValueError(f"{value} is not below {size}")
    return value


def _priority(word: str) -> int:
    return max(_TOP - _number(word), 1)
