"""Collect lines of C++, and the names and types that they use."""

from collections.abc import Iterator
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
        self.declarations: list[str] = []

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
        lines = []
        tests = []
        for field, inner in type_fields(type_):
            lines.append(f"    {self.name(inner)} {field};")
            tests.append(self.equal(inner, f"a.{field}", f"b.{field}"))
        if t.is_header(type_):
            lines.append("    bool v;")
            if keeps_origin(type_):
                lines.append("    bool changed;\n    u32 origin;")
            tests = ["(a.v == b.v && (!a.v || (" + " && ".join(tests or ["true"]) + ")))"]
        # The name is taken only here, so that a type's parts come before it.
        name = name if name not in self._names.values() else f"{name}_{len(self._names)}"
        self._names[type_] = name
        body = "\n".join(lines)
        same = " && ".join(tests) or "true"
        self.declarations.append(
            f"struct {name} {{\n{body}\n}};\n"
            f"P4_INLINE bool same(const {name} &a, const {name} &b) {{\n"
            f"    (void)a, (void)b;\n    return {same};\n}}"
        )

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


def keeps_origin(type_: t.Type) -> bool:
    """Return whether a header's C++ struct says where in the frame the header came in (0: nowhere), and
    whether a field was written since."""
    base = t.strip_type(type_)
    return t.is_header(base) and not any(isinstance(t.strip_type(f), t.Varbit) for _, f in type_fields(base))


def header_ends(type_: t.Type) -> list[str]:
    """Return initializers of the members behind the fields in a valid header's struct."""
    return ["true", "false", "0"] if keeps_origin(type_) else ["true"]


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
