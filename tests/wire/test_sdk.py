"""The SDK's generated headers have the layouts' bytes."""

import importlib.util
import sys
from enum import Enum
from types import ModuleType

import pytest
from hypothesis import given
from hypothesis import strategies as st

from olafctl import paths
from olafctl.wire import control, layouts
from olafctl.wire.control import ControlAction, MemberRole, Reason
from olafctl.wire.frames import float_bits, pack_header
from olafctl.wire.layouts import OLAF, FrameType, HeaderLayout

EMITTED = (OLAF, layouts.STATUS, *control.ALL)


@pytest.fixture(scope="module")
def wire() -> ModuleType:
    """Provide ``sdk/olaf/transport/wire.py`` without its package, which is not for this environment."""
    spec = importlib.util.spec_from_file_location("olaf_wire", paths.sources() / "sdk/olaf/transport/wire.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("layout", control.ALL, ids=lambda layout: layout.name)
def test_every_control_message_is_whole_bytes_with_a_mac(layout: HeaderLayout) -> None:
    assert layout.bits % 8 == 0
    assert layout.fields[0].name == "action"
    assert layout.fields[-1].name == "mac"


@given(data=st.data())
@pytest.mark.parametrize("layout", EMITTED, ids=lambda layout: layout.name)
def test_the_sdk_packs_as_the_layouts_say(
    wire: ModuleType, layout: HeaderLayout, data: st.DataObject
) -> None:
    fields = {
        field.name: data.draw(st.integers(0, (1 << field.bits) - 1), field.name) for field in layout.fields
    }
    values: dict[str, bytes | int | float] = {
        field.name: fields[field.name].to_bytes(field.bits // 8, "big")
        if field.bits > 64
        else fields[field.name]
        for field in layout.fields
    }
    if "reward" in values:
        reward = data.draw(st.floats(width=32, allow_nan=False), "reward")
        values["reward"], fields["reward"] = reward, float_bits(reward)
    header = getattr(wire, "".join(word.capitalize() for word in layout.name.split("_")))
    assert header(**values).pack() == pack_header(layout, fields)
    assert header.unpack(pack_header(layout, fields)) == header(**values)


def test_numbers_on_the_wire_stay_what_they_are() -> None:
    def words(kind: type[Enum]) -> str:
        return " ".join(f"{member.name}={member.value}" for member in kind)

    assert words(FrameType) == "UPDATE=1 ACK=2 CONTROL=3 RESULT=4 INIT=5"
    assert words(ControlAction) == "JOIN=1 LEAVE=2 RESET=3 SET_H=4 FBCAST=5 HELP=6 HALT=7 ACK=8 REPORT=0"
    assert words(MemberRole) == "WORKER=0 SWITCH=1 PARAMETER_SERVER=2 PLAYER=3"
    assert words(Reason) == (
        "OK=0 BAD_MESSAGE=1 UNKNOWN_CLUSTER=2 BAD_MAC=3 OLD_NONCE=4 CLUSTER_FULL=5 WRONG_MODEL_LENGTH=6"
        " NOT_A_MEMBER=7 OBJECTIVE_VIOLATED=8 FAILED=9 CLOCK_AHEAD=10"
    )


def test_the_sdk_has_the_same_numbers(wire: ModuleType) -> None:
    for kind in (FrameType, ControlAction, MemberRole, Reason, layouts.Flag, layouts.StatusFlag):
        assert {member.name: member.value for member in getattr(wire, kind.__name__)} == {
            member.name: member.value for member in kind
        }
