"""Doors to other libraries: installed ones where they install, and recorded signatures of the others."""

from __future__ import annotations

import json
import subprocess
import sys
import types
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from olaf.errors import OlafError
from olaf.transport.virtual import VirtualNetwork
from olaf.weights import OtherLayout, Publisher, adopt_into
from tests.testnet import free_udp_ports
from tests.weights.fan import PUBLISHER, Engine, player_address
from tests.weights.signatures import recorded, signature_of, stand_in

torch = pytest.importorskip("torch", reason="needs torch: pip install olaf[torch]")
nn = torch.nn


def small(seed: int) -> Any:
    torch.manual_seed(seed)
    model = nn.Sequential(nn.Embedding(7, 4), nn.Linear(4, 7, bias=False))
    model[1].weight = model[0].weight  # tied
    return model


def engines(quantised: bool = False) -> Any:
    """Make of ``small`` what an inference engine does: a fused tensor, a loader of checkpoint names."""
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
    """Provide a publisher on a real port, and what a player needs."""
    trained = small(1)
    with Publisher("127.0.0.1", trained, multicast=False) as publisher:
        yield publisher, trained, {"where": publisher.address, "layout": publisher.layout}


@pytest.fixture(params=list(recorded("vllm")))
def vllm(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Provide vLLM's weight transfer as its wheel has it; ``calls`` are those of its layerwise reload."""
    found, calls = recorded("vllm")[request.param], []

    def initialise(self: Any, config: Any, parallel_config: Any = None, vllm_config: Any = None,
                   device: Any = None, model: Any = None) -> None:  # fmt: skip
        self.model = model
        self.parallel_config = parallel_config or vllm_config.parallel_config
        if vllm_config is not None:
            self.device, self.model_config = device, vllm_config.model_config

    bodies: dict[str, Any] = {"__init__": initialise}
    if "update_weights" in found["WeightTransferEngine"]:
        bodies["update_weights"] = lambda self, update_info: self.receive_weights(
            self.update_info_cls(**update_info)
        )
    registry: dict[str, Any] = {}

    def register(cls: Any, name: str, module_path_or_cls: Any, class_name: Any) -> None:
        if registry.setdefault(name, module_path_or_cls) is not module_path_or_cls:
            raise ValueError(name)

    factory: Any = stand_in("Factory", found["WeightTransferEngineFactory"], {})
    factory.register_engine = classmethod(_method(found["WeightTransferEngineFactory"], register))
    factory._registry = registry
    modules: dict[str, dict[str, Any]] = {
        "vllm.distributed.weight_transfer.base": {
            "WeightTransferEngine": stand_in("Engine", found["WeightTransferEngine"], bodies),
            "WeightTransferInitInfo": type("WeightTransferInitInfo", (), {}),
            "WeightTransferUpdateInfo": type("WeightTransferUpdateInfo", (), {}),
        },
        "vllm.distributed.weight_transfer.factory": {"WeightTransferEngineFactory": factory},
        "vllm.model_executor.model_loader.reload": {
            name: lambda *args, name=name: calls.append(name.split("_")[0])
            for name in ("initialize_layerwise_reload", "finalize_layerwise_reload")
            if name in found
        },
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
    return types.SimpleNamespace(calls=calls, registry=registry, methods=found["WeightTransferEngine"])


def _method(methods: Any, body: Any) -> Any:
    """Make a class method with the recorded signature of ``register_engine``."""
    signature = signature_of(methods["register_engine"])

    def call(*args: Any, **options: Any) -> Any:
        bound = signature.bind(*args, **options)
        bound.apply_defaults()
        return body(**bound.arguments)

    return call


@pytest.mark.parametrize("quantised", [False, True])
def test_vllms_door_loads_each_version_and_all_of_it_where_weights_are_rewritten(
    vllm: Any, published: Any, quantised: bool
) -> None:
    door = import_module("olaf.weights.vllm")
    publisher, trained, where = published
    door.register()
    door.register()
    served = engines(quantised)
    parallel = types.SimpleNamespace(world_size=1)
    config = types.SimpleNamespace(parallel_config=parallel, model_config=None)
    kind = vllm.registry["olaf"]
    old = "start_weight_update" not in vllm.methods  # of 0.22, whose worker does more
    engine = kind(None, parallel, served) if old else kind(None, config, "cpu", served)

    def update(**info: Any) -> None:
        if old:
            engine.receive_weights(engine.update_info_cls(**info), load_weights=served.load_weights)
            return
        engine.start_weight_update()
        engine.update_weights(info)
        engine.finish_weight_update()

    with pytest.raises(RuntimeError, match="init_weight_transfer_engine"):
        update(version=1)
    vllm.calls.clear()
    engine.init_transfer_engine(door.InitInfo(**where))
    for _ in range(2):
        with torch.no_grad():
            trained[0].weight[2] += 1
        update(version=publisher.publish(), line=publisher.line)
        assert same(served, trained)
    assert served.loads == [["0.weight", "1.weight"]] * 2
    assert vllm.calls == (["initialize", "finalize"] * 2 if quantised and not old else [])
    with pytest.raises(OlafError, match="version 9 has not come"):
        update(version=9, seconds=0.05)
    with pytest.raises(OlafError, match="version 2 has not come"):  # of another run
        update(version=2, line=publisher.line - 1, seconds=0.05)
    engine.shutdown()


def test_vllms_entry_point_is_declared() -> None:
    text = (Path(__file__).parents[2] / "pyproject.toml").read_text()
    assert '[project.entry-points."vllm.general_plugins"]\nolaf = "olaf.weights.vllm:register"' in text


@pytest.mark.parametrize("version", list(recorded("sglang")))
@pytest.mark.parametrize("pauses", [False, True])
def test_sglangs_door_loads_in_a_session_where_there_are_sessions(
    published: Any, version: str, pauses: bool
) -> None:
    from olaf.weights import sglang as door

    publisher, trained, where = published
    methods = recorded("sglang")[version]["Engine"]
    served, calls, open_ = engines(), [], [False]

    def update(self: Any, named_tensors: Any, load_format: str, flush_cache: bool) -> tuple[bool, str]:
        assert (load_format, flush_cache) == ("olaf.weights.sglang.load", True)
        if "begin_weight_update" in methods and not open_[0]:
            return False, "begin_weight_update() must be called first"
        try:
            door.load(served, named_tensors)
        except OlafError as error:
            return False, str(error)
        return True, "Success"

    def session(begins: bool) -> tuple[bool, str]:
        open_[0] = begins
        calls.append("begin" if begins else "end")
        return True, ""

    bodies: dict[str, Any] = {"update_weights_from_tensor": update}
    if "begin_weight_update" in methods:
        bodies["begin_weight_update"] = lambda self, selector: session(True)
        bodies["end_weight_update"] = lambda self: session(False)
    engine: Any = stand_in("Engine", methods, bodies)()
    if pauses:  # an engine behind HTTP: routes of the server
        engine.pause_generation = calls.append
        engine.continue_generation = lambda: calls.append("continue")
    for _ in range(2):
        with torch.no_grad():
            trained[0].weight[1] -= 1
        door.update(engine, publisher.publish(), line=publisher.line, **where)
        assert same(served, trained)
    with pytest.raises(RuntimeError, match="did not take version 9: version 9 has not come"):
        door.update(engine, 9, seconds=0.05, **where)
    inner = ["begin", "end"] if "begin_weight_update" in methods else []
    assert calls == (["retract", *inner, "continue"] if pauses else inner) * 3
    for player, _ in door._players.values():
        player.close()
    door._players.clear()


def test_trainers_still_call_what_the_callback_has() -> None:
    for found in recorded("transformers").values():
        for name in ("on_train_begin", "on_step_end", "on_train_end"):
            signature_of(found["TrainerCallback"][name]).bind("self", "args", "state", "control", model=1)
    for found in recorded("trl").values():
        assert "callbacks=" in found["GRPOTrainer"]["__init__"]["parameters"].split()


@pytest.mark.parametrize("rank", [0, 1])
def test_of_a_replicated_model_rank_0_alone_publishes(rank: int, monkeypatch: pytest.MonkeyPatch) -> None:
    if find_spec("transformers") is None:  # its callback adds nothing that this test needs
        module: Any = types.ModuleType("transformers")
        module.TrainerCallback = object
        monkeypatch.setitem(sys.modules, "transformers", module)
        monkeypatch.delitem(sys.modules, "olaf.weights.trl", raising=False)
    door = import_module("olaf.weights.trl")
    callback = door.Publish("127.0.0.1:9", local="127.0.0.1:0", multicast=False)
    state = types.SimpleNamespace(is_world_process_zero=rank == 0)
    callback.on_train_begin(None, state, None, model=small(1))
    callback.on_step_end(None, state, None)
    assert (callback.publisher.version if callback.publisher else None) == (2 if rank == 0 else None)
    callback.on_train_end(None, state, None)


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


def test_the_pages_names_need_no_other_import_than_olaf() -> None:
    names = ["olaf.weights.adopt_into", "olaf.weights.sglang.load", "olaf.weights.TooStale"]
    script = "import olaf; " + "; ".join(names)
    assert subprocess.run([sys.executable, "-c", script], cwd=Path(__file__).parents[2]).returncode == 0
