"""The SDK's multi-agent example and its games as modules: what the laboratory measures is what users read."""

import importlib
import sys
from types import ModuleType

from olafctl import paths
from olafswitch.errors import BadInput, Problem


def load_example(name: str) -> ModuleType:
    """Load ``maddpg`` or ``particles``. Raises BadInput outside a checkout, ImportError without torch."""
    folder = paths.sources() / "sdk" / "examples"
    if not (folder / f"{name}.py").is_file():
        raise BadInput(Problem("the SDK's examples are not here", str(folder), "run it in a checkout"))
    if str(folder) not in sys.path:
        sys.path.append(str(folder))
    return importlib.import_module(name)
