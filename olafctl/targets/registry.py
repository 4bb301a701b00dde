"""The targets by name: every sub-package with a module ``target`` that has ``TARGET``, and the targets that
installed distributions add as entry points of the group ``olaf.targets``.

A package's name has an underscore where the target's has a hyphen.
"""

import importlib
import importlib.util
import pkgutil
from collections.abc import Sequence
from functools import cache
from importlib.metadata import EntryPoint, entry_points

from olafctl import targets
from olafctl.targets.interface import Target
from olafswitch.errors import BadInput, Problem

_GROUP = "olaf.targets"


def target_names() -> Sequence[str]:
    """Return every target's name."""
    return sorted({*_own_targets(), *_added_targets()})


def get_target(name: str) -> Target:
    """Return the target ``name``.

    Raises BadInput when it does not exist.
    """
    if name not in target_names():
        raise BadInput(Problem(f"target {name!r} does not exist", "", f"one of: {', '.join(target_names())}"))
    target: Target
    if name in _own_targets():
        target = importlib.import_module(f"olafctl.targets.{name.replace('-', '_')}.target").TARGET
    else:
        target = _added_targets()[name].load()
    return target


def _own_targets() -> Sequence[str]:
    packages = (module.name for module in pkgutil.iter_modules(targets.__path__) if module.ispkg)
    found = (name for name in packages if importlib.util.find_spec(f"olafctl.targets.{name}.target"))
    return [name.replace("_", "-") for name in found]


@cache
def _added_targets() -> dict[str, EntryPoint]:
    return {each.name: each for each in entry_points(group=_GROUP)}
