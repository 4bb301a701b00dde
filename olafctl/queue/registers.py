"""OlafQueue's registers, defined once.

The Verilog decode (``hdl/olaf_registers.vh``), the table in ``docs/registers.md`` and the accessor below
come from :data:`REGISTERS`; nothing else states a register's name, offset or reset value.
``olafctl generate`` writes the first two.
"""

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum

from olafctl.errors import BadInput, Problem
from olafctl.wire.layouts import LANES

CLOCK_HZ = 250_000_000
IDENTITY = 0x4F4C4146  # "OLAF"
MAP_VERSION = 1

MODE_OLAF = 0
MODE_FIFO = 1


class Access(Enum):
    """How a register behaves."""

    FIXED = "read-only, fixed when built"
    SETTING = "read and write"
    PULSE = "write 1 to act; reads 0"
    STATUS = "read-only, 32 bits, as of the last snapshot"
    COUNTER = "read-only, 64 bits (low word first), as of the last snapshot"


@dataclass(frozen=True)
class Register:
    """One register: byte ``offset``, what it means, and its value after reset.

    ``reset`` of a FIXED register is None where a Verilog parameter decides it.
    """

    name: str
    offset: int
    access: Access
    reset: int | None
    meaning: str

    @property
    def words(self) -> int:
        """32-bit words it takes."""
        return 2 if self.access is Access.COUNTER else 1


def _counters(first: int, named: tuple[tuple[str, str], ...]) -> tuple[Register, ...]:
    return tuple(
        Register(name, first + 8 * index, Access.COUNTER, 0, meaning)
        for index, (name, meaning) in enumerate(named)
    )


REGISTERS: tuple[Register, ...] = (
    Register("id", 0x000, Access.FIXED, IDENTITY, 'the letters "OLAF": an OlafQueue answers here'),
    Register("version", 0x004, Access.FIXED, MAP_VERSION, "version of this register map"),
    Register("clusters", 0x008, Access.FIXED, None, "clusters tracked; an update of another is dropped"),
    Register("slots", 0x00C, Access.FIXED, None, "Q_max: updates the queue holds"),
    Register("beats", 0x010, Access.FIXED, None, "64-byte beats a slot holds"),
    Register("lanes", 0x014, Access.FIXED, LANES, "binary32 adders"),
    Register("adder_latency", 0x018, Access.FIXED, None, "cycles through an adder"),
    Register("clock_hz", 0x01C, Access.FIXED, CLOCK_HZ, "cycles in a second"),
    Register("mode", 0x040, Access.SETTING, MODE_OLAF, "0 OLAF, 1 FIFO: every update appended, none merged"),
    Register("reward_enable", 0x044, Access.SETTING, 0, "1 switches the reward rule on"),
    Register(
        "reward_threshold",
        0x048,
        Access.SETTING,
        0,
        "binary32, not negative: rewards that differ by no more are comparable; "
        "applies to an update from its arrival on",
    ),
    Register(
        "rate",
        0x04C,
        Access.SETTING,
        0,
        "output rate limit of updates in bits per cycle, 16.16 fixed point (5 Gb/s is 20 << 16); 0: none",
    ),
    Register("hold", 0x050, Access.SETTING, 0, "1: no update begins to leave; bypassing traffic flows on"),
    Register(
        "active_window", 0x054, Access.SETTING, 250_000, "cycles for which a cluster counts as active, < 2^31"
    ),
    Register(
        "clear",
        0x058,
        Access.PULSE,
        0,
        "zeroes every counter but cycle; in_updates and in_bypass restart at what is resident",
    ),
    Register(
        "snapshot", 0x05C, Access.PULSE, 0, "copies all status and counters at one instant, to be read after"
    ),
    Register("occupancy", 0x080, Access.STATUS, 0, "updates in the queue, in slots"),
    Register("active_clusters", 0x084, Access.STATUS, 0, "clusters that sent within the active window"),
    Register("resident_updates", 0x088, Access.STATUS, 0, "updates received and not yet wholly sent"),
    Register("resident_bypass", 0x08C, Access.STATUS, 0, "bypassing frames received and not yet wholly sent"),
    *_counters(
        0x100,
        (
            ("cycle", "cycles since reset"),
            ("in_updates", "updates received to their end"),
            ("out_updates", "updates wholly sent"),
            ("in_bypass", "frames of any other kind received to their end"),
            ("out_bypass", "frames of any other kind wholly sent"),
            ("appended", "updates that took a slot of their own"),
            ("merged", "updates added to the waiting one of their cluster"),
            ("replaced_worker", "waiting updates replaced by a newer one of the same worker"),
            ("replaced_reward", "waiting updates replaced by one of higher reward"),
            ("dropped_full", "updates dropped: no free slot"),
            ("dropped_reward", "updates dropped: reward below that of the waiting update"),
            ("dropped_mismatch", "updates dropped: length differs from that of the waiting update"),
            ("dropped_header", "updates dropped: Olaf version or type is not an UPDATE's"),
            ("dropped_length", "updates dropped: size is not 64 + 4 × length bytes"),
            ("dropped_oversize", "updates dropped: larger than a slot"),
            ("dropped_cluster", "updates dropped: unknown cluster"),
            ("dropped_truncated", "updates dropped: ended before their declared size"),
            ("dropped_overlong", "updates dropped: went on beyond their declared size"),
            ("dropped_bypass", "other frames dropped: no room for their declared size"),
            ("locked_appends", "of appended: the cluster's earlier update had begun to leave"),
            ("saturations", "merges whose count stopped at 65535"),
            ("cut_through", "updates that began to leave before they had arrived to their end"),
            (
                "repaired",
                "updates that had begun to leave when they proved shorter or longer than declared: sent at "
                "their declared size, missing gradients taken as zero",
            ),
            ("input_stalls", "cycles in which a beat waited at the input"),
            ("input_beats", "beats accepted at the input"),
            ("output_beats", "beats sent"),
        ),
    ),
)

BY_NAME = {register.name: register for register in REGISTERS}
ADDRESS_BITS = 12
DISPOSITIONS = tuple(
    name for name in BY_NAME if name.startswith(("replaced_", "dropped_")) and name != "dropped_bypass"
)
"""The counters that, with out_updates, merged and resident_updates, add up to in_updates at every instant."""


def rate_word(bits_per_second: int | None) -> int:
    """The ``rate`` register's value for a link rate; None means unconstrained.

    Raises BadInput when the rate is not above zero or is too small to be expressed.
    """
    if bits_per_second is None:
        return 0
    word = round(bits_per_second * 65536 / CLOCK_HZ)
    if not 0 < word <= 512 << 16:
        raise BadInput(
            Problem(f"an output rate of {bits_per_second} bit/s", remedy="use 4 kbit/s to 128 Gbit/s")
        )
    return word


class QueueRegisters:
    """The registers by name, over any pair of 32-bit ``read(offset)`` and ``write(offset, value)``."""

    def __init__(self, read: Callable[[int], int], write: Callable[[int, int], None]) -> None:
        self._read = read
        self._write = write

    def read(self, name: str) -> int:
        """The value now; status and counters by way of a snapshot.

        Raises BadInput when there is no such register.
        """
        register = _named(name)
        if register.access in (Access.STATUS, Access.COUNTER):
            self._write(BY_NAME["snapshot"].offset, 1)
        return self._value(register)

    def write(self, name: str, value: int) -> None:
        """Set a setting, or act on a pulse register.

        Raises BadInput when there is no such register, it cannot be written, or ``value`` is not 32 bits.
        """
        register = _named(name)
        if register.access not in (Access.SETTING, Access.PULSE):
            raise BadInput(Problem(f"register {name} is read-only", remedy="see docs/registers.md"))
        if not 0 <= value < 1 << 32:
            raise BadInput(Problem(f"{value} does not fit register {name}", remedy="give 0 … 4294967295"))
        self._write(register.offset, value)

    def read_all(self) -> dict[str, int]:
        """Every readable register; status and counters as of one instant."""
        self._write(BY_NAME["snapshot"].offset, 1)
        return {
            register.name: self._value(register)
            for register in REGISTERS
            if register.access is not Access.PULSE
        }

    def _value(self, register: Register) -> int:
        words = (self._read(register.offset + 4 * word) << (32 * word) for word in range(register.words))
        return sum(words)


def _named(name: str) -> Register:
    if name not in BY_NAME:
        raise BadInput(Problem(f"there is no register {name!r}", remedy="see docs/registers.md"))
    return BY_NAME[name]
