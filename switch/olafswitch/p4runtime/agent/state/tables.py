"""What a table holds, as the agent remembers it for reads: the data plane is never read for entries."""

from collections.abc import Callable
from dataclasses import dataclass, field

from olafswitch.p4runtime.agent.state.keys import CallReader, Identity, KeyReader
from olafswitch.p4runtime.agent.state.refusal import invalid, not_found
from olafswitch.p4runtime.dataplane import DEFAULT_ENTRY, ActionCall, ActionSpec, Key, MeterConfig
from olafswitch.p4runtime.plain import EntryRequest
from olafswitch.p4runtime.program import Table

Undo = Callable[[], None]
"""Reverts one applied update, for batches that are all or nothing."""


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
    """0 for an entry that is never reported as idle."""
    timer_start: int = 0
    """When an entry with a timeout was written or last found idle: monotonic clock, ns."""
    encoded: bytes | None = None
    """The entry as an answer without counters and meters, after a read has requested it."""


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

    def read_key(self, request: EntryRequest) -> tuple[Key, Identity]:
        """The key of an entry, with its priority checked. Raises Refusal."""
        key, identity = self.keys.read(request.match)
        if self.table.has_priority:
            if request.priority <= 0:
                raise invalid(f"table {self.table.name}: an entry needs a priority above 0")
        elif request.priority:
            raise invalid(f"table {self.table.name} has no priorities: its key is only exact and LPM fields")
        return key, identity

    def find(self, request: EntryRequest) -> tuple[Entry, Identity]:
        """The entry with a request's key and priority. Raises Refusal."""
        _, identity = self.read_key(request)
        entry = self.entries.get((identity, request.priority))
        if entry is None:
            raise not_found(f"table {self.table.name} has no such entry")
        return entry, identity

    def address(self, request: EntryRequest) -> tuple[Key, int]:
        """The key and priority that name a request's entry to the data plane. Raises Refusal."""
        if request.is_default:
            self.check_default(request)
            return DEFAULT_ENTRY, 0
        entry, _ = self.find(request)
        return entry.key, entry.priority

    def check_default(self, request: EntryRequest) -> None:
        """Refuse what a default entry cannot have. Raises Refusal."""
        if request.match or request.priority:
            raise invalid(f"table {self.table.name}: the default entry has neither match nor priority")
        if request.idle_timeout_ns or request.has_last_hit:
            raise invalid(f"table {self.table.name}: the default entry has no idle timeout")
