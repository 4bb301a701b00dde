"""The fast path decodes every message as protobuf does."""

import random
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st
from p4.v1 import p4runtime_pb2

from olafctl.p4runtime import fast_path
from olafctl.p4runtime.fast_path import Malformed
from tests.p4runtime import messages
from tests.p4runtime.controller import update


def _with_protobuf(data: bytes) -> Any:
    request = fast_path._thorough(fast_path.parse(p4runtime_pb2.WriteRequest, data))
    parse = fast_path.parse
    return request, [
        fast_path._plain_or_message(parse(p4runtime_pb2.Update, each)) for each in request.updates
    ]


def _with_fast_path(data: bytes) -> Any:
    request = fast_path.request(p4runtime_pb2.WriteRequest, data)
    return request, [fast_path.update(each) for each in request.updates]


@settings(max_examples=400)
@given(st.integers(0, 1 << 62), st.booleans())
def test_fast_path_and_protobuf_agree(seed: int, broken: bool) -> None:
    rng = random.Random(seed)
    data = messages.write_request(rng, 10)
    if broken:
        data = messages.damaged(rng, data)
    try:
        expected, updates = _with_protobuf(data)
    except Malformed:
        expected, updates = None, None
    try:
        got, decoded = _with_fast_path(data)
        # The same update may be encoded in more ways than one.
        got.updates = expected.updates if expected else []
    except Malformed:
        got, decoded = None, None
    assert (got, decoded) == (expected, updates)


def test_common_entries_need_no_protobuf() -> None:
    request = p4runtime_pb2.WriteRequest(device_id=1)
    request.election_id.low = 3
    request.updates.append(update("INSERT", messages.ENTRY))
    outermost = fast_path._outermost(request.SerializeToString())
    assert outermost.election_id == 3
    assert fast_path.plain_update(outermost.updates[0])[1].table_id


def test_the_sender_of_a_pipeline_is_read_without_its_pipeline() -> None:
    kind = p4runtime_pb2.SetForwardingPipelineConfigRequest
    message = kind(device_id=7, role="r", action=kind.VERIFY)
    message.election_id.high = 2
    # Whatever the configuration holds: it is not decoded.
    data = message.SerializeToString() + fast_path.message(5, b"\xff" * 100)
    sender = fast_path.request(kind, data)
    assert (sender.device_id, sender.role, sender.election_id) == (7, "r", 2 << 64)


@given(
    st.lists(
        st.tuples(
            st.integers(1, 1 << 28), st.integers(1, (1 << 64) - 1) | st.binary(min_size=1, max_size=300)
        )
    )
)
def test_what_is_written_is_read(fields: list[tuple[int, int | bytes]]) -> None:
    data = b"".join(
        fast_path.number(number, value) if isinstance(value, int) else fast_path.message(number, value)
        for number, value in fields
    )
    assert fast_path.fields(data) == fields
