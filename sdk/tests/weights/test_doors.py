"""Doors to other libraries: installed ones where they install, and recorded signatures of the others."""

from __future__ import annotations

import inspect
import json
import subprocess
import sys
import types
from importlib import import_module
from pathlib import Path
from typing import Any, ClassVar, Generic, TypeVar

import pytest

from olaf.errors import OlafError
from olaf.transport.virtual import VirtualNetwork
from olaf.weights import OtherLayout, Publisher, adopt_into
from tests.network import free_udp_ports
from tests.weights.fan import PUBLISHER, Engine, player_address

torch = pytest.importorskip("torch", reason="needs torch: pip install olaf[torch]")
nn = torch.nn
Initial = TypeVar("Initial")
Update = TypeVar("Update")


def small(seed: int) -> Any:
    torch.manual_seed(seed)
    model = nn.Sequential(nn.Embedding(7, 4), nn.Linear(4, 7, bias=False))
    model[1].weight = model[0].weight  # tied
    return model


def engines(quantised: bool = False) -> Any:
    """What an inference engine makes of ``small``: one fused tensor, and a loader of checkpoint names."""
    served = nn.Module()
    served.fused = nn.Parameter(torch.zeros(7, 4))
    served.quant_method = type("Fp8Method" if quantised else "UnquantizedLinearMethod", (), {})()
    served.loads = []

    def load(tensors: Any) -> None:
        named = dict(tensors)
        served.loads.append(sorted(named))
        if "0.weight" in named:  # as vLLM's models do with tied weights, it ignores the other name
            with torch.no_grad():
                served.fused.copy_(named["0.weight"])

    served.load_weights = load
    return served


def same(served: Any, trained: Any) -> bool:
    return bool(torch.equal(served.fused, trained[0].weight))


@pytest.fixture
def published() -> Any:
    """A publisher on a real port, and what a player needs."""
    trained = small(1)
    with Publisher("127.0.0.1", trained, multicast=False) as publisher:
        yield publisher, trained, {"where": publisher.address, "layout": publisher.layout}


@pytest.fixture
def recorded_vllm(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """vLLM 0.33's weight transfer as far as the door uses it; returns the calls of its layerwise reload."""

    class WeightTransferEngine(Generic[Initial, Update]):
        def __init__(self, config: Any, vllm_config: Any, device: Any, model: Any) -> None:
            self.config, self.device, self.model = config, device, model
            self.parallel_config, self.model_config = vllm_config.parallel_config, vllm_config.model_config

        def update_weights(self, update_info: dict[str, Any]) -> None:
            engine: Any = self
            engine.receive_weights(engine.update_info_cls(**update_info))

    class WeightTransferEngineFactory:
        _registry: ClassVar[dict[str, Any]] = {}

        @classmethod
        def register_engine(cls, name: str, module_path_or_cls: Any, class_name: str | None = None) -> None:
            if name in cls._registry:
                raise ValueError(name)
            cls._registry[name] = module_path_or_cls

    calls: list[str] = []
    base = {
        "WeightTransferEngine": WeightTransferEngine,
        "WeightTransferInitInfo": type("WeightTransferInitInfo", (), {}),
        "WeightTransferUpdateInfo": type("WeightTransferUpdateInfo", (), {}),
    }
    reload = {
        "initialize_layerwise_reload": lambda model: calls.append("initialize"),
        "finalize_layerwise_reload": lambda model, model_config: calls.append("finalize"),
    }
    modules: dict[str, dict[str, Any]] = {
        "vllm.distributed.weight_transfer.base": base,
        "vllm.distributed.weight_transfer.factory": {
            "WeightTransferEngineFactory": WeightTransferEngineFactory
        },
        "vllm.model_executor.model_loader.reload": reload,
    }
    for name, content in modules.items():
        parts = name.split(".")
        for end in range(1, len(parts)):
            parent = ".".join(parts[:end])
            monkeypatch.setitem(sys.modules, parent, types.ModuleType(parent))
        module = types.ModuleType(name)
        vars(module).update(content)
        monkeypatch.setitem(sys.modules, name, module)
    monkeypatch.delitem(sys.modules, "olaf.weights.vllm", raising=False)
    return calls


@pytest.mark.parametrize("quantised", [False, True])
def test_vllms_door_loads_each_version_and_all_of_it_where_weights_are_rewritten(
    recorded_vllm: list[str], published: Any, quantised: bool
) -> None:
    door = import_module("olaf.weights.vllm")
    publisher, trained, where = published
    door.register()
    door.register()
    served = engines(quantised)
    parallel = types.SimpleNamespace(world_size=1)
    config = types.SimpleNamespace(parallel_config=parallel, model_config=None)
    factory: Any = sys.modules["vllm.distributed.weight_transfer.factory"]
    engine = factory.WeightTransferEngineFactory._registry["olaf"](None, config, "cpu", served)
    with pytest.raises(RuntimeError, match="init_weight_transfer_engine"):
        engine.update_weights({"version": 1})
    engine.init_transfer_engine(door.InitInfo(**where))
    for _ in range(2):
        with torch.no_grad():
            trained[0].weight[2] += 1
        engine.start_weight_update()
        engine.update_weights({"version": publisher.publish()})
        engine.finish_weight_update()
        assert same(served, trained)
    assert served.loads == [["0.weight", "1.weight"]] * 2
    assert recorded_vllm == (["initialize", "finalize"] * 2 if quantised else [])
    with pytest.raises(OlafError, match="version 9 has not come"):
        engine.update_weights({"version": 9, "seconds": 0.05})
    engine.shutdown()


def test_vllms_entry_point_is_declared() -> None:
    text = (Path(__file__).parents[2] / "pyproject.toml").read_text()
    assert '[project.entry-points."vllm.general_plugins"]\nolaf = "olaf.weights.vllm:register"' in text


def test_sglangs_door_pauses_loads_and_continues(published: Any) -> None:
    from olaf.weights import sglang as door

    publisher, trained, where = published
    served, calls = engines(), []

    class RecordedEngine:
        """``sglang.Engine`` 0.5.23, as far as the door uses it."""

        def pause_generation(self, mode: str) -> None:
            calls.append(mode)

        def continue_generation(self) -> None:
            calls.append("continue")

        def update_weights_from_tensor(
            self, named_tensors: Any, load_format: str | None = None, flush_cache: bool = True
        ) -> tuple[bool, str]:
            assert (load_format, flush_cache) == ("olaf.weights.sglang.load", True)
            try:
                door.load(served, named_tensors)
            except OlafError as error:
                return False, str(error)
            return True, "Success"

    for _ in range(2):
        with torch.no_grad():
            trained[0].weight[1] -= 1
        door.update(RecordedEngine(), publisher.publish(), **where)
        assert same(served, trained)
    with pytest.raises(RuntimeError, match="did not take version 9: version 9 has not come"):
        door.update(RecordedEngine(), 9, seconds=0.05, **where)
    assert calls == ["retract", "continue"] * 3
    for player, _ in door._players.values():
        player.close()
    door._players.clear()


def test_trls_callback_publishes_what_training_begins_with_and_every_step() -> None:
    pytest.importorskip("trl", reason="needs TRL: pip install trl")
    transformers = pytest.importorskip("transformers")
    from olaf.weights.trl import Publish

    first, second = free_udp_ports(2)
    config = transformers.GPT2Config(vocab_size=11, n_positions=8, n_embd=4, n_layer=1, n_head=1)
    model, played = (transformers.GPT2LMHeadModel(config) for _ in range(2))
    callback = Publish(f"127.0.0.1:{second}", local=f"127.0.0.1:{first}", multicast=False, dtype="bfloat16")
    handler = transformers.trainer_callback.CallbackHandler([callback], model, None, None, None)
    state = transformers.TrainerState(), transformers.TrainerControl()
    with adopt_into(played, f"127.0.0.1:{first}", local=f"127.0.0.1:{second}", dtype="bfloat16") as sub:
        handler.on_train_begin(None, *state)
        with torch.no_grad():
            model.lm_head.weight[3] += 1
        handler.on_step_end(None, *state)
        assert sub.await_version(2, 30.0)
        sub.adopt()
        handler.on_train_end(None, *state)
    assert callback.publisher is None
    wanted = model.lm_head.weight.to(torch.bfloat16).to(torch.float32)
    assert torch.equal(played.lm_head.weight, wanted)
    assert played.transformer.wte.weight is played.lm_head.weight


@pytest.mark.parametrize(
    "hold",
    [
        lambda module: module,
        lambda module: types.SimpleNamespace(policy=module),  # Stable-Baselines3
        lambda module: types.SimpleNamespace(get_module=lambda: module),  # RLlib's algorithms
        lambda module: types.SimpleNamespace(module=module, get_module=None),  # RLlib's runners and learners
    ],
)
def test_a_player_of_any_library_takes_two_lines(hold: Any) -> None:
    engine = Engine()
    network = VirtualNetwork(engine, epoch=10**18)
    trained, played = small(1), small(2)
    publisher = Publisher("10.0.1.1:20300", trained, mtu=1500, port=network.port(PUBLISHER))
    engine.members.append(player_address(0))
    player = adopt_into(hold(played), f"{PUBLISHER[0]}:20300", port=network.port(player_address(0)))
    publisher.publish()
    network.run(2.0)
    assert player.adopt() == 1
    assert torch.equal(played[0].weight, trained[0].weight)
    with pytest.raises(OtherLayout, match="int holds no torch module"):
        adopt_into(7, "10.0.0.1")


def test_an_engine_of_two_ranks_has_one_player(tmp_path: Path, published: Any) -> None:
    publisher, trained, where = published
    command = [sys.executable, "-m", "tests.weights.ranked", str(tmp_path / "store"), json.dumps(where)]
    folder = Path(__file__).parents[2]
    ranks = [
        subprocess.Popen([*command, str(rank)], cwd=folder, stdout=subprocess.PIPE, text=True)
        for rank in (0, 1)
    ]
    publisher.publish()
    sums = [float(rank.communicate(timeout=120)[0]) for rank in ranks]
    assert [rank.returncode for rank in ranks] == [0, 0]
    assert sums == [trained[0].weight.sum().item()] * 2
    assert len(publisher.players) == 1


def test_the_recorded_signatures_are_the_installed_ones() -> None:
    base = pytest.importorskip("vllm.distributed.weight_transfer.base", reason="needs vLLM")
    assert list(inspect.signature(base.WeightTransferEngine.__init__).parameters) == [
        "self", "config", "vllm_config", "device", "model",
    ]  # fmt: skip
