"""The quick decoder says what protobuf says, of every message."""

import random

from hypothesis import given, settings
from hypothesis import strategies as st
from p4.v1 import p4runtime_pb2

from olafctl.p4runtime import wire
from olafctl.p4runtime.agent import quick
from olafctl.p4runtime.agent.quick import Malformed
from tests.p4runtime import messages


@settings(max_examples=400, deadline=None)
@given(st.integers(0, 1 << 62), st.booleans())
def test_quick_and_thorough_agree(seed: int, broken: bool) -> None:
    rng = random.Random(seed)
    data = messages.write_request(rng, 10)
    if broken:
        data = messages.damaged(rng, data)
    try:
        expected = quick._thorough(data)
    except Malformed:
        expected = None
    try:
        got = quick.write_request(data)
    except Malformed:
        got = None
    assert got == expected


def test_common_entries_need_no_protobuf() -> None:
    request = p4runtime_pb2.WriteRequest(device_id=1)
    request.election_id.low = 3
    request.updates.append(messages.update("INSERT", messages.ENTRY))
    decoded = quick._quick(request.SerializeToString())
    assert isinstance(decoded.updates[0], tuple)
    assert decoded.election_id == 3


@given(
    st.lists(
        st.tuples(
            st.integers(1, 1 << 28), st.integers(1, (1 << 64) - 1) | st.binary(min_size=1, max_size=300)
        )
    )
)
def test_what_is_written_is_read(fields: list[tuple[int, int | bytes]]) -> None:
    data = b"".join(
        wire.number(number, value) if isinstance(value, int) else wire.message(number, value)
        for number, value in fields
    )
    assert wire.fields(data) == fields
