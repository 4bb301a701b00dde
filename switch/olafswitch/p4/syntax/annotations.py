"""The annotations that the compiler itself reads: ``@name``, ``@id``, and numbers in others."""

from collections.abc import Iterable

from olafswitch.p4.refuse import Refused
from olafswitch.p4.syntax.literals import parse_literal
from olafswitch.p4.syntax.tree import Annotation, Annotations


def only_number(annotation: Annotation) -> int:
    """Return the only number in an annotation's body; raises Refused when the body is anything else."""
    if len(annotation.body) != 1 or annotation.body[0][0] != "INTEGER":
        text = " ".join(text for _, text in annotation.body)
        raise Refused(annotation.pos, f"@{annotation.name}", f"{text or 'nothing'} is not a number")
    return parse_literal(annotation.body[0][1], annotation.pos).value


def find_annotation(annotations: Iterable[Annotation], name: str) -> Annotation | None:
    """Return the first annotation of a name; None when it does not exist."""
    return next((annotation for annotation in annotations if annotation.name == name), None)


def given_number(annotations: Annotations, name: str) -> int | None:
    """Return the number of the first annotation of a name, such as ``@id``; None when it does not exist."""
    found = find_annotation(annotations, name)
    return only_number(found) if found else None


def given_name(annotations: Annotations) -> str:
    """Return the text of the first ``@name``; empty when there is none."""
    found = find_annotation([each for each in annotations if each.body], "name")
    return found.body[0][1][1:-1] if found else ""


def control_plane_name(name: str, path: str, annotations: Annotations) -> str:
    """Return P4Runtime's name of an object: its ``@name`` or own name, below its instance's ``path``."""
    name = given_name(annotations) or name
    if name.startswith("."):
        return name[1:]
    return f"{path}.{name}" if path else name
