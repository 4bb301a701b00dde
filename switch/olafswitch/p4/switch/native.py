"""A compiled program as the data plane behind a P4Runtime agent.

:class:`NativeSwitch` programs the tables of a program that :mod:`olafswitch.p4.compiler` compiled. Another
thread may process packets at the same time: it uses :attr:`NativeSwitch.handle`, and
:meth:`NativeSwitch.on_commit` gives it each new handle before the old switch is freed.
"""

import ctypes as c
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from olafswitch.errors import OlafError
from olafswitch.p4.switch import pipeline as pipelines
from olafswitch.p4.switch.packets import CPU_PORT, PacketSide
from olafswitch.p4.switch.pipeline import ActionForm, Array, Pipeline, PipelineTable
from olafswitch.p4runtime import dataplane as dp

_OneShot = tuple[int, list[int]]
"""A group made for one entry, and its members."""


def _had_memory(result: int | None) -> int:
    """Return what a call of the library made; raises MemoryError when the library had no memory."""
    if not result:
        raise MemoryError("out of memory in the switch; nothing was changed")
    return result


@dataclass(frozen=True)
class Handle:
    """The addresses that packet threads need: a ``p4_switch *`` for each, and the function that runs packets.

    The function is a ``p4_process_fn``; for XSA a ``p4_process_metadata_fn``.
    """

    lanes: Sequence[int]
    process: int

    @property
    def switch(self) -> int:
        """The first thread's switch."""
        return self.lanes[0]


class NativeSwitch(PacketSide):
    """One device: a :class:`olafswitch.p4runtime.dataplane.DataPlane`, called by one thread at a time."""

    replication = dp.ReplicationLimits(0xFFFF, 0xFFFF, 0xFFFF, 0xFFFF)
    """v1model's metadata and Olaf's have 16 bits for each."""

    def __init__(
        self, cpu_port: int = CPU_PORT, optimize: str = "-O2", architecture: str = "v1model", lanes: int = 1
    ) -> None:
        """Create a device for programs of ``architecture``: ``v1model`` or ``xsa``; ``lanes`` threads may
        process packets, each with its own switch of the handle."""
        super().__init__(cpu_port)
        self._optimize = optimize
        self._architecture = architecture
        self._lanes: Sequence[int] = [0] * lanes
        self._hooks: list[Callable[[Handle | None], None]] = []
        self._forget()

    def _forget(self) -> None:
        self._tables: dict[int, PipelineTable] = {}
        self._arrays: dict[int, Array] = {}
        self._one_shots: dict[int, _OneShot] = {}
        self._members: dict[tuple[int, int], int] = {}
        self._groups: dict[tuple[int, int], int] = {}

    # --- the pipeline

    def prepare(self, p4info: dp.P4Info, device_config: bytes) -> Pipeline:
        """See :func:`olafswitch.p4.switch.pipeline.prepare_pipeline`."""
        return pipelines.prepare_pipeline(p4info, device_config, self._optimize, self._architecture)

    def commit(self, pipeline: Pipeline) -> None:
        """Run the pipeline with empty tables; when this returns, all hooks use it."""
        library = pipeline.library
        switch = library.p4_switch_new()
        if not switch:
            raise OlafError("out of memory for a new switch")
        library.p4_on_digest(switch, self._digest_entry, None)
        library.p4_on_user_extern(switch, self._user_extern_entry, None)
        lanes = (c.c_void_p * len(self._lanes))()
        if not library.p4_lanes(switch, len(lanes), lanes):
            library.p4_switch_free(switch)
            raise OlafError("no memory for more threads, or the program has meters or registers")
        old = (self._pipeline, self._switch)
        self._pipeline, self._switch, self._lanes = pipeline, switch, list(lanes)
        self._forget()
        self._tables, self._arrays = pipeline.tables(), pipeline.arrays()
        for place, entry in pipeline.initial_entries():
            known = self._tables[entry.table_id].entries
            known[entry.key, entry.priority] = library.p4_const_entry(switch, place)
        for hook in self._hooks:
            hook(self.handle)
        if old[0] is not None:
            old[0].library.p4_switch_free(old[1])

    def initial_entries(self, pipeline: Pipeline) -> Sequence[dp.InitialEntry]:
        """Return the entries that the program of ``pipeline`` declares, in source order."""
        return [entry for _, entry in pipeline.initial_entries()]

    def close(self) -> None:
        """Free the switch, after all hooks have stopped using it."""
        if self._pipeline is None:
            return
        for hook in self._hooks:
            hook(None)
        self._pipeline.library.p4_switch_free(self._switch)
        self._pipeline, self._switch = None, 0
        self._forget()

    @property
    def handle(self) -> Handle | None:
        """The running switch; None before the first commit."""
        if self._pipeline is None:
            return None
        return Handle(self._lanes, self._pipeline.process)

    def on_commit(self, hook: Callable[[Handle | None], None]) -> None:
        """Call ``hook`` with each new switch (None: none); a hook that returns no longer uses the old one."""
        self._hooks.append(hook)

    def quiesce(self) -> None:
        """Wait until each packet that is in the pipeline at the call has left it."""
        self.library.p4_quiesce(self._switch)

    # --- entries

    def _direct(self, forms: dict[int, ActionForm], action: dp.ActionCall) -> int:
        form = forms[action.action_id]
        data = b"".join([v.to_bytes(n, "little") for v, n in zip(action.params, form.sizes, strict=True)])
        return _had_memory(self.library.p4_action_direct(form.number, data, len(data) // 8))

    def _action(self, table: PipelineTable, spec: dp.ActionSpec) -> tuple[int, _OneShot | None]:
        """Return the library's action, and what must be freed with it."""
        library = self.library
        match spec:
            case dp.ActionCall():
                return self._direct(table.actions, spec), None
            case dp.MemberRef(member_id=member):
                return _had_memory(library.p4_action_member(self._members[table.profile, member])), None
            case dp.GroupRef(group_id=group):
                return _had_memory(library.p4_action_group(self._groups[table.profile, group])), None
        made: _OneShot = (_had_memory(library.p4_group_new()), [])
        weighted: list[int] = []
        try:
            for part in spec:
                made[1].append(_had_memory(library.p4_member_new(self._direct(table.actions, part.action))))
                weighted += [made[1][-1]] * part.weight
            self._fill(made[0], weighted)
            return _had_memory(library.p4_action_group(made[0])), made
        except MemoryError:
            self._free(made)
            raise

    def _fill(self, group: int, members: Sequence[int]) -> None:
        array = (c.c_void_p * max(1, len(members)))(*members)
        _had_memory(self.library.p4_group_set(self._switch, group, len(members), array))

    def _free(self, one_shot: _OneShot | None) -> None:
        if one_shot is not None:
            self.library.p4_group_free(self._switch, one_shot[0])
            for member in one_shot[1]:
                self.library.p4_member_free(self._switch, member)

    def insert(self, table_id: int, key: dp.Key, priority: int, action: dp.ActionSpec) -> None:
        """Add an entry. The largest priority wins. Raises TableFull, and MemoryError as all methods below."""
        table = self._tables[table_id]
        values, masks, prefix = table.form.encode(key)
        made, one_shot = self._action(table, action)
        entry = self.library.p4_insert(self._switch, table.place, values, masks, prefix, priority, made)
        if not entry:
            self._free(one_shot)
            if len(table.entries) >= table.size:
                raise dp.TableFull(f"table {table_id:#010x} is full")
            _had_memory(entry)
        table.entries[key, priority] = entry
        if one_shot is not None:
            self._one_shots[entry] = one_shot

    def modify(self, table_id: int, key: dp.Key, priority: int, action: dp.ActionSpec) -> None:
        """Replace an entry's action in one step."""
        table = self._tables[table_id]
        entry = table.entries[key, priority]
        made, one_shot = self._action(table, action)
        self.library.p4_modify(self._switch, entry, made)
        self._free(self._one_shots.pop(entry, None))
        if one_shot is not None:
            self._one_shots[entry] = one_shot

    def delete(self, table_id: int, key: dp.Key, priority: int) -> None:
        """Remove an entry."""
        table = self._tables[table_id]
        entry = table.entries[key, priority]
        _had_memory(self.library.p4_delete(self._switch, table.place, entry))
        del table.entries[key, priority]
        self._free(self._one_shots.pop(entry, None))

    def set_default(self, table_id: int, action: dp.ActionCall | None) -> None:
        """Set the default action; None restores the program's own."""
        table = self._tables[table_id]
        made = self._direct(table.actions, action) if action is not None else None
        _had_memory(self.library.p4_set_default(self._switch, table.place, made))

    def idle_ns(self, table_id: int, key: dp.Key, priority: int) -> int:
        """Return the ns since an entry was last hit, or inserted."""
        idle: int = self.library.p4_idle_ns(self._entry(table_id, key, priority))
        return idle

    # --- counters, meters, registers

    def _entry(self, table_id: int, key: dp.Key, priority: int) -> int:
        if not key:
            raise dp.Unsupported("this device does not count or meter what matches no entry")
        return self._tables[table_id].entries[key, priority]

    def _count(self, entry: int | None, place: int, index: int) -> dp.CounterData:
        out = (c.c_uint64 * 2)()
        self.library.p4_counter_get(self._switch, entry, place, index, out)
        return dp.CounterData(out[0], out[1])

    def direct_counter(self, table_id: int, key: dp.Key, priority: int) -> dp.CounterData:
        """Return an entry's direct counter."""
        return self._count(self._entry(table_id, key, priority), 0, 0)

    def set_direct_counter(self, table_id: int, key: dp.Key, priority: int, data: dp.CounterData) -> None:
        entry = self._entry(table_id, key, priority)
        self.library.p4_counter_set(self._switch, entry, 0, 0, data.packets, data.bytes)

    def counter(self, counter_id: int, index: int) -> dp.CounterData:
        return self._count(None, self._arrays[counter_id].place, index)

    def set_counter(self, counter_id: int, index: int, data: dp.CounterData) -> None:
        place = self._arrays[counter_id].place
        self.library.p4_counter_set(self._switch, None, place, index, data.packets, data.bytes)

    @staticmethod
    def _rates(config: dp.MeterConfig | None) -> "c.Array[c.c_double] | None":
        return (c.c_double * 4)(config.cir, config.cburst, config.pir, config.pburst) if config else None

    def set_direct_meter(
        self, table_id: int, key: dp.Key, priority: int, config: dp.MeterConfig | None
    ) -> None:
        entry = self._entry(table_id, key, priority)
        _had_memory(self.library.p4_meter_set(self._switch, entry, 0, 0, self._rates(config)))

    def set_meter(self, meter_id: int, index: int, config: dp.MeterConfig | None) -> None:
        place = self._arrays[meter_id].place
        _had_memory(self.library.p4_meter_set(self._switch, None, place, index, self._rates(config)))

    def register(self, register_id: int, index: int) -> int:
        array = self._arrays[register_id]
        out = (c.c_uint64 * array.words)()
        self.library.p4_register_get(self._switch, array.place, index, out)
        return sum(out[i] << (64 * i) for i in range(array.words))

    def set_register(self, register_id: int, index: int, value: int) -> None:
        array = self._arrays[register_id]
        parts = (value >> (64 * i) & 0xFFFFFFFFFFFFFFFF for i in range(array.words))
        self.library.p4_register_set(self._switch, array.place, index, (c.c_uint64 * array.words)(*parts))

    # --- action profiles, value sets, replication

    def _profile_actions(self, profile_id: int) -> dict[int, ActionForm]:
        return next((table.actions for table in self._tables.values() if table.profile == profile_id), {})

    def set_member(self, profile_id: int, member_id: int, action: dp.ActionCall | None) -> None:
        """Create or replace an action profile member; None removes it."""
        place = (profile_id, member_id)
        if action is None:
            self.library.p4_member_free(self._switch, self._members.pop(place))
            return
        made = self._direct(self._profile_actions(profile_id), action)
        if place in self._members:
            self.library.p4_member_set(self._switch, self._members[place], made)
        else:
            self._members[place] = _had_memory(self.library.p4_member_new(made))

    def set_group(self, profile_id: int, group_id: int, members: Sequence[tuple[int, int]] | None) -> None:
        """Create or replace a selector group of (member id, weight); None removes it."""
        place = (profile_id, group_id)
        if members is None:
            self.library.p4_group_free(self._switch, self._groups.pop(place))
            return
        if place not in self._groups:
            self._groups[place] = _had_memory(self.library.p4_group_new())
        weighted = [self._members[profile_id, member] for member, weight in members for _ in range(weight)]
        self._fill(self._groups[place], weighted)

    def set_value_set(self, value_set_id: int, members: Sequence[dp.Key]) -> None:
        """Replace a parser value set's members."""
        assert self._pipeline is not None
        place, form = self._pipeline.value_sets()[value_set_id]
        rows = [form.encode(member) for member in members]
        keys, masks = b"".join(row[0] for row in rows), b"".join(row[1] for row in rows)
        _had_memory(self.library.p4_value_set(self._switch, place, len(rows), keys, masks))

    def _replicate(self, clone: int, number: int, replicas: Sequence[dp.Replica] | None, length: int) -> None:
        pairs = [n for r in replicas or () for n in (r.egress_port, r.instance)]
        array = (c.c_uint32 * max(1, len(pairs)))(*pairs)
        count = -1 if replicas is None else len(replicas)
        _had_memory(self.library.p4_replicas_set(self._switch, clone, number, count, array, length))

    def set_multicast_group(self, group_id: int, replicas: Sequence[dp.Replica] | None) -> None:
        """Create or replace a multicast group in one step; None removes it."""
        self._replicate(0, group_id, replicas, 0)

    def set_clone_session(
        self, session_id: int, replicas: Sequence[dp.Replica] | None, packet_length: int = 0
    ) -> None:
        """Create or replace a clone session; None removes it."""
        self._replicate(1, session_id, replicas, packet_length)
