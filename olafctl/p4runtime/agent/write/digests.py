"""Which digests a device sends to its primary controller, and how (P4Runtime §9.8)."""

from typing import Any

from olafctl.p4runtime.agent.state.forwarding import DigestConfig, Forwarding
from olafctl.p4runtime.agent.state.refusal import Code, Refusal, invalid, not_found
from olafctl.p4runtime.agent.state.tables import Undo


def insert(forwarding: Forwarding, message: Any) -> Undo:
    id = _digest_id(forwarding, message)
    if id in forwarding.digests:
        raise Refusal(Code.ALREADY_EXISTS, f"digest {_name(forwarding, id)} is enabled already")
    return _put(forwarding, id, _config(message))


def modify(forwarding: Forwarding, message: Any) -> Undo:
    return _put(forwarding, _enabled(forwarding, message), _config(message))


def delete(forwarding: Forwarding, message: Any) -> Undo:
    return _put(forwarding, _enabled(forwarding, message), None)


def _put(forwarding: Forwarding, id: int, config: DigestConfig | None) -> Undo:
    def become(new: DigestConfig | None) -> None:
        if new is None:
            forwarding.digests.pop(id, None)
        else:
            forwarding.digests[id] = new

    before = forwarding.digests.get(id)
    become(config)
    return lambda: become(before)


def _config(message: Any) -> DigestConfig:
    config = message.config
    if min(config.max_timeout_ns, config.max_list_size, config.ack_timeout_ns) < 0:
        raise invalid("a digest's times and list size cannot be negative")
    return DigestConfig(config.max_timeout_ns, config.max_list_size, config.ack_timeout_ns)


def _digest_id(forwarding: Forwarding, message: Any) -> int:
    if message.digest_id not in forwarding.program.digests:
        raise invalid(f"the program has no digest {message.digest_id:#x}")
    return int(message.digest_id)


def _enabled(forwarding: Forwarding, message: Any) -> int:
    id = _digest_id(forwarding, message)
    if id not in forwarding.digests:
        raise not_found(f"digest {_name(forwarding, id)} is not enabled")
    return id


def _name(forwarding: Forwarding, id: int) -> str:
    return forwarding.program.digests[id].name
