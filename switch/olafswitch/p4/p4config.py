"""``p4.tmp.P4DeviceConfig``, in which BMv2's controllers wrap the compiler's file.

No package on PyPI has it. ``olafswitch drop-in`` writes its module for such controllers.
"""

from typing import Any

from google.protobuf import descriptor_pb2, descriptor_pool
from google.protobuf.internal import builder

_FILE = descriptor_pb2.FileDescriptorProto(name="p4/tmp/p4config.proto", package="p4.tmp", syntax="proto3")
_CONFIG = _FILE.message_type.add(name="P4DeviceConfig")
_EXTRAS = _CONFIG.nested_type.add(name="Extras")
_PAIR = _EXTRAS.nested_type.add(name="KvEntry", options=descriptor_pb2.MessageOptions(map_entry=True))
_ONE, _MANY = (
    descriptor_pb2.FieldDescriptorProto.LABEL_OPTIONAL,
    descriptor_pb2.FieldDescriptorProto.LABEL_REPEATED,
)
_BOOL, _BYTES, _STRING, _MESSAGE = 8, 12, 9, 11  # numbers of descriptor.proto's types
_PAIR.field.add(name="key", number=1, label=_ONE, type=_STRING)
_PAIR.field.add(name="value", number=2, label=_ONE, type=_STRING)
_EXTRAS.field.add(
    name="kv", number=1, label=_MANY, type=_MESSAGE, type_name=".p4.tmp.P4DeviceConfig.Extras.KvEntry"
)
_CONFIG.field.add(name="reassign", number=1, label=_ONE, type=_BOOL)
_CONFIG.field.add(
    name="extras", number=2, label=_ONE, type=_MESSAGE, type_name=".p4.tmp.P4DeviceConfig.Extras"
)
_CONFIG.field.add(name="device_data", number=3, label=_ONE, type=_BYTES)

DESCRIPTOR = descriptor_pool.Default().AddSerializedFile(_FILE.SerializeToString())
builder.BuildMessageAndEnumDescriptors(DESCRIPTOR, globals())
builder.BuildTopDescriptorsAndMessages(DESCRIPTOR, "p4.tmp.p4config_pb2", globals())
CONFIG: Any = globals()["P4DeviceConfig"]
