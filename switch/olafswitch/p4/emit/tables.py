"""Write tables as C++: the lookup, and the descriptions from which the runtime makes them."""

from collections.abc import Sequence

from olafswitch.p4.emit.bodies import BodyWriter
from olafswitch.p4.emit.places import Places
from olafswitch.p4.emit.rows import hash_algorithm, hash_row
from olafswitch.p4.emit.writer import quote_name, split_words, words_of
from olafswitch.p4.ir import nodes as ir
from olafswitch.p4.ir import types as t
from olafswitch.p4.refuse import Refused


def table_kind(keys: Sequence[ir.Key]) -> str:
    """Return which of the runtime's tables holds these keys."""
    kinds = {key.kind for key in keys}
    if kinds & {"ternary", "range", "optional"}:
        return "TERNARY"
    return "LPM" if "lpm" in kinds else "EXACT"


def key_words(keys: Sequence[ir.Key]) -> list[int]:
    return [words_of(key.value.type) for key in keys]


def _lpm_part(keys: Sequence[ir.Key]) -> tuple[int, int, int]:
    """Return the first word of the LPM field in a key, its words and its bits."""
    at = next(at for at, key in enumerate(keys) if key.kind == "lpm")
    return sum(key_words(keys[:at])), words_of(keys[at].value.type), t.key_width(keys[at].value.type) or 0


def entry_words(keys: Sequence[ir.Key], matches: Sequence[ir.Match]) -> tuple[list[int], list[int], int]:
    """Return an entry's key and mask words (a range's bounds), and its prefix length."""
    values: list[int] = []
    masks: list[int] = []
    prefix = 0
    for key, match in zip(keys, matches, strict=True):
        width = t.key_width(key.value.type) or 0
        full = (1 << width) - 1
        low, high = match.value or 0, full
        if key.kind == "range":
            if match.value is not None:
                high = match.value if match.high is None else match.high
        elif match.value is None:
            high = 0
        elif match.mask is not None:
            high = match.mask
        if key.kind == "lpm":
            prefix = bin(high).count("1")
        values += split_words(low, key.value.type)
        masks += split_words(high, key.value.type)
    return values, masks, prefix


def write_numbers(values: Sequence[int]) -> str:
    return "{" + ", ".join(f"{value:#x}ull" for value in values or [0]) + "}"


def write_lookup(table: ir.Table, body: BodyWriter, places: Places) -> None:
    """Write the table's apply() as a member function of its control."""
    w = body.w
    keys = table.match_keys
    w.line(f"P4_METHOD Result {table.cpp}() {{")
    row = _selector_row(table, body)
    if keys:
        _write_key(table, body)
        kind = table_kind(keys)
        name = {"EXACT": "find_exact", "LPM": "find_lpm", "TERNARY": "find_ternary"}[kind]
        shape = [sum(key_words(keys)), *(_lpm_part(keys) if kind == "LPM" else ())]
        w.line(f"Table &table = x.sw->tables[{table.index}];")
        w.line(f"Entry *entry = {name}<{', '.join(map(str, shape))}>(table, key);")
        w.line("const Action *action;\nif (entry) {\naction = acquire(entry->action);")
        if table.idle_timeout:
            w.line("touch(entry);")
        if table.counter is not None:
            w.line("count(counter_of(x, entry), x.ingress_length);")
        if table.meter is not None:
            units = "x.ingress_length" if places.counts_bytes(table.meter) else "1"
            w.line(f"colour_{table.meter.cpp} = meter_colour(entry->meter, {units}, x.now);")
        if table.profile is not None:
            w.line(f"action = resolve(action, {row});\nif (!action) action = acquire(table.fallback);")
        w.line("} else {\naction = acquire(table.fallback);\n}")
    else:
        w.line(
            f"const Action *action = acquire(x.sw->tables[{table.index}].fallback);\nEntry *entry = nullptr;"
        )
    w.line("switch (action->id) {")
    for entry in table.actions:
        w.line(f"case {places.action_number(entry.action)}: {{")
        _call_action(entry, body)
        w.line("break;\n}")
    w.line("}\nreturn {entry != nullptr, action->id};\n}")


def _selector_row(table: ir.Table, body: BodyWriter) -> str:
    parts = tuple(key.value for key in table.keys if key.kind == "selector" and table.has_selector)
    if not parts or table.profile is None:
        return "0"
    function = hash_algorithm(table.profile.args.get("algorithm"), table.profile.pos)
    made = ir.Make(t.Tuple(tuple(part.type for part in parts)), parts)
    return hash_row(made, function, body, table.pos)


def _write_key(table: ir.Table, body: BodyWriter) -> None:
    keys = table.match_keys if table.has_selector else table.keys
    values = body.e.row([key.value for key in keys])
    body.w.line(f"u64 key[{sum(key_words(table.match_keys))}];")
    at = 0
    for key, value in zip(keys, values, strict=True):
        if key.kind == "selector":
            continue
        if key.kind == "range" and words_of(key.value.type) > 1:
            raise Refused(key.pos, "range key", "wider than 64 bits is not supported")
        guard = ""
        if isinstance(key.value, ir.Field) and t.is_header(key.value.base.type):
            guard = f"{body.e.value(key.value.base)}.v"
        for part in body.e.words(value, key.value.type):
            body.w.line(f"key[{at}] = {f'{guard} ? {part} : 0' if guard else part};")
            at += 1


def _call_action(entry: ir.TableAction, body: BodyWriter) -> None:
    values, back = body.arguments(entry.args, always_copy=True)
    at = 0
    for param in entry.action.data:
        base = t.strip_type(param.type)
        if not isinstance(base, t.Bit | t.Enum) and base not in (t.BOOL, t.ERROR):
            raise Refused(
                entry.action.pos, f"parameter {param.name}", f"action data of {param.type} is not supported"
            )
        words = words_of(base)
        if words == 1:
            values.append(f"action->data[{at}] != 0" if base == t.BOOL else f"action->data[{at}]")
        else:
            cpp = body.e.cpp(base)
            name = body.e.keep(f"{cpp}{{}}", base)
            for word in range(words):
                body.w.line(f"Limbs<{cpp}>::set({name}, {word}, action->data[{at + word}]);")
            values.append(name)
        at += words
    body.w.line(f"{entry.action.cpp}({', '.join(values)});")
    for place, value in back:
        body.assign(place, value)


def write_specs(places: Places) -> list[str]:
    """Return the static descriptions that a new switch is made from."""
    program = places.program
    lines: list[str] = []
    rows = []
    for table in program.tables:
        pairs = zip(table.actions[table.default].action.data, table.default_data, strict=True)
        data = [word for param, value in pairs for word in split_words(value, param.type)]
        lines.append(f"static const u64 default{table.index}[] = {write_numbers(data)};")
        rows.append(_write_spec(table.name, table.match_keys, table.size, places.action_number(
            table.actions[table.default].action), len(data), f"default{table.index}"))  # fmt: skip
    lines.append(f"static const TableSpec table_specs[] = {{{', '.join([*rows, '{}'])}}};")
    sets = [_write_spec(v.name, v.keys, v.size, 0, 0, "nullptr", "TERNARY") for v in program.value_sets]
    lines.append(f"static const TableSpec value_set_specs[] = {{{', '.join([*sets, '{}'])}}};")
    lines += _entry_specs(places)
    return lines


def _write_spec(
    name: str, keys: Sequence[ir.Key], size: int, action: int, words: int, data: str, forced: str = ""
) -> str:
    at = ranges = 0
    for key in keys:
        if key.kind == "range":
            ranges |= 1 << at
        at += words_of(key.value.type)
    lpm_word, lpm_words, lpm_width = _lpm_part(keys) if table_kind(keys) == "LPM" else (0, 0, 0)
    return (
        f"{{{quote_name(name)}, {forced or table_kind(keys)}, {at}, {lpm_word}, {lpm_words}, {lpm_width},"
        f" {ranges:#x}ull, {size}ull, {action}, {words}, {data}, 0}}"
    )


def _entry_specs(places: Places) -> list[str]:
    lines: list[str] = []
    rows: list[str] = []
    for table in places.program.tables:
        for entry in table.entries:
            values, masks, prefix = entry_words(table.match_keys, entry.matches)
            action = table.actions[entry.action].action
            data = [w for p, v in zip(action.data, entry.data, strict=True) for w in split_words(v, p.type)]
            at = len(rows)
            for stem, content in (("key", values), ("mask", masks), ("data", data)):
                lines.append(f"static const u64 {stem}{at}[] = {write_numbers(content)};")
            rows.append(
                f"{{{table.index}, {places.action_number(action)}, {len(data)}, {prefix}, {entry.priority},"
                f" key{at}, mask{at}, data{at}}}"
            )
    lines.append(f"static const EntrySpec entry_specs[] = {{{', '.join([*rows, '{}'])}}};")
    return lines
