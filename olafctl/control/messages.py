"""Control messages as frames that leave the control plane (iSwitch §3.2)."""

import time

from olafctl.testbed import hosts
from olafctl.testbed.model import Host, Testbed
from olafctl.wire import layouts
from olafctl.wire.control import HALT, HELP, Action
from olafctl.wire.frames import ipv4_checksum, mac_bits, pack


def halt(halted: bool) -> bytes:
    """The payload that suspends or resumes training on a worker."""
    return pack(HALT, {"action": Action.HALT, "halted": int(halted), "nonce": time.time_ns()})


def help_wanted(segment: int, round_: int, asker: Host) -> bytes:
    """The payload by which another member is asked to send ``asker`` the result of a round."""
    fields = {
        "action": Action.HELP,
        "segment": segment,
        "round": round_,
        "asker_addr": int(asker.ip),
        "asker_port": asker.udp_port,
        "nonce": time.time_ns(),
    }
    return pack(HELP, fields)


def frame(testbed: Testbed, member: Host, payload: bytes) -> bytes:
    """The Ethernet frame that takes ``payload`` from the engine to a member.

    It comes from the engine's address, or from the parameter server's where the engine has none.
    """
    address = testbed.root.address or testbed.parameter_servers[0].ip
    udp = {
        "src_port": testbed.udp_port,
        "dst_port": member.udp_port,
        "length": layouts.UDP.size + len(payload),
    }
    ipv4 = {
        "version": 4,
        "ihl": 5,
        "tos": testbed.control_tos,
        "total_len": layouts.IPV4.size + udp["length"],
        "ttl": 64,
        "protocol": 17,
        "src_addr": int(address),
        "dst_addr": int(member.ip),
    }
    ipv4["hdr_checksum"] = ipv4_checksum(pack(layouts.IPV4, ipv4))
    ethernet = {
        "dst_addr": mac_bits(member.mac),
        "src_addr": mac_bits(hosts.default_mac(address)),
        "ether_type": 0x0800,
    }
    return pack(layouts.ETHERNET, ethernet) + pack(layouts.IPV4, ipv4) + pack(layouts.UDP, udp) + payload
