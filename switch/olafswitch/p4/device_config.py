"""The forms in which a P4Runtime client may push a program: its source, plain or in JSON, bare or wrapped.

The plain form is what ``olafswitch compile`` writes. Tools made for BMv2 want JSON from their compiler,
and some wrap it in a ``P4DeviceConfig``.
"""

import json

from google.protobuf.message import DecodeError

_MARK = "olaf_p4_source"
_WRAPPED = (b"\x08", b"\x12", b"\x1a")  # the keys of P4DeviceConfig's fields; no source text begins like this


def as_json(source: bytes, program: str) -> str:
    """Return a preprocessed program as JSON; ``program`` is its author's name for it."""
    return json.dumps({"program": program, _MARK: source.decode()}, indent=1, ensure_ascii=False) + "\n"


def source_of(device_config: bytes) -> str:
    """Return the preprocessed program in a ``device_config``.

    Raises ValueError, in words for people, when it is something else.
    """
    data = device_config
    if data.startswith(_WRAPPED):
        from olafswitch.p4 import p4config

        try:
            data = p4config.CONFIG.FromString(data).device_data
        except DecodeError:
            raise ValueError("the device_config is not preprocessed P4_16 source") from None
    try:
        text = data.decode()
    except UnicodeDecodeError:
        raise ValueError("the device_config is not preprocessed P4_16 source") from None
    if not text.lstrip().startswith("{"):
        return text
    try:
        found = json.loads(text)
    except ValueError:
        found = {}
    source = found.get(_MARK)
    if isinstance(source, str):
        return source
    what = (
        "BMv2 JSON of another compiler"
        if "pipelines" in found or "__meta__" in found
        else "JSON of another kind"
    )
    raise ValueError(
        f"the device_config is {what}; this device takes preprocessed P4_16 source, "
        "or the JSON of the p4c that `olafswitch drop-in` installs"
    )
