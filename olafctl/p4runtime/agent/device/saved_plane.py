"""The state of a pipeline that is saved and not committed: it only counts what tables can hold.

The agent's own state remembers the writes; committing replays them to the device.
"""

from collections import Counter
from collections.abc import Sequence

from olafctl.p4runtime.dataplane import (
    ActionCall,
    ActionSpec,
    CounterData,
    Key,
    MeterConfig,
    Replica,
    ReplicationLimits,
    TableFull,
)
from olafctl.p4runtime.program import Program


class SavedPlane:
    """Takes every write that a device with the program's table sizes would; counters stay where set."""

    def __init__(self, program: Program, replication: ReplicationLimits) -> None:
        self.replication = replication
        self._sizes = {id: table.size for id, table in program.tables.items()}
        self._held: Counter[int] = Counter()
        self.counters: dict[tuple[int, int], CounterData] = {}
        self.direct_counters: dict[tuple[int, Key, int], CounterData] = {}
        self.registers: dict[tuple[int, int], int] = {}

    def insert(self, table_id: int, key: Key, priority: int, action: ActionSpec) -> None:
        if self._sizes[table_id] and self._held[table_id] >= self._sizes[table_id]:
            raise TableFull
        self._held[table_id] += 1

    def delete(self, table_id: int, key: Key, priority: int) -> None:
        self._held[table_id] -= 1
        self.direct_counters.pop((table_id, key, priority), None)

    def idle_ns(self, table_id: int, key: Key, priority: int) -> int:
        return 0

    def direct_counter(self, table_id: int, key: Key, priority: int) -> CounterData:
        return self.direct_counters.get((table_id, key, priority), CounterData(0, 0))

    def set_direct_counter(self, table_id: int, key: Key, priority: int, data: CounterData) -> None:
        self.direct_counters[table_id, key, priority] = data

    def counter(self, counter_id: int, index: int) -> CounterData:
        return self.counters.get((counter_id, index), CounterData(0, 0))

    def set_counter(self, counter_id: int, index: int, data: CounterData) -> None:
        self.counters[counter_id, index] = data

    def register(self, register_id: int, index: int) -> int:
        return self.registers.get((register_id, index), 0)

    def set_register(self, register_id: int, index: int, value: int) -> None:
        self.registers[register_id, index] = value

    # The agent's own state remembers the writes below; there is no room to count.

    def modify(self, table_id: int, key: Key, priority: int, action: ActionSpec) -> None: ...

    def set_default(self, table_id: int, action: ActionCall | None) -> None: ...

    def set_direct_meter(
        self, table_id: int, key: Key, priority: int, config: MeterConfig | None
    ) -> None: ...

    def set_meter(self, meter_id: int, index: int, config: MeterConfig | None) -> None: ...

    def set_member(self, profile_id: int, member_id: int, action: ActionCall | None) -> None: ...

    def set_group(
        self, profile_id: int, group_id: int, members: Sequence[tuple[int, int]] | None
    ) -> None: ...

    def set_value_set(self, value_set_id: int, members: Sequence[Key]) -> None: ...

    def set_multicast_group(self, group_id: int, replicas: Sequence[Replica] | None) -> None: ...

    def set_clone_session(
        self, session_id: int, replicas: Sequence[Replica] | None, packet_length: int = 0
    ) -> None: ...

    def quiesce(self) -> None: ...
