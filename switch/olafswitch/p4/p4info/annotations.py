"""Annotations as P4Info has them: as written, structured, or as documentation (P4Runtime §6.1)."""

from collections.abc import Iterator, Sequence
from typing import Any

from olafswitch.p4.check.program import constant_value
from olafswitch.p4.refuse import Refused
from olafswitch.p4.syntax.annotations import find_annotation
from olafswitch.p4.syntax.parse import parse_expression
from olafswitch.p4.syntax.tree import Annotation, Annotations

_ELSEWHERE = frozenset([
    "name", "id", "field_list", "match", "controller_header", "metadata", "alias", "p4runtime_translation",
    "brief", "description",
])  # fmt: skip
"""Annotations that other fields of P4Info describe, or none."""
_OF_PACKAGE = ("pkginfo", "platform_property")
"""Annotations that other fields describe where the whole package has them."""


def is_hidden(annotations: Annotations) -> bool:
    """Return whether ``@hidden`` hides a table, action or header from the control plane."""
    return find_annotation(annotations, "hidden") is not None


def add_annotations(message: Any, annotations: Annotations) -> None:
    """Fill a message's ``annotations``, ``structured_annotations`` and ``doc``.

    Raises Refused where a structured annotation's value is not known at compile time.
    """
    for annotation in annotations:
        if annotation.structured:
            _add_structured(message.structured_annotations.add(name=annotation.name), annotation)
        elif annotation.name in ("brief", "description"):
            setattr(message.doc, annotation.name, "".join(text[1:-1] for _, text in annotation.body))
        elif annotation.name not in _ELSEWHERE:
            message.annotations.append(_as_written(annotation))


def describe_package(info: Any, annotations: Annotations) -> None:
    """Fill ``PkgInfo`` from the annotations of ``main``, with ``@pkginfo`` and ``@platform_property``.

    Raises Refused at a field that ``PkgInfo`` does not have.
    """
    add_annotations(info, tuple(each for each in annotations if each.name not in _OF_PACKAGE))
    for annotation in annotations:
        if annotation.name in _OF_PACKAGE:
            made = info if annotation.name == "pkginfo" else info.platform_properties
            for name, value in _read_values(annotation):
                try:
                    setattr(made, name, value)
                except (AttributeError, TypeError):
                    raise Refused(
                        annotation.pos, f"@{annotation.name}", f"has no field {name} = {value!r}"
                    ) from None


def _as_written(annotation: Annotation) -> str:
    body = " ".join(text for _, text in annotation.body)
    if annotation.name in _OF_PACKAGE:  # p4c writes annotations that it reads itself without the spaces
        body = ", ".join("".join(text for _, text in part) for part in _split_tokens(annotation.body))
    return f"@{annotation.name}({body})" if annotation.body else f"@{annotation.name}"


def _add_structured(made: Any, annotation: Annotation) -> None:
    values = list(_read_values(annotation))
    if any(name for name, _ in values):
        for name, value in values:
            pair = made.kv_pair_list.kv_pairs.add(key=name)
            _set_value(pair.value, value)
    else:
        made.expression_list.SetInParent()
        for _, value in values:
            _set_value(made.expression_list.expressions.add(), value)


def _set_value(made: Any, value: int | bool | str) -> None:
    kind = "bool" if isinstance(value, bool) else "string" if isinstance(value, str) else "int64"
    setattr(made, f"{kind}_value", value)


def _read_values(annotation: Annotation) -> Iterator[tuple[str, int | bool | str]]:
    """Yield the body's values, each with its name or an empty name."""
    for part in _split_tokens(annotation.body):
        named = len(part) > 2 and part[1][1] == "="
        text = " ".join(text for _, text in (part[2:] if named else part))
        yield part[0][1] if named else "", constant_value(parse_expression(text, annotation.pos))


def _split_tokens(tokens: Sequence[tuple[str, str]]) -> Iterator[list[tuple[str, str]]]:
    """Yield the tokens between commas."""
    part: list[tuple[str, str]] = []
    for token in (*tokens, (",", ",")):
        if token[1] == "," and part:
            yield part
            part = []
        elif token[1] != ",":
            part.append(token)
