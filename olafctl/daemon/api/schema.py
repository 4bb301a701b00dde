"""The API ``olaf.v1``, defined once: message classes for this package, ``olaf.proto`` for everybody else's.

p4runtime-shell pins protobuf 3.20, and no grpcio-tools for it runs on today's Python: generated code of
newer ones needs a newer protobuf. So the descriptors are built here, at run time, and ``olafctl generate``
writes the proto file from the same tables.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

from olafctl.wire.modes import Mode

PACKAGE = "olaf.v1"
SERVICE = f"{PACKAGE}.Olaf"
FILE = "olafctl/daemon/api/olaf.proto"

_SCALARS = {"string": 9, "uint32": 13, "uint64": 4, "bool": 8, "double": 1}
_MESSAGE, _ENUM = 11, 14
_OPTIONAL, _REPEATED = 1, 3


@dataclass(frozen=True)
class _Field:
    name: str
    type: str
    """A scalar, or the name of a message or an enumeration; after ``optional`` or ``repeated`` if so."""
    meaning: str = ""

    @property
    def label(self) -> str:
        first, _, rest = self.type.partition(" ")
        return first if rest else ""

    @property
    def base(self) -> str:
        return self.type.rpartition(" ")[2]


_DEPLOYMENT = _Field("deployment", "string", "may be empty when the daemon owns one deployment alone")
_OF_CLUSTER = (_DEPLOYMENT, _Field("cluster", "string"))
_SEGMENT = _Field("segment", "optional uint32", "without it every segment of the model")

ENUMS: Mapping[str, tuple[str, ...]] = {
    "Mode": ("ENGINE_MODE", *(mode.name for mode in Mode)),
    "Kind": ("WORKER", "SWITCH"),
}

MESSAGES: Mapping[str, tuple[_Field, ...]] = {
    "Cluster": (
        _Field("name", "string"),
        _Field("number", "uint32"),
        _Field("values", "uint32", "length of its model; 0: at most one segment"),
        _Field("first", "uint32", "its first index at the queue"),
        _Field("segments", "uint32", "indices it has"),
        _Field("mode", "Mode"),
        _Field("threshold", "uint32", "H of iswitch mode; 0: as many as it has members"),
        _Field("reward_threshold", "optional double", "absent: the reward rule is off"),
        _Field("epoch", "uint32", "to be put into every frame"),
        _Field("halted", "bool"),
        _Field("keyed", "bool", "control messages are authenticated by its key"),
        _Field("open", "bool", "control messages need no key"),
        _Field("objective", "string", "Age-of-Model objective"),
        _Field("period", "uint64", "ns between two updates of one worker, for the objective"),
        _Field("own_mode", "bool", "the mode is its own; else the root's is shown, and each engine's counts"),
        _Field("own_reward_threshold", "bool", "as own_mode, of the reward rule"),
    ),
    "Worker": (
        _Field("name", "string"),
        _Field("cluster", "string"),
        _Field("kind", "Kind"),
        _Field("parent", "string", "the engine above it"),
        _Field("ip", "string"),
        _Field("udp_port", "uint32"),
        _Field("mac", "string"),
        _Field("port", "uint32", "front port that leads to it"),
        _Field("number", "uint32", "member number in its cluster"),
        _Field("worker_id", "uint32"),
        _Field("replica", "uint32", "id of its copy of a multicast frame"),
        _Field("lease", "double", "seconds of silence after which it leaves; 0: never"),
    ),
    "CreateClusterRequest": (
        _DEPLOYMENT,
        _Field("name", "string"),
        _Field("values", "uint32", "length of the model; 0: at most one segment"),
        _Field("mode", "Mode"),
        _Field("threshold", "uint32", "H of iswitch mode; 0: as many as it has members"),
        _Field("reward_threshold", "optional double", "absent: the reward rule is off"),
        _Field("key", "string", "of its control messages, at least 32 hexadecimal digits"),
        _Field("open", "bool", "control messages need no key"),
        _Field("objective", "string", "Age-of-Model objective, as peak<=20ms"),
        _Field("period", "uint64", "ns between two updates of one worker, for the objective"),
    ),
    "DeleteClusterRequest": _OF_CLUSTER,
    "DeleteClusterAnswer": (_Field("members", "uint32", "how many it had"),),
    "JoinRequest": (
        *_OF_CLUSTER,
        _Field("name", "string", "empty: its address"),
        _Field("ip", "string"),
        _Field("udp_port", "uint32", "0: the deployment's"),
        _Field("mac", "string", "empty: the one made from its address"),
        _Field("port", "uint32", "front port that leads to it"),
        _Field("kind", "Kind"),
        _Field("worker_id", "uint32", "0: made from its addresses and ports"),
        _Field("values", "uint32", "length of its model; 0: not said"),
        _Field("mtu", "uint32", "largest IPv4 packet on its way in bytes; 0: not said"),
        _Field("lease", "double", "seconds of silence after which it leaves; 0: never"),
    ),
    "LeaveRequest": (_DEPLOYMENT, _Field("worker", "string")),
    "MoveWorkerRequest": (
        _DEPLOYMENT,
        _Field("worker", "string"),
        _Field("cluster", "string", "empty: it stays in its own"),
        _Field("port", "uint32", "front port that leads to it then, of any engine; 0: it stays where it is"),
    ),
    "SetThresholdRequest": (*_OF_CLUSTER, _Field("threshold", "uint32", "H; 0: as many as it has members")),
    "SetModeRequest": (*_OF_CLUSTER, _Field("mode", "Mode")),
    "SetRewardRequest": (*_OF_CLUSTER, _Field("reward_threshold", "optional double", "absent: off")),
    "ResetRequest": (*_OF_CLUSTER, _SEGMENT),
    "FBcastRequest": (*_OF_CLUSTER, _SEGMENT),
    "HelpRequest": (
        *_OF_CLUSTER,
        _Field("worker", "string", "who lacks the result"),
        _Field("segment", "uint32"),
        _Field("round", "uint32"),
    ),
    "HelpAnswer": (_Field("asked", "repeated string", "members that were asked for it"),),
    "HaltRequest": _OF_CLUSTER,
    "ResumeRequest": _OF_CLUSTER,
    "LetGoRequest": (_DEPLOYMENT,),
    "LetGoAnswer": (),
    "WatchRequest": (
        _DEPLOYMENT,
        _Field("resume_token", "string", "of the last event or status seen; empty: from now on"),
    ),
    "Event": (
        _Field("resume_token", "string", "to watch from the next event on"),
        _Field("kind", "string", "cluster or worker"),
        _Field("name", "string"),
        _Field("cluster", "Cluster", "as it is now; absent when it was removed"),
        _Field("worker", "Worker", "as it is now; absent when it was removed"),
    ),
    "GetQueuesRequest": (_DEPLOYMENT,),
    "Queues": (
        _Field(
            "queues", "repeated Queue", "of every engine, each behind its parent's; none while not reached"
        ),
        _Field("messages", "repeated Count", "control messages by what became of them"),
        _Field("ages", "repeated Count", "ns: Age-of-Model by cluster, as the parameter server told last"),
    ),
    "Queue": (
        _Field("engine", "string", "the name of the engine"),
        _Field("registers", "repeated Count", "at one instant"),
    ),
    "ReportAgesRequest": (
        _DEPLOYMENT,
        _Field("ages", "repeated Count", "ns: average Age-of-Model by cluster, where updates arrive"),
    ),
    "ReportAgesAnswer": (),
    "Count": (_Field("name", "string"), _Field("value", "uint64")),
    "GetStatusRequest": (
        _Field("deployment", "string", "empty: all"),
        _Field("summary", "bool", "leave out clusters and workers"),
    ),
    "GetStatusAnswer": (_Field("deployments", "repeated Deployment"),),
    "Deployment": (
        _Field("name", "string"),
        _Field("ready", "bool", "its devices answer and hold what they should"),
        _Field("problem", "string", "why it is not ready"),
        _Field("resume_token", "string", "to watch what comes after this status"),
        _Field("clusters", "repeated Cluster"),
        _Field("workers", "repeated Worker"),
        _Field("term", "uint64", "higher for each later leader; 0: this controller follows, and only reads"),
        _Field("leader", "string", "address of the leader among several controllers"),
    ),
}

CALLS: Mapping[str, tuple[str, str]] = {
    "CreateCluster": ("CreateClusterRequest", "Cluster"),
    "DeleteCluster": ("DeleteClusterRequest", "DeleteClusterAnswer"),
    "Join": ("JoinRequest", "Worker"),
    "Leave": ("LeaveRequest", "Worker"),
    "MoveWorker": ("MoveWorkerRequest", "Worker"),
    "SetThreshold": ("SetThresholdRequest", "Cluster"),
    "SetMode": ("SetModeRequest", "Cluster"),
    "SetReward": ("SetRewardRequest", "Cluster"),
    "Reset": ("ResetRequest", "Cluster"),
    "FBcast": ("FBcastRequest", "Cluster"),
    "Help": ("HelpRequest", "HelpAnswer"),
    "Halt": ("HaltRequest", "Cluster"),
    "Resume": ("ResumeRequest", "Cluster"),
    "LetGo": ("LetGoRequest", "LetGoAnswer"),
    "Watch": ("WatchRequest", "stream Event"),
    "GetStatus": ("GetStatusRequest", "GetStatusAnswer"),
    "GetQueues": ("GetQueuesRequest", "Queues"),
    "ReportAges": ("ReportAgesRequest", "ReportAgesAnswer"),
}
"""Request and answer of every call."""


def answer_of(call: str) -> tuple[str, bool]:
    """The message that a call answers with, and whether there are many of them."""
    label, _, name = CALLS[call][1].rpartition(" ")
    return name, label == "stream"


def proto() -> str:
    """The text of ``olaf.proto``."""
    lines = [
        "// The northbound API of the daemon; `olafctl generate` writes it from schema.py next to it.",
        "// A refused call carries its problems as JSON in the trailing metadata `olaf-problems-bin`.",
        'syntax = "proto3";',
        "",
        f"package {PACKAGE};",
        "",
        "service Olaf {",
        *(f"  rpc {name}({request}) returns ({answer});" for name, (request, answer) in CALLS.items()),
        "}",
    ]
    for name, values in ENUMS.items():
        lines += ["", f"enum {name} {{", *(f"  {value} = {n};" for n, value in enumerate(values)), "}"]
    for name, fields in MESSAGES.items():
        lines += ["", f"message {name} {{"]
        for number, field in enumerate(fields, 1):
            note = f"  // {field.meaning}" if field.meaning else ""
            lines.append(f"  {field.type} {field.name} = {number};{note}")
        lines.append("}")
    return "\n".join(lines) + "\n"


def file_descriptor() -> Any:
    """The same as a ``FileDescriptorProto``."""
    file = descriptor_pb2.FileDescriptorProto(name="olaf.proto", package=PACKAGE, syntax="proto3")
    for name, values in ENUMS.items():
        enum = file.enum_type.add(name=name)
        for number, value in enumerate(values):
            enum.value.add(name=value, number=number)
    for name, fields in MESSAGES.items():
        message = file.message_type.add(name=name)
        for number, field in enumerate(fields, 1):
            _describe(message, number, field)
    service = file.service.add(name="Olaf")
    for name, (request, _) in CALLS.items():
        answer, streams = answer_of(name)
        service.method.add(
            name=name,
            input_type=f".{PACKAGE}.{request}",
            output_type=f".{PACKAGE}.{answer}",
            **({"server_streaming": True} if streams else {}),
        )
    return file


def _describe(message: Any, number: int, field: _Field) -> None:
    kind: dict[str, Any] = {"label": _REPEATED if field.label == "repeated" else _OPTIONAL}
    if field.base in _SCALARS:
        kind["type"] = _SCALARS[field.base]
    else:
        kind["type"] = _ENUM if field.base in ENUMS else _MESSAGE
        kind["type_name"] = f".{PACKAGE}.{field.base}"
    if field.label == "optional":
        # What protoc makes of it: a choice of one.
        kind |= {"proto3_optional": True, "oneof_index": len(message.oneof_decl)}
        message.oneof_decl.add(name=f"_{field.name}")
    message.field.add(name=field.name, number=number, **kind)


def _classes() -> Iterator[tuple[str, Any]]:
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file_descriptor())
    factory = message_factory.MessageFactory(pool)
    for name in MESSAGES:
        yield name, factory.GetPrototype(pool.FindMessageTypeByName(f"{PACKAGE}.{name}"))


CLASSES: Mapping[str, Any] = dict(_classes())
"""The message classes by name."""
