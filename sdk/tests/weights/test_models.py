"""Models of every kind: what a player installs has the bits that were published."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest

from olaf.transport.virtual import VirtualNetwork
from olaf.weights import OtherLayout, Publisher, Subscriber
from olaf.weights.models import Source, model_of
from tests.testnet import free_udp_ports
from tests.weights.fan import PUBLISHER, Engine, player_address


def carried(published: Source, *played: Source, dtype: str | None = None) -> list[Subscriber]:
    """Return players that have adopted what was published."""
    engine = Engine()
    network = VirtualNetwork(engine, epoch=10**18)
    publisher = Publisher("10.0.1.1:20300", published, dtype=dtype, mtu=1500, port=network.port(PUBLISHER))
    players = []
    for number, model in enumerate(played):
        engine.members.append(player_address(number))
        port = network.port(engine.members[-1])
        players.append(Subscriber(f"{PUBLISHER[0]}:20300", model, dtype=dtype, port=port))
    publisher.publish()
    network.run(2.0)
    for player in players:
        assert player.adopt() == 1
    return players


def test_tied_strided_and_special_values_are_equal_bits() -> None:
    values = np.array([[0.0, -0.0, np.nan], [np.inf, 1e-45, 1.0]], np.float32)
    values.view(np.uint32)[0, 2] = 0x7FA00001  # a signalling NaN
    shared = np.arange(6, dtype=np.int64)
    published: dict[str, Any] = {
        "strided": np.asfortranarray(values),
        "bytes": np.arange(-3, 3, dtype=np.int8),
        "a": shared,
        "b": shared,
        "half": values.astype(np.float16),
        "empty": np.zeros((0, 4), np.float32),
        "flag": np.array([True, False]),
    }
    target = np.zeros(6, np.int64)
    played = {
        name: np.zeros((2 * array.shape[0], *array.shape[1:]), array.dtype)[::2]
        for name, array in published.items()
    }
    played["a"] = played["b"] = target
    carried(published, played)
    for name, array in published.items():
        assert np.ascontiguousarray(played[name]).tobytes() == np.ascontiguousarray(array).tobytes(), name


def test_a_file_of_safetensors_is_replaced_whole(tmp_path: Path) -> None:
    def write(path: Path, value: float) -> None:
        body = np.full(5, value, np.float32).tobytes() + np.arange(3, dtype=np.int16).tobytes()
        head = {"w": {"dtype": "F32", "shape": [5], "data_offsets": [0, 20]},
                "__metadata__": {"format": "pt"},
                "n": {"dtype": "I16", "shape": [3], "data_offsets": [20, 26]}}  # fmt: skip
        text = json.dumps(head).encode()
        path.write_bytes(len(text).to_bytes(8, "little") + text + body)

    source, target = tmp_path / "a.safetensors", tmp_path / "b.safetensors"
    write(source, 2.5)
    write(target, 0.0)
    carried(source, target)
    head = target.read_bytes()[8:]
    assert json.loads(head[: head.index(b"}}") + 2])["__metadata__"]["format"] == "pt"
    assert model_of(target, None).read()[4].view(np.float32).tolist() == [2.5] * 5
    assert list(tmp_path.iterdir()).count(target) == len(list(tmp_path.iterdir())) - 1


def file_of(path: Path, tensors: dict[str, tuple[str, list[int], bytes]], **metadata: str) -> Path:
    """Write a file of safetensors: type, shape and bytes by name."""
    head: dict[str, Any] = {"__metadata__": metadata} if metadata else {}
    end = 0
    for name, (kind, shape, body) in tensors.items():
        head[name] = {"dtype": kind, "shape": shape, "data_offsets": [end, end + len(body)]}
        end += len(body)
    text = json.dumps(head).encode()
    path.write_bytes(len(text).to_bytes(8, "little") + text + b"".join(body for *_, body in tensors.values()))
    return path


@pytest.mark.parametrize(
    ("kept", "metadata"),
    [("embed", {"format": "pt"}), ("head", {"embed": "head"})],  # save_pretrained's, save_model's
)
def test_a_file_that_dropped_a_tied_head_and_the_module_carry_each_other(
    tmp_path: Path, kept: str, metadata: dict[str, str]
) -> None:
    shared, zero = np.arange(6, dtype=np.float32), np.zeros(6, np.float32)
    tied = {"embed": shared, "head": shared}
    path = file_of(tmp_path / "a.safetensors", {kept: ("F32", [6], zero.tobytes())}, **metadata)
    carried(tied, path)
    assert path.read_bytes().endswith(shared.tobytes())
    head = json.loads(path.read_bytes()[8:].partition(b"}}")[0] + b"}}")
    assert metadata.items() <= head["__metadata__"].items()
    assert head.keys() == {"__metadata__", kept}
    played = {"embed": zero, "head": zero}
    carried(path, played)
    assert np.array_equal(played["embed"], shared)


@pytest.mark.parametrize("kind", ["F8_E8M0", "F8_E4M3FNUZ", "C64"])
def test_types_without_a_numpy_name_are_carried_as_bits(tmp_path: Path, kind: str) -> None:
    width = 8 if kind == "C64" else 1
    body = bytes(range(8 * width))
    source = file_of(tmp_path / "a.safetensors", {"w": (kind, [8], body)})
    target = file_of(tmp_path / "b.safetensors", {"w": (kind, [8], bytes(8 * width))})
    carried(source, target, dtype="bfloat16")
    assert target.read_bytes().endswith(body)


@pytest.mark.parametrize("kind", ["F4", "F6_E2M3", "F6_E3M2", "X9"])
def test_types_of_parts_of_bytes_are_refused_by_the_tensors_name(tmp_path: Path, kind: str) -> None:
    path = file_of(tmp_path / "a.safetensors", {"w.q": (kind, [8], bytes(6))})
    with pytest.raises(OtherLayout, match=f"w.q is of type {kind}, whose elements are not whole bytes"):
        model_of(path, None)


def test_the_same_count_in_another_shape_is_refused() -> None:
    model = {"w": np.zeros((2, 6), np.float32)}
    with Publisher("127.0.0.1:9", model, local="127.0.0.1:0") as publisher:
        model["w"] = model["w"].reshape(3, 4)
        with pytest.raises(OtherLayout, match=r"w \(F32 \[2, 6\]\) has become w \(F32 \[3, 4\]\)"):
            publisher.publish()


def test_an_optimiser_is_no_model() -> None:
    class Adam:
        param_groups: ClassVar[list[Any]] = []

    with pytest.raises(OtherLayout, match="Adam is an optimiser; give the module that it trains"):
        Publisher("127.0.0.1:9", Adam())


WRITER = """
import sys
from itertools import count
from olaf.weights.models import model_of
model = model_of(sys.argv[1], None)
state = model.read()
for number in count(1):
    state[4][:] = number
    model.write(state, model.layout.own)
    print(number, flush=True)
"""


def test_a_player_killed_while_it_installs_leaves_one_version_in_its_file(tmp_path: Path) -> None:
    path, values = tmp_path / "x.safetensors", 200_000
    head = json.dumps({"w": {"dtype": "U32", "shape": [values], "data_offsets": [0, 4 * values]}}).encode()
    path.write_bytes(len(head).to_bytes(8, "little") + head + bytes(4 * values))
    for kill_after in (1, 2, 3):
        writer = subprocess.Popen([sys.executable, "-c", WRITER, str(path)], stdout=subprocess.PIPE)
        assert writer.stdout is not None
        for _ in range(kill_after):
            writer.stdout.readline()
        writer.kill()  # it is writing the next one
        writer.communicate()
        assert len(set(model_of(path, None).read()[4].tolist())) == 1


@pytest.mark.parametrize(
    "damage", [b"", b"\xff" * 8, b"\x02" + bytes(7) + b"[]", b"\x04" + bytes(7) + b"{{{{"]
)
def test_a_file_that_is_damaged_is_refused_in_one_line(tmp_path: Path, damage: bytes) -> None:
    path = tmp_path / "x.safetensors"
    path.write_bytes(damage)
    with pytest.raises(OtherLayout, match=r"x\.safetensors|no values"):
        model_of(path, None)


def test_numpy_rounds_to_bfloat16_as_torch_does() -> None:
    torch = pytest.importorskip("torch")
    values = np.random.default_rng(0).integers(0, 2**32, 10_000, np.uint32).view(np.float32)
    ours = model_of({"w": values}, "bfloat16").read()[2]
    theirs = torch.from_numpy(values.copy()).to(torch.bfloat16).view(torch.int16).numpy().view(np.uint16)
    numbers = ~np.isnan(values)
    assert np.array_equal(ours[numbers], theirs[numbers])


def test_a_module_plays_what_another_one_published() -> None:
    torch = pytest.importorskip("torch")

    def module() -> Any:
        model = torch.nn.Sequential(
            torch.nn.Embedding(11, 6), torch.nn.BatchNorm1d(6), torch.nn.Linear(6, 11)
        )
        model[2].weight = model[0].weight  # tied
        return model

    published, played, arrays = module(), module(), {}
    carried(published, played, dtype="bfloat16")
    for name, tensor in published.state_dict().items():
        wanted = tensor.to(torch.bfloat16).to(tensor.dtype) if tensor.is_floating_point() else tensor
        assert torch.equal(played.state_dict()[name], wanted), name
    assert played[2].weight is played[0].weight
    eight = {"w": torch.arange(32, dtype=torch.uint8).view(torch.float8_e4m3fn).reshape(4, 8).t()}
    arrays["w"] = torch.zeros(8, 4).to(torch.float8_e4m3fn)
    carried(eight, arrays)
    assert torch.equal(arrays["w"].view(torch.uint8), eight["w"].contiguous().view(torch.uint8))


def test_other_tensors_are_refused_by_the_player() -> None:
    engine = Engine()
    network = VirtualNetwork(engine, epoch=10**18)
    publisher = Publisher("10.0.1.1", {"w": np.zeros(9, np.float32)}, mtu=1500, port=network.port(PUBLISHER))
    engine.members.append(player_address(0))
    port = network.port(player_address(0))
    player = Subscriber(PUBLISHER[0], {"w": np.zeros(8, np.float32)}, port=port)
    publisher.publish()
    network.run(1.0)
    with pytest.raises(OtherLayout, match=r"10\.0\.0\.254:20300 publishes other tensors"):
        player.adopt()


@pytest.mark.parametrize("model", [{}, {"x": np.array(["text"])}, 7])
def test_what_is_no_model_is_refused(model: Any) -> None:
    with pytest.raises(OtherLayout):
        model_of(model, None)


def test_the_ranks_of_a_sharded_module_publish_together_and_play_their_shards(tmp_path: Path) -> None:
    torch = pytest.importorskip("torch", reason="needs torch: pip install olaf[torch]")
    pytest.importorskip("torch.distributed.fsdp")
    from tests.weights.sharded import step, whole

    own, player = (f"127.0.0.1:{port}" for port in free_udp_ports(2))
    command = [sys.executable, "-m", "tests.weights.sharded"]
    arguments = [str(tmp_path / "store"), own, player]
    folder = Path(__file__).parents[2]
    ranks = [
        subprocess.Popen([*command, str(rank), *arguments], cwd=folder, stdin=subprocess.PIPE)
        for rank in (0, 1)
    ]
    played, trained = whole(3), whole(1)
    step(trained)
    with Subscriber(own, played, local=player) as sub:
        assert sub.await_version(2, 240.0)
        assert sub.adopt() == 2
    for rank in ranks:
        rank.communicate(b"\n")
    assert [rank.wait(120) for rank in ranks] == [0, 0]
    for one, other in zip(played.parameters(), trained.parameters()):
        assert torch.equal(one, other)
