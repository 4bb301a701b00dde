"""Which digests a device sends to its primary controller, and how (P4Runtime §9.8)."""

from typing import Any

from olafctl.p4runtime.agent.state.forwarding import DigestConfig, Forwarding
from olafctl.p4runtime.agent.state.refusal import invalid
from olafctl.p4runtime.agent.write.kept import by_id


def _config(_: Forwarding, message: Any) -> DigestConfig:
    config = message.config
    if min(config.max_timeout_ns, config.max_list_size, config.ack_timeout_ns) < 0:
        raise invalid("a digest's times and list size cannot be negative")
    return DigestConfig(config.max_timeout_ns, config.max_list_size, config.ack_timeout_ns)


def _id(forwarding: Forwarding, message: Any) -> int:
    if message.digest_id not in forwarding.program.digests:
        raise invalid(f"the program has no digest {message.digest_id:#x}")
    return int(message.digest_id)


def _refusals(forwarding: Forwarding, id: int) -> tuple[str, str]:
    name = forwarding.program.digests[id].name
    return f"digest {name} is enabled already", f"digest {name} is not enabled"


DIGESTS = by_id(lambda forwarding: forwarding.digests, _id, _config, _refusals)
