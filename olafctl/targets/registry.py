"""The targets by name: every sub-package with a module ``target`` that holds ``TARGET``.

A package's name has an underscore where the target's has a hyphen.
"""

import importlib
import importlib.util
import pkgutil
from collections.abc import Sequence

from olafctl import targets
from olafctl.errors import BadInput, Problem
from olafctl.targets.interface import Target


def names() -> Sequence[str]:
    """Every target's name."""
    packages = (module.name for module in pkgutil.iter_modules(targets.__path__) if module.ispkg)
    found = (name for name in packages if importlib.util.find_spec(f"olafctl.targets.{name}.target"))
    return [name.replace("_", "-") for name in found]


def get(name: str) -> Target:
    """The target ``name``.

    Raises BadInput when there is none.
    """
    if name not in names():
        raise BadInput(Problem(f"there is no target {name!r}", "", f"one of: {', '.join(names())}"))
    target: Target = importlib.import_module(f"olafctl.targets.{name.replace('-', '_')}.target").TARGET
    return target
