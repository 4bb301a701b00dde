"""Signatures of the libraries behind the doors, recorded from their wheels, and stand-ins made of them.

To record them again (a wheel is unpacked and parsed, never imported, so no GPU is needed):

    pip download --no-deps --only-binary :all: -d WHEELS vllm==0.33.0 sglang==0.5.23 …
    python -m tests.weights.signatures WHEELS
"""

from __future__ import annotations

import ast
import inspect
import json
import sys
import types
from abc import ABC, abstractmethod
from pathlib import Path
from typing import Any, Callable, Generic, TypeVar
from zipfile import ZipFile

RECORD = Path(__file__).with_name("signatures.json")
_TRANSFER = "vllm/distributed/weight_transfer"
WANTED = {
    "vllm": {
        f"{_TRANSFER}/base.py": [
            "WeightTransferEngine",
            "WeightTransferInitInfo",
            "WeightTransferUpdateInfo",
        ],
        f"{_TRANSFER}/factory.py": ["WeightTransferEngineFactory"],
        "vllm/model_executor/model_loader/reload/layerwise.py": [
            "initialize_layerwise_reload",
            "finalize_layerwise_reload",
        ],
    },
    "sglang": {"sglang/srt/entrypoints/engine.py": ["Engine"]},
    "trl": {"trl/trainer/grpo_trainer.py": ["GRPOTrainer"]},
    "transformers": {
        "transformers/trainer_callback.py": ["TrainerCallback", "CallbackHandler", "TrainerState"]
    },
}
_METHODS = {
    "Engine": ("generation", "weight_update", "update_weights_from_tensor"),
    "GRPOTrainer": ("__init__",),
    "TrainerCallback": ("on_train_begin", "on_train_end", "on_step_end"),
    "CallbackHandler": ("__init__", "call_event", "on_train_begin", "on_step_end", "on_train_end"),
    "TrainerState": ("is_world_process_zero",),
}
"""Classes with the words that names of recorded methods contain; others are recorded whole."""
Signature = dict[str, Any]


def record_wheel(wheel: Path) -> dict[str, Any]:
    """Parse what the doors use of one wheel."""
    found: dict[str, Any] = {}
    with ZipFile(wheel) as archive:
        for path, names in WANTED[wheel.name.split("-")[0]].items():
            for node in ast.parse(archive.read(path)).body:
                if isinstance(node, ast.ClassDef) and node.name in names:
                    found[node.name] = _class(node)
                elif isinstance(node, ast.FunctionDef) and node.name in names:
                    found[node.name] = _function(node)
    return found


def _class(node: ast.ClassDef) -> dict[str, Signature]:
    parts = _METHODS.get(node.name, ("",))
    return {
        each.name: _function(each)
        for each in node.body
        if isinstance(each, ast.FunctionDef) and any(part in each.name for part in parts)
    }


def _function(node: ast.FunctionDef) -> Signature:
    arguments = node.args
    optional = len(arguments.args) - len(arguments.defaults)
    parameters = [each.arg + "=" * (place >= optional) for place, each in enumerate(arguments.args)]
    parameters += [f"*{arguments.vararg.arg}"] if arguments.vararg else []
    parameters += [f"**{arguments.kwarg.arg}"] if arguments.kwarg else []
    decorators = {each.id for each in node.decorator_list if isinstance(each, ast.Name)}
    signature: Signature = {"parameters": " ".join(parameters)}
    signature.update((each, True) for each in ("abstractmethod", "staticmethod") if each in decorators)
    return signature


def recorded(library: str) -> dict[str, dict[str, Any]]:
    """Return what was recorded of a library, by version."""
    record: dict[str, dict[str, Any]] = json.loads(RECORD.read_text())
    return {name.partition(" ")[2]: found for name, found in record.items() if name.split()[0] == library}


def signature_of(recorded: Signature) -> inspect.Signature:
    """Make a signature that binds arguments as the recorded function does."""
    kinds = {"**": inspect.Parameter.VAR_KEYWORD, "*": inspect.Parameter.VAR_POSITIONAL}
    parameters = []
    for text in recorded["parameters"].split():
        stars = text[: len(text) - len(text.lstrip("*"))]
        kind = kinds.get(stars, inspect.Parameter.POSITIONAL_OR_KEYWORD)
        default = None if text.endswith("=") else inspect.Parameter.empty
        parameters.append(inspect.Parameter(text.strip("*="), kind, default=default))
    return inspect.Signature(parameters)


def stand_in(name: str, methods: dict[str, Signature], bodies: dict[str, Callable[..., Any]]) -> type:
    """Make a class with exactly the recorded methods; ``bodies`` get their bound arguments.

    A call that the library would not take raises TypeError here, too, and so does a class that leaves an
    abstract method out. Raises KeyError for a body of a method that does not exist.
    """
    content: dict[str, Any] = {}
    for method, recorded in methods.items():
        content[method] = _method(signature_of(recorded), bodies.pop(method, None))
        if recorded.get("abstractmethod"):
            content[method] = abstractmethod(content[method])
        if recorded.get("staticmethod"):
            content[method] = staticmethod(content[method])
    if bodies:
        raise KeyError(f"{name} has no {', '.join(bodies)}")
    bases = Generic[TypeVar("Initial"), TypeVar("Update")]  # type: ignore[index]
    return types.new_class(name, (ABC, bases), exec_body=lambda space: space.update(content))


def _method(signature: inspect.Signature, body: Callable[..., Any] | None) -> Callable[..., Any]:
    def call(*args: Any, **options: Any) -> Any:
        bound = signature.bind(*args, **options)
        bound.apply_defaults()
        return None if body is None else body(**bound.arguments)

    return call


def main(folder: str) -> None:
    wheels = sorted(Path(folder).glob("*.whl"))
    found = {" ".join(wheel.name.split("-")[:2]): record_wheel(wheel) for wheel in wheels}
    lines = (f"{json.dumps(name)}: {json.dumps(one, sort_keys=True)}" for name, one in found.items())
    RECORD.write_text("{\n" + ",\n".join(lines) + "\n}\n")


if __name__ == "__main__":
    main(sys.argv[1])
