"""The state of a pipeline that is saved and not committed: it only counts what tables can hold.

The agent's own state remembers the writes; committing replays them to the device.
"""

from collections import Counter
from typing import Any

from olafswitch.p4runtime import dataplane as dp
from olafswitch.p4runtime.program import Program


def _leave(*_: Any, **__: Any) -> None:
    """A write that the agent's own state remembers, and that takes no room."""


class SavedPlane:
    """Takes every write that a device with the program's table sizes would; counters stay where set."""

    def __init__(self, program: Program, replication: dp.ReplicationLimits) -> None:
        self.replication = replication
        self._sizes = {id: table.size for id, table in program.tables.items()}
        self._held: Counter[int] = Counter()
        self.counters: dict[tuple[int, int], dp.CounterData] = {}
        self.direct_counters: dict[tuple[int, dp.Key, int], dp.CounterData] = {}
        self.registers: dict[tuple[int, int], int] = {}

    def insert(self, table_id: int, key: dp.Key, priority: int, action: dp.ActionSpec) -> None:
        if self._sizes[table_id] and self._held[table_id] >= self._sizes[table_id]:
            raise dp.TableFull
        self._held[table_id] += 1

    def delete(self, table_id: int, key: dp.Key, priority: int) -> None:
        self._held[table_id] -= 1
        self.direct_counters.pop((table_id, key, priority), None)

    def idle_ns(self, table_id: int, key: dp.Key, priority: int) -> int:
        return 0

    def direct_counter(self, table_id: int, key: dp.Key, priority: int) -> dp.CounterData:
        return self.direct_counters.get((table_id, key, priority), dp.CounterData(0, 0))

    def set_direct_counter(self, table_id: int, key: dp.Key, priority: int, data: dp.CounterData) -> None:
        self.direct_counters[table_id, key, priority] = data

    def counter(self, counter_id: int, index: int) -> dp.CounterData:
        return self.counters.get((counter_id, index), dp.CounterData(0, 0))

    def set_counter(self, counter_id: int, index: int, data: dp.CounterData) -> None:
        self.counters[counter_id, index] = data

    def register(self, register_id: int, index: int) -> int:
        return self.registers.get((register_id, index), 0)

    def set_register(self, register_id: int, index: int, value: int) -> None:
        self.registers[register_id, index] = value

    modify = set_default = set_direct_meter = set_meter = staticmethod(_leave)
    set_member = set_group = set_value_set = staticmethod(_leave)
    set_multicast_group = set_clone_session = quiesce = staticmethod(_leave)
