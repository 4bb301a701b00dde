"""The SDK's generated headers have the layouts' bytes."""

import importlib.util
import sys
from types import ModuleType

import pytest
from hypothesis import given
from hypothesis import strategies as st

from olafctl import paths
from olafctl.wire import control, layouts
from olafctl.wire.frames import float_bits, pack
from olafctl.wire.layouts import Layout
from olafctl.wire.segmented import OLAF

EMITTED = (OLAF, layouts.STATUS, *control.ALL)


@pytest.fixture(scope="module")
def wire() -> ModuleType:
    """``sdk/olaf/wire.py`` alone: the package around it is not for this environment."""
    spec = importlib.util.spec_from_file_location("olaf_wire", paths.sources() / "sdk/olaf/wire.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("layout", control.ALL, ids=lambda layout: layout.name)
def test_every_control_message_is_whole_bytes_and_ends_with_its_mac(layout: Layout) -> None:
    assert layout.bits % 8 == 0
    assert layout.fields[0].name == "action"
    assert layout.fields[-1].name == "mac"


@given(data=st.data())
@pytest.mark.parametrize("layout", EMITTED, ids=lambda layout: layout.name)
def test_the_sdk_packs_as_the_layouts_say(wire: ModuleType, layout: Layout, data: st.DataObject) -> None:
    fields = {
        field.name: data.draw(st.integers(0, (1 << field.bits) - 1), field.name) for field in layout.fields
    }
    values = {
        field.name: fields[field.name].to_bytes(field.bits // 8, "big")
        if field.bits > 64
        else fields[field.name]
        for field in layout.fields
    }
    if "reward" in values:
        values["reward"] = data.draw(st.floats(width=32, allow_nan=False), "reward")
        fields["reward"] = float_bits(values["reward"])
    header = getattr(wire, "".join(word.capitalize() for word in layout.name.split("_")))
    assert header(**values).pack() == pack(layout, fields)
    assert header.unpack(pack(layout, fields)) == header(**values)
