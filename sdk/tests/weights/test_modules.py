"""Torch modules of every kind: a player computes what the publisher computes, or a tensor is named."""

from __future__ import annotations

from typing import Any, Callable

import pytest

from olaf.weights import OtherLayout, Publisher
from tests.weights.test_models import carried

torch = pytest.importorskip("torch", reason="needs torch: pip install olaf[torch]")
nn = torch.nn


class Plain(nn.Module):  # type: ignore[misc, name-defined]
    def __init__(self, seed: int) -> None:
        super().__init__()
        torch.manual_seed(seed)
        self.first, self.second = nn.Linear(4, 4), nn.Linear(4, 4)

    def forward(self, x: Any) -> Any:
        return self.second(torch.relu(self.first(x)))


class Copies(Plain):
    """Hands out copies, as modules do that gather or offload."""

    def state_dict(self, *args: Any, **options: Any) -> Any:
        return {name: value.detach().clone() for name, value in super().state_dict(*args, **options).items()}


class Adapted(Plain):
    """A low-rank adapter, merged into what it hands out."""

    def __init__(self, seed: int) -> None:
        super().__init__(seed)
        self.low, self.high = nn.Parameter(torch.randn(1, 4)), nn.Parameter(torch.randn(4, 1))

    def state_dict(self, *args: Any, **options: Any) -> Any:
        held = super().state_dict(*args, **options)
        held["first.weight"] = held["first.weight"] + held.pop("high") @ held.pop("low")
        return held

    def forward(self, x: Any) -> Any:
        weight = self.first.weight + self.high @ self.low
        return self.second(torch.relu(nn.functional.linear(x, weight, self.first.bias)))


class Scaled(torch.Tensor):  # type: ignore[misc, name-defined]
    """A wrapper, as quantised tensors are: codes times a scale, and no memory of its own."""

    @staticmethod
    def __new__(cls, codes: Any, scale: Any) -> Any:
        return torch.Tensor._make_wrapper_subclass(cls, codes.shape, dtype=scale.dtype)

    def __init__(self, codes: Any, scale: Any) -> None:
        self.codes, self.scale = codes, scale

    def __tensor_flatten__(self) -> Any:
        return ["codes", "scale"], None

    @classmethod
    def __torch_dispatch__(cls, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if function in (torch.ops.aten.detach.default, torch.ops.aten.alias.default):
            return cls(args[0].codes, args[0].scale)
        plain = [each.codes * each.scale if isinstance(each, cls) else each for each in args]
        return function(*plain, **(kwargs or {}))


class Opaque(Scaled):
    __tensor_flatten__ = property()


def wrapped(kind: Any) -> Callable[[int], Any]:
    def make(seed: int) -> Any:
        model = Plain(seed)
        for layer in (model.first, model.second):
            codes = torch.randint(-8, 8, (4, 4), dtype=torch.int8)
            layer.weight = nn.Parameter(kind(codes, torch.rand(())), requires_grad=False)
        return model

    return make


def built(change: Callable[[Any], Any]) -> Callable[[int], Any]:
    def make(seed: int) -> Any:
        model = Plain(seed)
        changed = change(model)
        return model if changed is None else changed

    return make


def tie(model: Any) -> None:
    model.second.weight = model.first.weight


def view(model: Any) -> None:
    """Make both layers' weights parts of one tensor, and one of them transposed."""
    both = torch.randn(8, 4)
    model.first.weight, model.second.weight = nn.Parameter(both[:4]), nn.Parameter(both[4:].t())


def parametrize(model: Any) -> None:
    nn.utils.parametrizations.weight_norm(model.first)
    nn.utils.parametrizations.orthogonal(model.second)


def cast(model: Any) -> None:
    model._register_state_dict_hook(
        lambda module, held, prefix, _: {name: value.double().clone() for name, value in held.items()}
    )


def offload(model: Any) -> None:
    """Let the module say for ever what it was when it was made."""
    held = {name: value.clone() for name, value in model.state_dict().items()}
    model.state_dict = lambda *args, **options: held


CARRIED: dict[str, tuple[Callable[[int], Any], Callable[[int], Any]]] = {
    "tied": (built(tie), built(tie)),
    "views": (built(view), built(view)),
    "views to plain": (built(view), Plain),
    "copies": (Copies, Copies),
    "copies to plain": (Copies, Plain),
    "a hook that casts": (built(cast), built(cast)),
    "a merged adapter to plain": (Adapted, Plain),
    "parametrizations": (built(parametrize), built(parametrize)),
    "a wrapper tensor": (wrapped(Scaled), wrapped(Scaled)),
    "compiled to plain": (built(torch.compile), Plain),
    "a compiled layer": (built(lambda m: setattr(m, "first", torch.compile(m.first))), Plain),
    "data parallel to plain": (built(nn.DataParallel), Plain),
    "double": (built(nn.Module.double), built(nn.Module.double)),
}
REFUSED: dict[str, tuple[Callable[[int], Any], Callable[[int], Any], str]] = {
    "an adapter that the player merges": (Adapted, Adapted, r"first.weight \(F32 \[4, 4\]\) holds other"),
    "stale copies": (Plain, built(offload), r"(first|second)\.\w+ \(F32 \[4.*holds other values"),
    "a wrapper that is opaque": (wrapped(Opaque), wrapped(Opaque), "first.weight is a Opaque, which has no"),
    "tied and not": (Plain, built(tie), "it has 4 tensors, this model 3"),
    "not tied and tied": (built(tie), Plain, r"first difference is at second.weight .*it has 3 tensors"),
    "other types": (Plain, built(nn.Module.half), r"first difference is at first.bias \(F16 \[4\]\)"),
    "no memory": (Plain, built(lambda model: model.to("meta")), "first.weight is on the device meta"),
    "expanded": (
        Plain,
        built(lambda m: setattr(m.first, "bias", nn.Parameter(torch.zeros(1).expand(4)))),
        r"first.bias \(F32 \[4\]\) cannot be written",
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", CARRIED)
@pytest.mark.parametrize("seed", range(3))
def test_a_player_computes_what_the_publisher_computes(case: str, seed: int) -> None:
    publish, play = CARRIED[case]
    published, played = publish(2 * seed), play(2 * seed + 1)
    x = torch.randn(9, 4, dtype=torch.float64 if case == "double" else torch.float32)
    with torch.compiler.set_stance("force_eager"):
        assert not torch.equal(published(x), played(x))
        carried(published, played)
        torch.testing.assert_close(published(x), played(x))  # other strides are other kernels


@pytest.mark.parametrize("case", REFUSED)
def test_what_cannot_be_carried_is_refused_by_the_tensors_name(case: str) -> None:
    publish, play, message = REFUSED[case]
    with pytest.raises(OtherLayout, match=message):
        carried(publish(0), play(1))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda m: setattr(m, "third", nn.Linear(4, 2)), r"third.bias \(F32 \[2\]\) was added"),
        (lambda m: delattr(m, "second"), r"second.bias \(F32 \[4\]\) was removed"),
        (tie, "second.weight is tied to first.weight"),
        (
            lambda m: setattr(m, "first", nn.Linear(2, 8)),
            r"first.bias .* has become first.bias \(F32 \[8\]\)",
        ),
    ],
)
def test_a_structure_that_changes_afterwards_is_refused(change: Any, message: str) -> None:
    model = Plain(0)
    with Publisher("127.0.0.1:9", model, local="127.0.0.1:0") as publisher:
        change(model)
        with pytest.raises(OtherLayout, match=message):
            publisher.publish()


def test_scales_of_quantised_tensors_are_not_rounded() -> None:
    published, played = wrapped(Scaled)(0), wrapped(Scaled)(1)
    carried(published, played, dtype="bfloat16")
    assert torch.equal(published.first.weight.scale, played.first.weight.scale)
