"""A compiled pipeline, ready to run: its library, and the places of its objects in the library."""

import ctypes as c
from dataclasses import dataclass, field
from typing import Any

from olafswitch.errors import OlafError
from olafswitch.p4.compiler import Program, compile_text
from olafswitch.p4.device_config import source_of
from olafswitch.p4.p4info.matching import find_mismatch
from olafswitch.p4.switch.keys import KeyForm, declared_key
from olafswitch.p4.switch.library import PROCESS, load_program
from olafswitch.p4.switch.metadata import MetadataForm, UserExtern
from olafswitch.p4runtime.dataplane import ActionCall, InitialEntry, Key, P4Info, PipelineRefused


@dataclass(frozen=True)
class ActionForm:
    """An action's number in the library, and the bytes of each of its parameters."""

    number: int
    sizes: tuple[int, ...]


@dataclass
class PipelineTable:
    """A table's place and its entries: addresses by key and priority."""

    place: int
    form: KeyForm
    actions: dict[int, ActionForm]
    profile: int
    size: int
    entries: dict[tuple[Key, int], int] = field(default_factory=dict)


@dataclass(frozen=True)
class Array:
    """A counter's, meter's or register's place."""

    place: int
    size: int
    words: int


@dataclass(frozen=True)
class Pipeline:
    """The pipeline that :meth:`olafswitch.p4.switch.native.NativeSwitch.prepare` returns."""

    program: Program
    library: c.CDLL
    p4info: P4Info

    def tables(self) -> dict[int, PipelineTable]:
        """Return each table by id, empty."""
        sizes = {
            int(name): tuple(8 * n for n in action["words"])
            for name, action in self.program.description["actions"].items()
        }
        made = {}
        for table in self.program.description["tables"]:
            actions = {
                int(name): ActionForm(number, sizes[int(name)]) for name, number in table["actions"].items()
            }
            form = KeyForm(table["keys"], table["kind"])
            made[int(table["id"])] = PipelineTable(
                table["place"], form, actions, table["profile"], table["size"]
            )
        return made

    def arrays(self) -> dict[int, Array]:
        """Return counters, meters and registers by id."""
        made = {}
        for rows in self.program.description["arrays"].values():
            for name, row in rows.items():
                made[int(name)] = Array(row["place"], row["size"], row["words"])
        return made

    def value_sets(self) -> dict[int, tuple[int, KeyForm]]:
        """Return each value set's place and form by id."""
        rows = self.program.description["value_sets"]
        return {row["id"]: (row["place"], KeyForm(row["keys"], "TERNARY")) for row in rows}

    def user_metadata(self) -> MetadataForm:
        """Return how the user metadata of a program for XSA is packed."""
        rows = self.program.description["user_metadata"]
        return MetadataForm(tuple((row["name"], row["width"]) for row in rows))

    def user_externs(self) -> list[UserExtern]:
        """Return the user externs, in the order of their numbers."""
        return [UserExtern(**row) for row in self.program.description["user_externs"]]

    def digests(self) -> list[dict[str, Any]]:
        """Return each digest's id and its fields' words, by place."""
        rows: list[dict[str, Any]] = self.program.description["digests"]
        return rows

    @property
    def process(self) -> int:
        """The address of the library's function that processes packets."""
        function = getattr(self.library, PROCESS[self.program.architecture])
        address = c.cast(function, c.c_void_p).value
        assert address is not None
        return address

    def initial_entries(self) -> list[tuple[int, InitialEntry]]:
        """Return the program's own entries, each with its place in the library."""
        made = []
        for table in self.program.description["tables"]:
            fields = [(each["kind"], int(each["width"])) for each in table["keys"]]
            for entry in table["entries"]:
                action = ActionCall(entry["action"], tuple(entry["data"]))
                key = declared_key(fields, entry["matches"])
                made.append(
                    (
                        entry["place"],
                        InitialEntry(table["id"], key, entry["priority"], action, entry["const"]),
                    )
                )
        return made


def prepare_pipeline(
    p4info: P4Info, device_config: bytes, optimize: str, architecture: str = "v1model"
) -> Pipeline:
    """Compile ``device_config`` (:mod:`olafswitch.p4.device_config`) unless the cache has the result.

    Raises PipelineRefused when it does not compile, is for another architecture, or the P4Info is that of
    another program.
    """
    try:
        text = source_of(device_config)
    except ValueError as error:
        raise PipelineRefused(str(error)) from None
    try:
        program = compile_text(text, optimize=optimize)
    except OlafError as error:
        raise PipelineRefused(str(error)) from None
    if program.architecture != architecture:
        raise PipelineRefused(
            f"the program is for {program.architecture}; this device runs programs for {architecture}"
        )
    translated = _translate_text(program)
    if translated:
        raise PipelineRefused(
            f"values of type {translated} need a translation, which this device does not do"
        )
    difference = find_mismatch(p4info, program.p4info)
    if difference:
        raise PipelineRefused(f"the P4Info does not belong to the device_config: {difference}")
    return Pipeline(program, load_program(program.library), p4info)


def _translate_text(program: Program) -> str:
    """Return a type whose width differs between control plane and program; empty if there is none."""
    widths = {}
    for table in program.description["tables"]:
        for at, key in enumerate(table["keys"]):
            widths[table["id"], at] = key["width"]
    for name, action in program.description["actions"].items():
        for at, width in enumerate(action["widths"]):
            widths[int(name), at] = width
    info = program.p4info
    rows = [(item.preamble.id, item.match_fields) for item in info.tables]
    rows += [(item.preamble.id, item.params) for item in info.actions]
    for number, fields in rows:
        for at, row in enumerate(fields):
            if row.bitwidth != widths[number, at] and row.type_name.name:
                return str(row.type_name.name)
    return ""
