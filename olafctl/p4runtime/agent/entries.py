"""What a table holds, as the agent remembers it for reads: the data plane is never asked for entries."""

from collections.abc import Callable
from dataclasses import dataclass, field

from olafctl.p4runtime.agent.calls import CallReader
from olafctl.p4runtime.agent.keys import Identity, KeyReader
from olafctl.p4runtime.dataplane import ActionCall, ActionSpec, Key, MeterConfig
from olafctl.p4runtime.program import Table

Undo = Callable[[], None]
"""Takes one applied update back, for batches that are all or nothing."""


@dataclass(slots=True)
class Entry:
    key: Key
    priority: int
    action: ActionSpec
    metadata: bytes = b""
    controller_metadata: int = 0
    meter: MeterConfig | None = None
    is_const: bool = False
    idle_timeout_ns: int = 0
    """The entry's time to live; 0 is for ever."""
    timer_start: int = 0
    """When it was written or last found idle, on the monotonic clock in ns; kept with a time to live only."""
    encoded: bytes | None = None
    """The entry's TableEntry message without counters and meters, once a read has asked for it."""


@dataclass(slots=True)
class DefaultEntry:
    """A table's default entry; ``action`` None is the program's own."""

    action: ActionCall | None = None
    metadata: bytes = b""
    controller_metadata: int = 0
    meter: MeterConfig | None = None


@dataclass
class TableState:
    table: Table
    entries: dict[tuple[Identity, int], Entry] = field(default_factory=dict)
    """By key and priority, oldest first."""
    default: DefaultEntry = field(default_factory=DefaultEntry)

    def __post_init__(self) -> None:
        self.keys = KeyReader(self.table.fields, f"table {self.table.name}")
        self.calls = CallReader(self.table)
