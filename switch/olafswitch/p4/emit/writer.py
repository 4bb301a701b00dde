"""Collect lines of C++, and the names and types that they use."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from olafswitch.p4.ir import types as t


class Types:
    """C++ types of P4 types; structs are declared in the order in which they are first met."""

    def __init__(self) -> None:
        self._names: dict[t.Type, str] = {}
        self.written: set[tuple[str, str]] = set()
        """Fields of headers, by struct and member, that may differ from the bytes that came in."""
        self.later: set[str] = set()
        """Members that the code behind ingress names."""

    def name(self, type_: t.Type) -> str:
        """Return the C++ type of a value of ``type_``."""
        type_ = t.strip_type(type_)
        match type_:
            case t.Bit(width=width):
                return "u64" if width <= 64 else "u128" if width <= 128 else f"Wide<{(width + 63) // 64}>"
            case t.Simple(name="bool"):
                return "bool"
            case t.Simple() | t.Enum():
                return "u64"
            case t.Varbit(width=width):
                return f"Varbit<{self.name(t.Bit(max(width, 1)))}>"
            case t.Stack(element=element, size=size):
                return f"Stack<{self.name(element)}, {size}>"
            case t.Struct() | t.Tuple():
                if type_ not in self._names:
                    self._declare(type_)
                return self._names[type_]
        raise AssertionError(type_)

    def _declare(self, type_: t.Struct | t.Tuple) -> None:
        clean = "".join(c if c.isascii() and c.isalnum() else "_" for c in str(type_))[:40]
        name = f"S{len(self._names)}_{clean}"
        for _, inner in type_fields(type_):
            self.name(inner)
        # The name is taken only here, so that a type's parts come before it.
        self._names[type_] = name if name not in self._names.values() else f"{name}_{len(self._names)}"

    def declarations(self) -> list[str]:
        """Return the C++ of all structs, and the zeros of which a header reads that did not come in."""
        types = list(self._names)
        widest = max((t.max_width(type_) // 8 for type_ in types if keeps_origin(type_)), default=0)
        zeros = f"static const u8 ZEROS[{widest + 1}] = {{}};"
        return [zeros, *(self._declaration(type_) for type_ in types)]

    def _declaration(self, type_: t.Type) -> str:
        name = self._names[type_]
        members = self._header(type_) if keeps_origin(type_) else self._members(type_)
        tests = [
            self.equal(inner, read_field(type_, "a", field), read_field(type_, "b", field))
            for field, inner in type_fields(type_)
        ]
        same = " && ".join(tests) or "true"
        if t.is_header(type_):
            same = f"a.v == b.v && (!a.v || ({same}))"
        body = "\n".join(f"    {line}" for line in members)
        return (
            f"struct {name} {{\n{body}\n}};\n"
            f"P4_INLINE bool same(const {name} &a, const {name} &b) {{\n"
            f"    (void)a, (void)b;\n    return {same};\n}}"
        )

    def _members(self, type_: t.Type) -> list[str]:
        lines = [f"{self.name(inner)} {field};" for field, inner in type_fields(type_)]
        return [*lines, "bool v;"] if t.is_header(type_) else lines

    def _header(self, type_: t.Type) -> list[str]:
        """Return the members of a header that is read from where it came in, until a statement writes it."""
        name, at = self._names[type_], 0
        members, readers, loads = [], [], []
        for field, inner in type_fields(type_):
            cpp, load = self.name(inner), self.load(inner, "at", at)
            if (name, field) in self.written:
                members.append((cpp, field))
                loads.append(f"{field} = {load};")
                load = f"changed ? {field} : {load}"
            readers.append(f"P4_METHOD {cpp} get_{field}() const {{ return {load}; }}")
            at += t.max_width(inner)
        params = ", ".join(f"{cpp} given_{field}" for cpp, field in members)
        values = " ".join(f"made.{field} = given_{field};" for _, field in members)
        return [
            *(f"{cpp} {field};" for cpp, field in members),
            "bool v = false, changed = false;",
            "const u8 *at = ZEROS;",
            f"P4_METHOD {name}() {{}}",
            f"static P4_METHOD {name} make({params}) {{",
            f"{name} made;",
            f"{values} made.v = made.changed = true;",
            "return made;",
            "}",
            *readers,
            f"P4_METHOD void change() {{ if (!changed) {{ {' '.join(loads)} changed = true; }} }}",
        ]

    def load(self, type_: t.Type, source: str, at: int) -> str:
        """Return the C++ value of ``type_``, which ``is_loadable``, from bit ``at`` of the bytes
        ``source``."""
        base = t.strip_type(type_)
        if isinstance(base, t.Bit):
            return f"load_at<{self.name(base)}, {at}, {base.width}>({source})"
        if base == t.BOOL:
            return f"(load_at<u64, {at}, 1>({source}) != 0)"
        if isinstance(base, t.Stack):
            wide = t.max_width(base.element)
            parts = [self.load(base.element, source, at + n * wide) for n in range(base.size)]
            return f"{self.name(base)}{{{{{', '.join(parts)}}}, 0}}"
        parts = []
        for _, inner in type_fields(base):
            parts.append(self.load(inner, source, at))
            at += t.max_width(inner)
        return self.make(base, parts)

    def make(self, type_: t.Type, parts: Sequence[str]) -> str:
        """Return a struct, tuple or valid header with these fields."""
        if keeps_origin(type_):
            self.note_values(type_)
            return f"{self.name(type_)}::make({', '.join(parts)})"
        if t.is_header(type_):
            parts = [*parts, "true"]
        return f"{self.name(type_)}{{{', '.join(parts)}}}"

    def note_values(self, type_: t.Type) -> None:
        """Note that headers of ``type_`` are made of values."""
        self.written.update((self.name(type_), field) for field, _ in type_fields(type_))

    def equal(self, type_: t.Type, a: str, b: str) -> str:
        """Return a C++ expression that tells whether two values are equal."""
        type_ = t.strip_type(type_)
        match type_:
            case t.Struct() | t.Tuple():
                self.name(type_)
                return f"same({a}, {b})"
            case t.Stack(element=element, size=size):
                parts = [self.equal(element, f"{a}.e[{i}]", f"{b}.e[{i}]") for i in range(size)]
                return f"({' && '.join(parts)})"
            case t.Varbit():
                return f"({a}.bits == {b}.bits && {a}.value == {b}.value)"
        return f"({a} == {b})"


def is_loadable(type_: t.Type) -> bool:
    """Return whether a value of this type has a fixed place in bytes."""
    base = t.strip_type(type_)
    match base:
        case t.Struct(kind="struct" | "header") | t.Tuple():
            return all(is_loadable(inner) for _, inner in type_fields(base))
        case t.Stack(element=element):
            return is_loadable(element)
    return isinstance(base, t.Bit) or base == t.BOOL


def keeps_origin(type_: t.Type) -> bool:
    """Return whether a header's C++ struct says where its bytes are, and whether a statement wrote a field
    since."""
    return t.is_header(type_) and is_loadable(type_)


def read_field(type_: t.Type, value: str, field: str) -> str:
    """Return a field of a struct, header or tuple, to be read only."""
    return f"{value}.get_{field}()" if keeps_origin(type_) else f"{value}.{field}"


def type_fields(type_: t.Type) -> list[tuple[str, t.Type]]:
    """Return the parts of a struct, header, union or tuple under their C++ names."""
    type_ = t.strip_type(type_)
    if isinstance(type_, t.Struct):
        return [(f"f_{name}", inner) for name, inner in type_.fields]
    assert isinstance(type_, t.Tuple)
    return [(f"f{at}", inner) for at, inner in enumerate(type_.items)]


def write_literal(value: int, type_: t.Type) -> str:
    """Return a number as C++ writes one of this type."""
    base = t.strip_type(type_)
    if base == t.BOOL:
        return "true" if value else "false"
    width = base.width if isinstance(base, t.Bit) else 64
    words = [value >> (64 * i) & ((1 << 64) - 1) for i in range((max(width, 1) + 63) // 64)]
    if len(words) == 1:
        return f"{words[0]:#x}ul"
    if len(words) == 2:
        return f"make128({words[1]:#x}ul, {words[0]:#x}ul)"
    return f"Wide<{len(words)}>{{{{{', '.join(f'{w:#x}ul' for w in words)}}}}}"


def quote_name(name: str) -> str:
    """Return a name as a C++ string; characters that could end the string or the line are replaced."""
    return '"' + "".join(c if c.isascii() and (c.isalnum() or c in "_.$[]") else "_" for c in name) + '"'


def words_of(type_: t.Type) -> int:
    """Return the number of 64-bit words of a scalar in keys, action data and registers."""
    base = t.strip_type(type_)
    return (max(base.width, 1) + 63) // 64 if isinstance(base, t.Bit) else 1


def split_words(value: int, type_: t.Type) -> list[int]:
    """Return a scalar as 64-bit words, the least significant first."""
    return [value >> (64 * i) & ((1 << 64) - 1) for i in range(words_of(type_))]


class CppWriter:
    """A collector of statements."""

    def __init__(self, types: Types) -> None:
        self.types = types
        self.lines: list[str] = []
        self._serial = 0

    def line(self, text: str) -> None:
        self.lines.append(text)

    def fresh(self, stem: str = "t") -> str:
        self._serial += 1
        return f"{stem}{self._serial}_"

    @contextmanager
    def captured(self) -> Iterator[list[str]]:
        """Collect the statements written inside the ``with`` block in their own list."""
        outside, self.lines = self.lines, []
        inside = self.lines
        try:
            yield inside
        finally:
            self.lines = outside
