"""Every mutated message gets an answer; no thread is lost, memory stays flat, the session remains usable.

Set OLAF_FUZZ_MESSAGES for a longer run, as 20000.
"""

import os
import random
import tracemalloc

import grpc

from olafswitch.p4runtime.agent import AgentServer
from olafswitch.p4runtime.dataplane import P4Info
from olafswitch.p4runtime.protocol import p4runtime_pb2
from tests.p4runtime import messages
from tests.p4runtime.controller import SECONDS, PlainController
from tests.p4runtime.memory_plane import MemoryPlane

MESSAGES = int(os.environ.get("OLAF_FUZZ_MESSAGES", "900"))
_ANSWERS = {
    grpc.StatusCode.OK,
    grpc.StatusCode.UNKNOWN,
    grpc.StatusCode.INVALID_ARGUMENT,
    grpc.StatusCode.NOT_FOUND,
    grpc.StatusCode.PERMISSION_DENIED,
    grpc.StatusCode.FAILED_PRECONDITION,
    grpc.StatusCode.UNIMPLEMENTED,
}


def test_mutated_messages(
    agent: AgentServer, primary: PlainController, plane: MemoryPlane, p4info: P4Info
) -> None:
    rng = random.Random(20300)
    write = primary.channel.unary_unary("/p4.v1.P4Runtime/Write")
    read = primary.channel.unary_stream("/p4.v1.P4Runtime/Read")
    get = primary.channel.unary_unary("/p4.v1.P4Runtime/GetForwardingPipelineConfig")
    seen = dict.fromkeys(_ANSWERS, 0)
    _settle(primary, p4info)
    tracemalloc.start()
    try:
        for number in range(MESSAGES):
            kind = rng.random()
            if kind < 0.7:
                data, call = messages.write_request(rng, 10), lambda sent: write(sent, timeout=SECONDS)
            elif kind < 0.95:
                data, call = messages.read_request(rng), lambda sent: list(read(sent, timeout=SECONDS))
            else:
                data, call = b"\x08\x01\x10\x01", lambda sent: get(sent, timeout=SECONDS)
            if rng.random() < 0.4:
                data = messages.damage_bytes(rng, data)
            seen[_answer_call(call, data)] += 1
            if number == MESSAGES // 2:
                _settle(primary, p4info)
                halfway, _ = tracemalloc.get_traced_memory()
        _settle(primary, p4info)
        after, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert seen[grpc.StatusCode.OK] > MESSAGES / 100
    assert seen[grpc.StatusCode.UNKNOWN] > MESSAGES / 100
    assert seen[grpc.StatusCode.INVALID_ARGUMENT] > MESSAGES / 100
    assert after - halfway < 2_000_000
    assert primary.insert(messages.ENTRY) == ["OK"]


def test_no_failure_of_ours_hides_in_an_internal_error(primary: PlainController) -> None:
    rng = random.Random(4)
    internal = []
    for _ in range(MESSAGES // 3):
        request = p4runtime_pb2.WriteRequest.FromString(messages.write_request(rng, 10))
        outcomes = primary.write(*request.updates, atomicity=request.atomicity)
        internal += [each for each in outcomes if each == "INTERNAL"]
    assert internal == []


def test_mutated_stream_messages(agent: AgentServer, p4info: P4Info) -> None:
    rng = random.Random(7)
    for _ in range(MESSAGES // 30):
        channel = grpc.insecure_channel(agent.address)
        requests = [messages.stream_request(rng) for _ in range(rng.randint(1, 6))]
        if rng.random() < 0.5:
            requests.append(messages.damage_bytes(rng, requests[-1]))
        stream = channel.stream_stream("/p4.v1.P4Runtime/StreamChannel")(iter(requests), timeout=SECONDS)
        assert _answer_call(lambda sent, stream=stream: list(stream), b"") in _ANSWERS
        channel.close()
    with PlainController(agent.address) as controller:
        assert controller.arbitrate(1 << 100).status.code == 0
        assert controller.set_pipeline("VERIFY_AND_COMMIT", p4info) == "OK"


def _answer_call(call: object, data: bytes) -> grpc.StatusCode:
    try:
        call(data)  # type: ignore[operator]  # a gRPC call
    except grpc.RpcError as error:
        assert error.code() in _ANSWERS, (error.code(), error.details(), data)
        return error.code()
    return grpc.StatusCode.OK


def _settle(primary: PlainController, p4info: P4Info) -> None:
    """Return to an empty device, so that memory can be compared."""
    assert primary.set_pipeline("VERIFY_AND_COMMIT", p4info) == "OK"
    assert len(primary.read("table_entry { }")) == 3
