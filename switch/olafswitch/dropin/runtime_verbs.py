"""The verbs of ``simple_switch_CLI`` on a switch. A wrong command raises a ValueError for people."""

from collections.abc import Callable, Iterable, Iterator, Sequence

from olafswitch.dropin.runtime_words import (
    REFUSED,
    WITHOUT_EFFECT,
    describe_action,
    describe_call,
    describe_data,
    describe_key,
    describe_table,
    describe_value_set,
    dump_entry,
    find_table_action,
    look_up,
    map_ports,
    name_kind,
    parse_index,
    parse_key,
    parse_member,
    parse_number,
    parse_params,
    parse_priority,
    parse_rates,
    write_member,
)  # fmt: skip
from olafswitch.p4runtime.dataplane import Key
from olafswitch.p4runtime.entities import (
    CloneSession,
    CounterData,
    DefaultAction,
    MulticastGroup,
    Replica,
    TableEntry,
)
from olafswitch.p4runtime.program import TableInfo, ValueSetInfo
from olafswitch.p4runtime.session import Session

_Verb = Callable[[Sequence[str]], Iterable[str] | None]


class Verbs:
    """The verbs of BMv2's runtime_CLI and sswitch_CLI, by name.

    Handles count by table: the entries that a table holds at its first use here have the first handles.
    """

    def __init__(self, session: Session) -> None:
        self._session = session
        self._entries: dict[str, list[TableEntry | None]] = {}
        self._nodes: list[list[Replica] | None] = []
        self._members: dict[int, list[int]] = {}
        """The nodes that each group was given here."""
        self._said: set[str] = set()
        self.verbs: dict[str, tuple[str, int, _Verb]] = {
            "help": ("[VERB]...", 0, self._help),
            "show_tables": ("", 0, self._show_tables),
            "show_actions": ("", 0, self._show_actions),
            "table_info": ("TABLE", 1, self._table_info),
            "table_show_actions": ("TABLE", 1, self._table_actions),
            "table_add": ("TABLE ACTION MATCH... => PARAMETER... [PRIORITY]", 3, self._add),
            "table_modify": ("TABLE ACTION HANDLE [=>] PARAMETER...", 3, self._modify),
            "table_delete": ("TABLE HANDLE", 2, self._delete),
            "table_delete_match": ("TABLE MATCH... [PRIORITY]", 2, self._delete_match),
            "table_set_default": ("TABLE ACTION PARAMETER...", 2, self._set_default),
            "table_reset_default": ("TABLE", 1, self._reset_default),
            "table_clear": ("TABLE", 1, self._clear),
            "table_num_entries": ("TABLE", 1, self._num_entries),
            "table_dump": ("TABLE", 1, self._dump),
            "table_dump_entry": ("TABLE HANDLE", 2, self._dump_entry),
            "table_dump_entry_from_key": ("TABLE MATCH... [PRIORITY]", 2, self._dump_by_key),
            "counter_read": ("COUNTER INDEX", 2, self._counter_read),
            "counter_write": ("COUNTER INDEX PACKETS BYTES", 4, self._counter_write),
            "counter_reset": ("COUNTER", 1, self._counter_reset),
            "register_read": ("REGISTER [INDEX]", 1, self._register_read),
            "register_write": ("REGISTER INDEX VALUE", 3, self._register_write),
            "register_reset": ("REGISTER", 1, self._register_reset),
            "meter_get_rates": ("METER INDEX", 2, self._meter_get),
            "meter_set_rates": ("METER INDEX RATE:BURST RATE:BURST", 4, self._meter_set),
            "meter_array_set_rates": ("METER RATE:BURST RATE:BURST", 3, self._meter_set_all),
            "show_pvs": ("", 0, self._show_value_sets),
            "pvs_add": ("VALUE_SET VALUE", 2, self._value_add),
            "pvs_remove": ("VALUE_SET VALUE", 2, self._value_remove),
            "pvs_get": ("VALUE_SET", 1, self._value_get),
            "pvs_clear": ("VALUE_SET", 1, self._value_clear),
            "mirroring_add": ("SESSION PORT", 2, self._mirroring_add),
            "mirroring_add_mc": ("SESSION GROUP", 2, self._mirroring_add_group),
            "mirroring_delete": ("SESSION", 1, self._mirroring_delete),
            "mirroring_get": ("SESSION", 1, self._mirroring_get),
            "mc_mgrp_create": ("GROUP", 1, self._group_create),
            "mc_mgrp_destroy": ("GROUP", 1, self._group_destroy),
            "mc_node_create": ("INSTANCE PORT...", 1, self._node_create),
            "mc_node_update": ("HANDLE PORT...", 1, self._node_update),
            "mc_node_associate": ("GROUP HANDLE", 2, self._node_associate),
            "mc_node_dissociate": ("GROUP HANDLE", 2, self._node_dissociate),
            "mc_node_destroy": ("HANDLE", 1, self._node_destroy),
            "mc_dump": ("", 0, self._mc_dump),
            "switch_info": ("", 0, self._switch_info),
            "reset_state": ("", 0, self._reset_state),
        }

    def do(self, verb: str, words: Sequence[str]) -> Iterable[str]:
        """Run a verb and return its output. Raises ValueError when it is wrong, OlafError when it is
        refused."""
        if verb in WITHOUT_EFFECT:
            first = verb not in self._said
            self._said.add(verb)
            return [f"{verb} has no effect here: {WITHOUT_EFFECT[verb]}"] if first else []
        if verb in REFUSED:
            raise ValueError(f"{verb} is not done: {REFUSED[verb]}")
        if verb not in self.verbs:
            raise ValueError(f"{verb} does not exist in BMv2's command line; help lists what does")
        form, least, call = self.verbs[verb]
        most = len(words) if "..." in form else len(form.split())
        if not least <= len(words) <= most:
            raise ValueError(f"{verb} needs {form or 'no words'}, not {len(words)} of them")
        return list(call(words) or ())

    def _help(self, words: Sequence[str]) -> Iterator[str]:
        for verb, (form, _, _) in self.verbs.items():
            if verb in words or not words:
                yield f"{verb} {form}".rstrip()

    # Tables

    def _show_tables(self, words: Sequence[str]) -> Iterator[str]:
        yield from sorted(map(self._describe_table, self._session.program.tables.values()))

    def _show_actions(self, words: Sequence[str]) -> Iterator[str]:
        yield from sorted(map(describe_action, self._session.program.actions.values()))

    def _table_info(self, words: Sequence[str]) -> Iterator[str]:
        yield self._describe_table(self._table(words[0]))
        yield "*" * 80
        yield from self._table_actions(words)

    def _describe_table(self, table: TableInfo) -> str:
        return describe_table(table, self._session.program.profiles.get(table.profile_id))

    def _table_actions(self, words: Sequence[str]) -> Iterator[str]:
        yield from sorted(map(describe_action, self._table(words[0]).actions.values()))

    def _add(self, words: Sequence[str]) -> Iterator[str]:
        table = self._table(words[0])
        action = find_table_action(table, words[1])
        if "=>" not in words:
            raise ValueError("write => between the match and the action's parameters")
        middle = words.index("=>")
        match, rest = words[2:middle], list(words[middle + 1 :])
        priority = parse_priority(rest.pop()) if table.has_priority and len(rest) > len(action.params) else 0
        if table.has_priority and not priority:
            raise ValueError(f"table {table.alias} needs a priority as the last word")
        entry = TableEntry(
            table.alias, parse_key(table, match), action.alias, parse_params(action, rest), priority
        )
        handles = self._handles(table)
        self._session.insert(entry)
        handles.append(entry)
        yield f"Adding entry to {name_kind(table)} match table {words[0]}"
        yield f"{'match key:':20} {describe_key(table, entry)}"
        yield from describe_data(words[1], action, entry.params)
        yield f"Entry has been added with handle {len(handles) - 1}"

    def _modify(self, words: Sequence[str]) -> Iterator[str]:
        table = self._table(words[0])
        old = self._entry(table, words[2])
        action = find_table_action(table, words[1])
        params = parse_params(action, [word for word in words[3:] if word != "=>"])
        entry = TableEntry(old.table, old.match, action.alias, params, old.priority)
        self._session.modify(entry)
        self._handles(table)[parse_number(words[2])] = entry
        yield f"Modifying entry {words[2]} for {name_kind(table)} match table {words[0]}"

    def _delete(self, words: Sequence[str]) -> Iterator[str]:
        table = self._table(words[0])
        self._session.delete(self._entry(table, words[1]))
        self._handles(table)[parse_number(words[1])] = None
        yield f"Deleting entry {words[1]} from {words[0]}"

    def _delete_match(self, words: Sequence[str]) -> None:
        entry = self._matching(words)
        handles = self._handles(self._table(words[0]))
        self._session.delete(entry)
        for at, each in enumerate(handles):
            if each is not None and each.key == entry.key:
                handles[at] = None

    def _set_default(self, words: Sequence[str]) -> Iterator[str]:
        table = self._table(words[0])
        action = find_table_action(table, words[1])
        rest = [word for word in words[2:] if word != "=>"]
        params = parse_params(action, rest)
        self._session.modify(DefaultAction(table.alias, action.alias, params))
        yield f"Setting default action of {words[0]}"
        yield from describe_data(words[1], action, params)

    def _reset_default(self, words: Sequence[str]) -> None:
        self._session.modify(DefaultAction(self._table(words[0]).alias))

    def _clear(self, words: Sequence[str]) -> None:
        table = self._table(words[0])
        entries = self._session.entries(table.alias)
        self._session.delete(*entries)
        self._entries[table.alias] = []

    def _num_entries(self, words: Sequence[str]) -> Iterator[str]:
        yield str(len(self._session.entries(self._table(words[0]).alias)))

    def _dump(self, words: Sequence[str]) -> Iterator[str]:
        table = self._table(words[0])
        yield from ("==========", "TABLE ENTRIES")
        for handle, entry in enumerate(self._handles(table)):
            if entry is not None:
                yield "**********"
                yield from dump_entry(table, entry, handle)
        default = self._session.default_action(table.alias)
        yield from ("==========", "Dumping default entry")
        yield describe_call(table, default.action, default.params) if default.action else "EMPTY"
        yield "=========="

    def _dump_entry(self, words: Sequence[str]) -> Iterator[str]:
        table = self._table(words[0])
        yield from dump_entry(table, self._entry(table, words[1]), parse_number(words[1]))

    def _dump_by_key(self, words: Sequence[str]) -> Iterator[str]:
        table, key = self._table(words[0]), self._matching(words).key
        for handle, entry in enumerate(self._handles(table)):
            if entry is not None and entry.key == key:
                yield from dump_entry(table, entry, handle)
                return
        raise ValueError(f"table {table.alias} has no such entry")

    def _table(self, name: str) -> TableInfo:
        return look_up(self._session.program.table_named, name)

    def _matching(self, words: Sequence[str]) -> TableEntry:
        """Return the entry with the table, match and priority that ``words`` name, without an action."""
        table, rest = self._table(words[0]), list(words[1:])
        priority = parse_priority(rest.pop()) if table.has_priority else 0
        return TableEntry(table.alias, parse_key(table, rest), priority=priority)

    def _handles(self, table: TableInfo) -> list[TableEntry | None]:
        if table.alias not in self._entries:
            self._entries[table.alias] = [*self._session.ordered_entries(table.alias)]
        return self._entries[table.alias]

    def _entry(self, table: TableInfo, handle: str) -> TableEntry:
        handles, number = self._handles(table), parse_number(handle)
        entry = handles[number] if number < len(handles) else None
        if entry is None:
            raise ValueError(f"table {table.alias} has no entry with handle {handle}")
        return entry

    # Counters, registers and meters

    def _counter_read(self, words: Sequence[str]) -> Iterator[str]:
        if (table := self._counted(words[0])) is not None:
            entry = self._entry(table, words[1])
            found = {each.key: count for each, count in self._session.direct_counters(table.alias).items()}
            cell, index = found[entry.key], parse_number(words[1])
            yield f"this is the direct counter for table {table.name}"
        else:
            cells = self._session.counter(words[0])
            index = parse_index(words[1], len(cells))
            cell = cells[index]
        yield f"{words[0]}[{index}]= ({cell.bytes} bytes, {cell.packets} packets)"

    def _counted(self, name: str) -> TableInfo | None:
        """Return the table whose direct counter has this name."""
        for counter in self._session.program.p4info.direct_counters:
            full = counter.preamble.name
            if name in (full, counter.preamble.alias) or full.endswith(f".{name}"):
                return self._session.program.tables.get(counter.direct_table_id)
        return None

    def _counter_write(self, words: Sequence[str]) -> Iterator[str]:
        value = CounterData(parse_number(words[2]), parse_number(words[3]))
        self._session.set_counter(words[0], [parse_number(words[1])], value)
        yield f"{words[0]}[{words[1]}] has been updated"

    def _counter_reset(self, words: Sequence[str]) -> None:
        cells = look_up(self._session.program.counter_named, words[0]).size
        self._session.set_counter(words[0], range(cells), CounterData(0, 0))

    def _register_read(self, words: Sequence[str]) -> Iterator[str]:
        cells = self._session.register(words[0])
        if len(words) == 1:
            yield f"{words[0]}= {', '.join(map(str, cells))}"
        else:
            yield f"{words[0]}[{words[1]}]= {cells[parse_index(words[1], len(cells))]}"

    def _register_write(self, words: Sequence[str]) -> None:
        self._session.set_register(words[0], [parse_number(words[1])], parse_number(words[2]))

    def _register_reset(self, words: Sequence[str]) -> None:
        cells = look_up(self._session.program.register_named, words[0]).size
        self._session.set_register(words[0], range(cells), 0)

    def _meter_get(self, words: Sequence[str]) -> Iterator[str]:
        cells = self._session.meter(words[0])
        config = cells[parse_index(words[1], len(cells))]
        pairs = ((config.cir, config.cburst), (config.pir, config.pburst)) if config is not None else ()
        for number, (rate, burst) in enumerate(pairs):
            yield f"{number}: info rate = {rate / 1e6}, burst size = {burst}"

    def _meter_set(self, words: Sequence[str]) -> None:
        self._session.set_meter(words[0], [parse_number(words[1])], parse_rates(words[2:]))

    def _meter_set_all(self, words: Sequence[str]) -> None:
        cells = look_up(self._session.program.meter_named, words[0]).size
        self._session.set_meter(words[0], range(cells), parse_rates(words[1:]))

    # Value sets

    def _show_value_sets(self, words: Sequence[str]) -> Iterator[str]:
        yield from sorted(map(describe_value_set, self._session.program.value_sets.values()))

    def _value_set(self, name: str) -> ValueSetInfo:
        return look_up(self._session.program.value_set_named, name)

    def _value_add(self, words: Sequence[str]) -> None:
        member = parse_member(self._value_set(words[0]), words[1])
        members = self._session.value_set(words[0])
        self._set_values(words[0], members if member in members else [*members, member])

    def _value_remove(self, words: Sequence[str]) -> None:
        member = parse_member(self._value_set(words[0]), words[1])
        members = self._session.value_set(words[0])
        self._set_values(words[0], [each for each in members if each != member])

    def _set_values(self, name: str, members: Sequence[Key]) -> None:
        self._session.set_value_set(name, members)

    def _value_get(self, words: Sequence[str]) -> Iterator[str]:
        value_set = self._value_set(words[0])
        for member in self._session.value_set(words[0]):
            yield write_member(value_set, member)

    def _value_clear(self, words: Sequence[str]) -> None:
        self._set_values(words[0], ())

    # Replication

    def _mirroring_add(self, words: Sequence[str]) -> None:
        self._mirror(parse_number(words[0]), [Replica(parse_number(words[1]), 0)])

    def _mirroring_add_group(self, words: Sequence[str]) -> None:
        self._mirror(parse_number(words[0]), self._replicas(parse_number(words[1])))

    def _mirror(self, session: int, replicas: Sequence[Replica]) -> None:
        entity = CloneSession(session, replicas)
        write = self._session.modify if session in self._sessions() else self._session.insert
        write(entity)

    def _sessions(self) -> dict[int, CloneSession]:
        return {each.session_id: each for each in self._session.clone_sessions()}

    def _mirroring_delete(self, words: Sequence[str]) -> None:
        self._session.delete(CloneSession(parse_number(words[0])))

    def _mirroring_get(self, words: Sequence[str]) -> Iterator[str]:
        found = self._sessions().get(parse_number(words[0]))
        if found is None:
            raise ValueError(f"session {words[0]} does not exist")
        replicas = list(found.replicas)
        if len(replicas) == 1 and not replicas[0].instance:
            port, group = str(replicas[0].egress_port), "None"
        else:
            port = "None"
            group = next((str(at) for at, held in self._groups().items() if held == replicas), "None")
        yield f"MirroringSessionConfig(port={port}, mgid={group})"

    def _groups(self) -> dict[int, list[Replica]]:
        return {each.group_id: list(each.replicas) for each in self._session.multicast_groups()}

    def _replicas(self, group: int) -> list[Replica]:
        groups = self._groups()
        if group not in groups:
            raise ValueError(f"multicast group {group} does not exist")
        return groups[group]

    def _group_create(self, words: Sequence[str]) -> Iterator[str]:
        if parse_number(words[0]) not in self._groups():
            self._session.insert(MulticastGroup(parse_number(words[0])))
        yield f"Creating multicast group {words[0]}"

    def _group_destroy(self, words: Sequence[str]) -> Iterator[str]:
        self._session.delete(MulticastGroup(parse_number(words[0])))
        self._members.pop(parse_number(words[0]), None)
        yield f"Destroying multicast group {words[0]}"

    def _node_create(self, words: Sequence[str]) -> Iterator[str]:
        self._nodes.append([Replica(parse_number(port), parse_number(words[0])) for port in words[1:]])
        yield f"Creating node with rid {words[0]} , {map_ports(self._nodes[-1] or ())}"
        yield f"node was created with handle {len(self._nodes) - 1}"

    def _node(self, handle: str) -> list[Replica]:
        number = parse_number(handle)
        node = self._nodes[number] if number < len(self._nodes) else None
        if node is None:
            raise ValueError(f"this run created no node with handle {handle}")
        return node

    def _node_update(self, words: Sequence[str]) -> Iterator[str]:
        old, handle = self._node(words[0]), parse_number(words[0])
        instance = old[0].instance if old else 0
        new = [Replica(parse_number(port), instance) for port in words[1:]]
        for group in (group for group, nodes in self._members.items() if handle in nodes):
            self._change_group(group, old, new)
        self._nodes[handle] = new
        yield f"Updating node {handle} with {map_ports(new)}"

    def _node_associate(self, words: Sequence[str]) -> Iterator[str]:
        group = parse_number(words[0])
        self._change_group(group, [], self._node(words[1]))
        self._members.setdefault(group, []).append(parse_number(words[1]))
        yield f"Associating node {words[1]} to multicast group {group}"

    def _node_dissociate(self, words: Sequence[str]) -> Iterator[str]:
        group, handle = parse_number(words[0]), parse_number(words[1])
        node = self._node(words[1])
        if handle not in self._members.get(group, []):
            raise ValueError(f"node {handle} is not in group {group}")
        self._change_group(group, node, [])
        self._members[group].remove(handle)
        yield f"Dissociating node {handle} from multicast group {group}"

    def _node_destroy(self, words: Sequence[str]) -> Iterator[str]:
        node, handle = self._node(words[0]), parse_number(words[0])
        for group in [group for group, nodes in self._members.items() if handle in nodes]:
            self._change_group(group, node, [])
            self._members[group].remove(handle)
        self._nodes[handle] = None
        yield f"Destroying node {handle}"

    def _change_group(self, group: int, old: Sequence[Replica], new: Sequence[Replica]) -> None:
        left = self._replicas(group)
        for replica in old:
            if replica in left:
                left.remove(replica)
        self._session.modify(MulticastGroup(group, [*left, *new]))

    def _mc_dump(self, words: Sequence[str]) -> Iterator[str]:
        yield from ("==========", "MC ENTRIES")
        for group, replicas in sorted(self._groups().items()):
            yield from ("**********", f"mgrp({group})")
            for instance in dict.fromkeys(replica.instance for replica in replicas):
                ports = [replica.egress_port for replica in replicas if replica.instance == instance]
                yield f"  -> (rid={instance}) -> (ports=[{', '.join(map(str, ports))}], lags=[])"
        yield from ("==========", "LAGS", "==========")

    # The switch

    def _switch_info(self, words: Sequence[str]) -> Iterator[str]:
        yield f"{'device_id':20}: {self._session.device_id}"
        yield f"{'p4runtime':20}: {self._session.api_version()}"

    def _reset_state(self, words: Sequence[str]) -> None:
        program = self._session.program
        self._session.delete(*(each for table in program.tables.values() if not table.is_const
                               for each in self._session.entries(table.alias)))  # fmt: skip
        self._session.modify(*(DefaultAction(table.alias) for table in program.tables.values()
                               if not (table.const_default_action or table.profile_id)))  # fmt: skip
        self._session.delete(*self._session.clone_sessions(), *self._session.multicast_groups())
        for counter in program.counters.values():
            self._session.set_counter(counter.alias, range(counter.size), CounterData(0, 0))
        for register in program.registers.values():
            self._session.set_register(register.alias, range(register.size), 0)
        self._entries.clear()
        self._members.clear()
