"""VitisNetP4's driver of one IP, over ``native/olaf_driver.h``: tables and counters as byte strings.

Each IP has a driver library of its own, loaded with private symbols, so that two do not meet. A driver is
not made for several threads: :class:`Driver` lets one in at a time.
"""

import ctypes as c
import logging
import threading
from collections.abc import Callable, Sequence
from pathlib import Path

from olafswitch.errors import OlafError, Problem
from olafswitch.p4runtime.dataplane import DeviceRefused, TableFull, Unsupported

_log = logging.getLogger(__name__)
_PREFIX = "XIL_VITIS_NET_P4_"
_MISMATCH = "TARGET_ERR_INCOMPATIBLE_SW_HW"
_NO_TABLE = "TARGET_ERR_TABLE_NOT_FOUND"
_FULL = ("CAM_ERR_FULL",)
_CODES = {
    "CAM_ERR_DUPLICATE_FOUND": "ALREADY_EXISTS",
    "CAM_ERR_KEY_NOT_FOUND": "NOT_FOUND",
    _MISMATCH: "FAILED_PRECONDITION",
}
_UNSUPPORTED = ("TABLE_ERR_FUNCTION_NOT_SUPPORTED",)

_WRITE = c.CFUNCTYPE(None, c.c_void_p, c.c_uint32, c.c_uint32)
_READ = c.CFUNCTYPE(c.c_uint32, c.c_void_p, c.c_uint32)
_LOG = c.CFUNCTYPE(None, c.c_void_p, c.c_int, c.c_char_p)
_POINTER = c.POINTER(c.c_void_p)
_NUMBER = c.POINTER(c.c_uint32)
_SIGNATURES: dict[str, tuple[object, list[object]]] = {
    "driver_open": (c.c_int, [_WRITE, _READ, _LOG, c.c_void_p, _POINTER]),
    "driver_close": (None, [c.c_void_p]),
    "driver_code_name": (c.c_char_p, [c.c_int]),
    "driver_tables": (c.c_int, [c.c_void_p, _NUMBER]),
    "driver_table_at": (c.c_int, [c.c_void_p, c.c_uint32, _POINTER]),
    "driver_table": (c.c_int, [c.c_void_p, c.c_char_p, _POINTER]),
    "table_key_bits": (c.c_int, [c.c_void_p, _NUMBER]),
    "table_params_bits": (c.c_int, [c.c_void_p, _NUMBER]),
    "table_masked": (c.c_int, [c.c_void_p, c.POINTER(c.c_int)]),
    "table_action": (c.c_int, [c.c_void_p, c.c_char_p, _NUMBER]),
    "table_reset": (c.c_int, [c.c_void_p]),
    "table_insert": (
        c.c_int,
        [c.c_void_p, c.c_char_p, c.c_char_p, c.c_uint32, c.c_uint32, c.c_char_p],
    ),
    "table_update": (c.c_int, [c.c_void_p, c.c_char_p, c.c_char_p, c.c_uint32, c.c_char_p]),
    "table_delete": (c.c_int, [c.c_void_p, c.c_char_p, c.c_char_p]),
    "table_get": (c.c_int, [c.c_void_p, c.c_char_p, c.c_char_p, _NUMBER, _NUMBER, c.c_char_p]),
    "driver_counters": (c.c_uint32, [c.c_void_p]),
    "driver_counter_name": (c.c_char_p, [c.c_void_p, c.c_uint32]),
    "driver_counter_reset": (c.c_int, [c.c_void_p, c.c_uint32]),
    "driver_counter_read": (
        c.c_int,
        [c.c_void_p, c.c_uint32, c.c_uint32, c.POINTER(c.c_uint64), c.POINTER(c.c_uint64)],
    ),
}


class Table:
    """One table of an IP. Keys, masks and parameters are numbers, their first field on top."""

    def __init__(self, driver: "Driver", name: str, handle: int) -> None:
        self._driver, self._name, self._handle = driver, name, handle
        self.key_bits = self._number("table_key_bits")
        self.params_bits = self._number("table_params_bits")
        masked = c.c_int()
        driver.call("table_masked", handle, c.byref(masked), doing=name)
        self.masked = bool(masked.value)
        """Whether entries have a mask and a priority, of which the lowest wins."""

    def action(self, names: Sequence[str]) -> int:
        """The driver's number of the action that has one of ``names``. Raises OlafError."""
        found = c.c_uint32()
        for name in names:
            if not self._driver.try_call("table_action", self._handle, name.encode(), c.byref(found)):
                return found.value
        raise OlafError(Problem(f"the driver has no action {names[0]}", f"table {self._name}"))

    def reset(self) -> None:
        """Remove every entry, from the driver's own memory of them too."""
        self._call("table_reset")

    def insert(self, key: int, mask: int, priority: int, action: int, params: int) -> None:
        """Add an entry. Raises TableFull, DeviceRefused."""
        self._call("table_insert", *self._match(key, mask), priority, action, self._params(params))

    def update(self, key: int, mask: int, action: int, params: int) -> None:
        """Replace an entry's action. Raises DeviceRefused."""
        self._call("table_update", *self._match(key, mask), action, self._params(params))

    def delete(self, key: int, mask: int) -> None:
        """Remove an entry. Raises DeviceRefused."""
        self._call("table_delete", *self._match(key, mask))

    def get(self, key: int, mask: int) -> tuple[int, int]:
        """An entry's action and parameters. Raises DeviceRefused."""
        priority, action = c.c_uint32(), c.c_uint32()
        params = c.create_string_buffer(_bytes(self.params_bits) + 1)
        place = c.byref(priority) if self.masked else None
        self._call("table_get", *self._match(key, mask), place, c.byref(action), params)
        return action.value, int.from_bytes(params.raw[: _bytes(self.params_bits)], "big")

    def _match(self, key: int, mask: int) -> tuple[bytes, bytes | None]:
        size = _bytes(self.key_bits)
        return key.to_bytes(size, "big"), mask.to_bytes(size, "big") if self.masked else None

    def _params(self, params: int) -> bytes:
        return params.to_bytes(_bytes(self.params_bits), "big")

    def _call(self, name: str, *arguments: object) -> None:
        self._driver.call(name, self._handle, *arguments, doing=f"table {self._name}")

    def _number(self, name: str) -> int:
        found = c.c_uint32()
        self._call(name, c.byref(found))
        return found.value


class Driver:
    """The driver of one IP whose registers are reached with ``read(offset)`` and ``write(offset, value)``."""

    def __init__(self, library: Path, read: Callable[[int], int], write: Callable[[int, int], None]) -> None:
        """Initialises the driver; no entry that is in the IP already is known to it.

        Raises OlafError when the library cannot be loaded or was made for another build of the IP.
        """
        self.library = library
        self._lock = threading.RLock()
        try:
            self._functions = c.CDLL(str(library), mode=c.RTLD_LOCAL)
        except OSError as error:
            remedy = "copy the driver folder that was built with the bitstream"
            raise OlafError(Problem(f"cannot be loaded: {error}", str(library), remedy)) from error
        for name, (result, arguments) in _SIGNATURES.items():
            function = getattr(self._functions, f"olaf_{name}")
            function.restype, function.argtypes = result, arguments
        self._callbacks = (
            _WRITE(lambda user, offset, value: write(offset, value)),
            _READ(lambda user, offset: read(offset)),
            _LOG(self._on_log),
        )
        self._handle = c.c_void_p()
        code = self._functions.olaf_driver_open(*self._callbacks, None, c.byref(self._handle))
        if code:
            name = self._name(code)
            what = f"the driver refuses the IP: {name}"
            remedy = "use bitstream and driver of one build" if name == _MISMATCH else ""
            raise OlafError(Problem(what, str(library), remedy))
        names = self._counter_names()
        self._counters = {name: number for number, name in enumerate(names)}

    def close(self) -> None:
        """End the driver; the IP keeps its entries."""
        with self._lock:
            if self._handle:
                self._functions.olaf_driver_close(self._handle)
                self._handle = c.c_void_p()

    def table(self, names: Sequence[str]) -> Table:
        """The table that has one of ``names``. Raises OlafError when it does not exist."""
        found = c.c_void_p()
        for name in names:
            if not self.try_call("driver_table", self._handle, name.encode(), c.byref(found)):
                assert found.value is not None
                return Table(self, name, found.value)
        raise OlafError(Problem(f"the driver has no table {names[0]}", str(self.library)))

    def reset_tables(self) -> None:
        """Remove every entry of every table of the IP."""
        count, found = c.c_uint32(), c.c_void_p()
        self.call("driver_tables", self._handle, c.byref(count))
        for index in range(count.value):
            self.call("driver_table_at", self._handle, index, c.byref(found))
            self.call("table_reset", found)

    def counter(self, names: Sequence[str]) -> int:
        """The number of the counter that has one of ``names``. Raises OlafError when it does not exist."""
        for name in names:
            if name in self._counters:
                return self._counters[name]
        raise OlafError(Problem(f"the driver has no counter {names[0]}", str(self.library)))

    def reset_counter(self, counter: int) -> None:
        self.call("driver_counter_reset", self._handle, counter)

    def read_counter(self, counter: int, index: int) -> tuple[int, int]:
        """Packets and bytes since the last call."""
        packets, total = c.c_uint64(), c.c_uint64()
        self.call("driver_counter_read", self._handle, counter, index, c.byref(packets), c.byref(total))
        return packets.value, total.value

    def call(self, name: str, *arguments: object, doing: str = "") -> None:
        """Call a function of the driver.

        Raises TableFull, Unsupported, or DeviceRefused with P4Runtime's code for the driver's.
        """
        why = self.try_call(name, *arguments)
        if not why:
            return
        what = f"{doing}: the driver answers {why}" if doing else f"the driver answers {why}"
        if why in _FULL:
            raise TableFull(what)
        if why in _UNSUPPORTED:
            raise Unsupported(what)
        raise DeviceRefused(_CODES.get(why, "INTERNAL"), what)

    def try_call(self, name: str, *arguments: object) -> str:
        """Call a function of the driver; the name of the code that it answers, empty for success."""
        with self._lock:
            if not self._handle:
                return "GENERAL_ERR_INVALID_CONTEXT"
            code = getattr(self._functions, f"olaf_{name}")(*arguments)
        return self._name(code) if code else ""

    def _counter_names(self) -> list[str]:
        functions, handle = self._functions, self._handle
        places = range(functions.olaf_driver_counters(handle))
        return [functions.olaf_driver_counter_name(handle, place).decode() for place in places]

    def _name(self, code: int) -> str:
        name: str = self._functions.olaf_driver_code_name(code).decode()
        return name.removeprefix(_PREFIX)

    def _on_log(self, user: int | None, is_error: int, message: bytes) -> None:
        level = logging.ERROR if is_error else logging.INFO
        _log.log(level, "%s: %s", self.library.name, message.decode(errors="replace"))


def _bytes(bits: int) -> int:
    return (bits + 7) // 8
