"""OlafQueue's registers, defined once.

The Verilog decode (``hdl/olaf_registers.vh``), the site's table of registers and the accessor below
come from :data:`REGISTERS`; nothing else states a register's name, offset or reset value.
``olaflab generate`` writes the first two.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from enum import Enum, IntEnum
from itertools import groupby

from olafctl.wire import modes
from olafctl.wire.layouts import BEAT_BYTES, LANES
from olafctl.wire.modes import Mode
from olafswitch.errors import BadInput, OlafError, Problem

CLOCK_HZ = 250_000_000
IDENTITY = 0x4F4C4146  # "OLAF"
MAP_VERSION = 3


class Command(IntEnum):
    """A command for a range of indices."""

    SET = 1
    FBCAST = 2
    RESET = 3
    GET = 4


class Access(Enum):
    """How a register behaves."""

    FIXED = "read-only, fixed when built"
    SETTING = "read and write"
    PULSE = "write 1 to act; reads 0"
    COMMAND = "write a code to act; reads 0"
    LIVE = "read-only, 32 bits, as it is now"
    STATUS = "read-only, 32 bits, as of the last snapshot"
    COUNTER = "read-only, 64 bits (low word first), as of the last snapshot"


@dataclass(frozen=True)
class Register:
    """One register: byte ``offset``, meaning, and value after reset.

    ``reset`` is None where a Verilog parameter decides it.
    """

    name: str
    offset: int
    access: Access
    reset: int | None
    meaning: str

    @property
    def words(self) -> int:
        """The number of 32-bit words of the register."""
        return 2 if self.access is Access.COUNTER else 1


def _make_counters(first: int, named: tuple[tuple[str, str], ...]) -> tuple[Register, ...]:
    return tuple(
        Register(name, first + 8 * index, Access.COUNTER, 0, meaning)
        for index, (name, meaning) in enumerate(named)
    )


REGISTERS: tuple[Register, ...] = (
    Register("id", 0x000, Access.FIXED, IDENTITY, 'the letters "OLAF": an OlafQueue answers here'),
    Register("version", 0x004, Access.FIXED, MAP_VERSION, "version of this register map"),
    Register(
        "indices",
        0x008,
        Access.FIXED,
        None,
        "indices (cluster segments) tracked; an update of another is dropped",
    ),
    Register("slots", 0x00C, Access.FIXED, None, "Q_max: updates the queue holds"),
    Register("beats", 0x010, Access.FIXED, None, "64-byte beats a slot holds"),
    Register("lanes", 0x014, Access.FIXED, LANES, "binary32 adders"),
    Register("adder_latency", 0x018, Access.FIXED, None, "cycles through an adder"),
    Register("clock_hz", 0x01C, Access.FIXED, CLOCK_HZ, "cycles in a second"),
    Register("members", 0x020, Access.FIXED, None, "members of a cluster that an iSwitch sum tells apart"),
    Register("range_first", 0x040, Access.SETTING, 0, "first index that a command is for"),
    Register("range_last", 0x044, Access.SETTING, 0, "last index that a command is for"),
    Register(
        "set_mode",
        0x048,
        Access.SETTING,
        0,
        f"for SET: {modes.NUMBERS}; bit 8: halted, all dropped",
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
        "active_window", 0x054, Access.SETTING, 250_000, "cycles for which an index counts as active, < 2^31"
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
    Register(
        "accumulate_quota",
        0x060,
        Access.SETTING,
        None,
        "most slots that may accumulate iSwitch sums; after reset half of the slots, at least 1",
    ),
    Register(
        "set_threshold", 0x064, Access.SETTING, 1, "for SET: H, the worker updates of a result, 1 … 65535"
    ),
    Register("set_reward_enable", 0x068, Access.SETTING, 0, "for SET: 1 switches the reward rule on"),
    Register(
        "set_reward_threshold",
        0x06C,
        Access.SETTING,
        0,
        "for SET: binary32, not negative: rewards that differ by no more, exactly, are comparable; "
        "applies to an update from its arrival on",
    ),
    Register(
        "command",
        0x070,
        Access.COMMAND,
        0,
        "for each index from range_first to range_last: 1 SET, 2 FBCAST: release a partial sum now, 3 RESET: "
        "discard it and forget the finished round, or all numbers; 4 GET: load get_* from range_first",
    ),
    Register("set_stale_enable", 0x074, Access.SETTING, 0, "for SET: 1 switches the staleness rule on"),
    Register(
        "set_stale_bound",
        0x078,
        Access.SETTING,
        0,
        "for SET: updates of more versions ago are dropped, 0 … 65535; 32767 and more: none is",
    ),
    Register(
        "stale_shifts_low",
        0x024,
        Access.SETTING,
        0,
        "the staleness rule's weights: bits 4b … 4b + 3 are k, for 2^-k, of a staleness of b bits, b = 0 … 7",
    ),
    Register("stale_shifts_high", 0x028, Access.SETTING, 0, "the same for b = 8 … 15"),
    Register("occupancy", 0x080, Access.STATUS, 0, "updates in the queue, in slots"),
    Register(
        "active_clusters", 0x084, Access.STATUS, 0, "indices that received an update within active_window"
    ),
    Register("resident_updates", 0x088, Access.STATUS, 0, "updates received and not yet wholly sent"),
    Register("resident_bypass", 0x08C, Access.STATUS, 0, "bypassing frames received and not yet wholly sent"),
    Register("accumulating", 0x090, Access.STATUS, 0, "slots that accumulate an iSwitch sum"),
    Register("command_busy", 0x0A0, Access.LIVE, 0, "1 while a command is at work; another is refused"),
    Register("command_error", 0x0A4, Access.LIVE, 0, "1 after a command was refused, until one is accepted"),
    Register("get_mode", 0x0A8, Access.LIVE, 0, "of the last GET: as set_mode"),
    Register("get_threshold", 0x0AC, Access.LIVE, 0, "of the last GET: as set_threshold"),
    Register("get_reward_enable", 0x0B0, Access.LIVE, 0, "of the last GET: as set_reward_enable"),
    Register("get_reward_threshold", 0x0B4, Access.LIVE, 0, "of the last GET: as set_reward_threshold"),
    Register(
        "get_state",
        0x0B8,
        Access.LIVE,
        0,
        "of the last GET: bit 0 a sum accumulates, bit 1 one was finished",
    ),
    Register(
        "get_round",
        0x0BC,
        Access.LIVE,
        0,
        "of the last GET: the round that accumulates, else the finished; in ISWITCH_ASYNC mode the number of "
        "the last result",
    ),
    Register("get_count", 0x0C0, Access.LIVE, 0, "of the last GET: worker updates in the partial sum"),
    Register(
        "get_members_low",
        0x0C4,
        Access.LIVE,
        0,
        "of the last GET, while a sum accumulates: members 0 … 31 in it; in ISWITCH_ASYNC mode all of "
        "which a contribution was ever taken",
    ),
    Register("get_members_high", 0x0C8, Access.LIVE, 0, "of the last GET: members 32 … 63"),
    Register("get_stale_enable", 0x0CC, Access.LIVE, 0, "of the last GET: as set_stale_enable"),
    Register("get_stale_bound", 0x0D0, Access.LIVE, 0, "of the last GET: as set_stale_bound"),
    Register(
        "get_newest",
        0x0D4,
        Access.LIVE,
        0,
        "of the last GET: the newest version that an ACK carried; bit 16: one did",
    ),
    *_make_counters(
        0x100,
        (
            ("cycle", "cycles since reset"),
            ("in_updates", "updates received to their end"),
            ("out_updates", "updates wholly sent"),
            ("in_bypass", "frames of any other kind received to their end"),
            ("out_bypass", "frames of any other kind wholly sent"),
            ("appended", "updates that took a slot of their own"),
            ("merged", "updates added to the waiting one of their index"),
            ("replaced_worker", "waiting updates replaced by a newer one of the same worker"),
            ("replaced_reward", "waiting updates replaced by one of higher reward"),
            ("dropped_full", "updates dropped: no free slot"),
            ("dropped_reward", "updates dropped: reward below that of the waiting update"),
            ("dropped_mismatch", "updates dropped: size differs from that of the waiting update"),
            ("dropped_header", "updates dropped: Olaf version or type is not an UPDATE's, or count is 0"),
            ("dropped_length", "updates dropped: UDP length and size differ, or no whole gradients"),
            ("dropped_oversize", "updates dropped: larger than a slot"),
            ("dropped_index", "updates dropped: unknown index"),
            ("dropped_truncated", "updates dropped: ended before their declared size"),
            ("dropped_overlong", "updates dropped: went on beyond their declared size"),
            ("dropped_bypass", "other frames dropped: no room for their declared size"),
            ("locked_appends", "of appended: the index' earlier update had begun to leave"),
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
            ("dropped_halted", "updates dropped: their index is halted"),
            ("dropped_member", "iSwitch contributions dropped: member number beyond the bitmap"),
            ("dropped_duplicate", "iSwitch contributions dropped: taken already"),
            (
                "dropped_late",
                "iSwitch contributions dropped: of a finished or superseded round, or older than the window",
            ),
            ("dropped_quota", "iSwitch contributions dropped: accumulate_quota slots accumulate already"),
            ("dropped_superseded", "partial sums dropped: a contribution to a newer round came"),
            ("dropped_reset", "partial sums dropped: by RESET, or by SET to another mode"),
            ("forced", "partial sums released by FBCAST"),
            ("dropped_stale", "updates dropped: of more versions ago than the staleness rule allows"),
        ),
    ),
)

BY_NAME = {register.name: register for register in REGISTERS}
ADDRESS_BITS = 12
DISPOSITIONS = tuple(
    name for name in BY_NAME if name.startswith(("replaced_", "dropped_")) and name != "dropped_bypass"
)
"""The counters that, with out_updates, merged and resident_updates, add up to in_updates at every instant."""


_RATE_UNIT = 1 << 16
"""The ``rate`` register counts bits per cycle in 65536ths."""


def rate_word(bits_per_second: int | None) -> int:
    """Return the ``rate`` register's value for a link rate; None means unconstrained.

    Raises BadInput when the rate is not above zero or is too small to be expressed.
    """
    if bits_per_second is None:
        return 0
    word = round(bits_per_second * _RATE_UNIT / CLOCK_HZ)
    if not 0 < word <= BEAT_BYTES * 8 * _RATE_UNIT:
        raise BadInput(
            Problem(f"an output rate of {bits_per_second} bit/s", remedy="use 4 kbit/s to 128 Gbit/s")
        )
    return word


def rate_of(word: int) -> float | None:
    """Return the link rate in bit/s of a ``rate`` register's value; None means unconstrained."""
    return word * CLOCK_HZ / _RATE_UNIT if word else None


@dataclass(frozen=True)
class IndexSettings:
    """The settings of an index for its updates; ``reward_threshold`` as binary32 bits."""

    mode: Mode = Mode.OLAF
    halted: bool = False
    threshold: int = 1
    """H: the worker updates that make a result in the modes that sum."""
    reward_enable: int = 0
    reward_threshold: int = 0
    stale_enable: int = 0
    stale_bound: int = 0
    """The greatest staleness, in versions, of an update that is not dropped."""


_NUMBERS = ("threshold", "reward_enable", "reward_threshold", "stale_enable", "stale_bound")
OF_EVERY_INDEX = ("mode", *_NUMBERS)
"""Names under which QueueRegisters reads and writes one setting of all indices; their other settings
remain."""

_HALTED = 1 << 8
_BUSY_READS = 1_000_000


class QueueRegisters:
    """The registers by name, over any pair of 32-bit ``read(offset)`` and ``write(offset, value)``."""

    def __init__(self, read: Callable[[int], int], write: Callable[[int, int], None]) -> None:
        self._read = read
        self._write = write

    def read(self, name: str) -> int:
        """Return a register's value; status and counters by way of a snapshot.

        Raises BadInput when the register does not exist, or indices differ in a setting that all share.
        """
        if name in OF_EVERY_INDEX:
            return self._common(name)
        register = _name_fields(name)
        if register.access in (Access.STATUS, Access.COUNTER):
            self._write(BY_NAME["snapshot"].offset, 1)
        return self._value(register)

    def write(self, name: str, value: int) -> None:
        """Set a setting, or act on a pulse register.

        Raises BadInput when the register does not exist, it cannot be written, or ``value`` is not 32 bits.
        """
        if name in OF_EVERY_INDEX:
            for settings, run in groupby(range(self.read("indices")), key=self.settings_of):
                indices = list(run)
                self.configure(indices[0], indices[-1], _changed_settings(settings, name, value))
            return
        register = _name_fields(name)
        if register.access not in (Access.SETTING, Access.PULSE, Access.COMMAND):
            raise BadInput(Problem(f"register {name} is read-only", remedy="see olafctl/queue/registers.py"))
        if not 0 <= value < 1 << 32:
            raise BadInput(Problem(f"{value} does not fit register {name}", remedy="give 0 … 4294967295"))
        self._write(register.offset, value)

    def read_all(self) -> dict[str, int]:
        """Return every readable register; status and counters as of one instant."""
        self._write(BY_NAME["snapshot"].offset, 1)
        return {
            register.name: self._value(register)
            for register in REGISTERS
            if register.access not in (Access.PULSE, Access.COMMAND)
        }

    def configure(self, first: int, last: int, settings: IndexSettings) -> None:
        """Give the indices ``first`` … ``last`` these settings. Raises BadInput when refused."""
        self.write("set_mode", settings.mode.number | (_HALTED if settings.halted else 0))
        self.write("set_threshold", settings.threshold)
        self.write("set_reward_enable", settings.reward_enable)
        self.write("set_reward_threshold", settings.reward_threshold)
        self.write("set_stale_enable", settings.stale_enable)
        self.write("set_stale_bound", settings.stale_bound)
        self.command(Command.SET, first, last)

    def settings_of(self, index: int) -> IndexSettings:
        """Return the settings of an index. Raises BadInput when the index does not exist."""
        self.command(Command.GET, index, index)
        mode = self.read("get_mode")
        return IndexSettings(
            Mode.numbered(mode & (_HALTED - 1)),
            bool(mode & _HALTED),
            self.read("get_threshold"),
            self.read("get_reward_enable"),
            self.read("get_reward_threshold"),
            self.read("get_stale_enable"),
            self.read("get_stale_bound"),
        )

    def command(self, command: Command, first: int, last: int) -> None:
        """Apply ``command`` to the indices ``first`` … ``last``, and wait until it is done.

        Raises BadInput when the queue refuses it: a range that is not within its indices, or bad settings.
        """
        self.write("range_first", first)
        self.write("range_last", last)
        self.write("command", int(command))
        for _ in range(_BUSY_READS):
            if not self.read("command_busy"):
                break
        else:
            raise OlafError(Problem(f"the queue does not finish {command.name}"))
        if self.read("command_error"):
            last_index = self.read("indices") - 1
            raise BadInput(
                Problem(
                    f"the queue refuses {command.name} of the indices {first} … {last}",
                    remedy=f"choose indices of 0 … {last_index} and a threshold of 1 … 65535",
                )
            )

    def _common(self, name: str) -> int:
        """Return one setting that all indices have in common. Raises BadInput when they differ."""
        first, *others = (_make_setting(self.settings_of(each), name) for each in range(self.read("indices")))
        for index, value in enumerate(others, 1):
            if value != first:
                what = f"the indices differ in {name}: 0 has {first}, {index} has {value}"
                raise BadInput(Problem(what, remedy="look at each index's settings: olafctl status --json"))
        return first

    def _value(self, register: Register) -> int:
        words = (self._read(register.offset + 4 * word) << (32 * word) for word in range(register.words))
        return sum(words)


def _make_setting(settings: IndexSettings, name: str) -> int:
    return settings.mode.number if name == "mode" else int(getattr(settings, name))


def _changed_settings(settings: IndexSettings, name: str, value: int) -> IndexSettings:
    if name == "mode":
        try:
            return replace(settings, mode=Mode.numbered(value))
        except ValueError as error:
            raise BadInput(Problem(str(error), remedy=f"give one of {modes.NUMBERS}")) from None
    if not 0 <= value < 1 << 32:
        raise BadInput(Problem(f"{value} does not fit {name}", remedy="give 0 … 4294967295"))
    values = {key: getattr(settings, key) for key in _NUMBERS}
    return IndexSettings(settings.mode, settings.halted, **{**values, name: value})


def is_staging(name: str) -> bool:
    """Return whether a register only takes part in commands for indices, and alone has no meaning."""
    return name.startswith(("range_", "set_", "get_", "command_"))


def _name_fields(name: str) -> Register:
    if name not in BY_NAME:
        raise BadInput(Problem(f"register {name!r} does not exist", remedy="see olafctl/queue/registers.py"))
    return BY_NAME[name]
