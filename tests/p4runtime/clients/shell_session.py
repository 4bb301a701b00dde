"""A session of p4runtime-shell; arguments are ADDRESS P4INFO CONFIG DEVICE. It prints "done" at the end."""

import os
import sys
from collections.abc import Callable
from typing import Any

import p4runtime_sh.shell as sh
from p4runtime_sh.p4runtime import P4RuntimeClient, P4RuntimeException, P4RuntimeWriteException


def main(address: str, p4info: str, config: str, device: str) -> None:
    print("primary and pipeline")
    sh.setup(1, address, (0, 10), config=sh.FwdPipeConfig(p4info, config), verbose=False)
    assert sh.APIVersion() == "1.4.1"

    print("tables")
    exact = sh.TableEntry("ingress.exact")(action="ingress.forward")
    exact.match["address"], exact.match["port"] = "10.0.0.1", "3"
    exact.action["port"], exact.action["label"] = "1", "77"
    exact.insert()
    is_refused(exact.insert, "ALREADY_EXISTS")
    exact.action["label"] = "78"
    exact.modify()
    route = sh.TableEntry("ingress.lpm")(action="ingress.forward")
    route.match["address"] = "10.0.0.0/8"
    route.action["port"], route.action["label"] = "2", "5"
    route.insert()
    ternary = sh.TableEntry("ingress.ternary")(action="ingress.forward")
    ternary.match["value"], ternary.match["port"], ternary.match["maybe"] = "0x120&&&0xff0", "5..256", "4"
    ternary.action["port"], ternary.action["label"] = "3", "6"
    is_refused(ternary.insert, "INVALID_ARGUMENT")
    ternary.priority = 9
    ternary.insert()
    assert labels_of("ingress.exact") == [78]
    assert labels_of("ingress.lpm") == [5]
    assert labels_of("ingress.ternary") == [6]
    is_refused(sh.TableEntry("ingress.constant")(action="NoAction").modify, "INVALID_ARGUMENT")

    print("default entry")
    default = sh.TableEntry("ingress.exact")(action="ingress.forward", is_default=True)
    default.action["port"], default.action["label"] = "4", "99"
    default.modify()
    assert labels_of("ingress.exact", is_default=True) == [99]

    if device != "hardware":
        selector_and_meters()
    print("counters and replication")
    counter = sh.CounterEntry("ingress.frames")(index=2)
    counter.packet_count, counter.byte_count = 5, 320
    counter.modify()
    assert [each.packet_count for each in find_entries(sh.CounterEntry("ingress.frames").read)] == [
        0,
        0,
        5,
        0,
    ]
    direct = sh.DirectCounterEntry("ingress.exact_counter")
    direct.table_entry.match["address"], direct.table_entry.match["port"] = "10.0.0.1", "3"
    direct.packet_count = 6
    direct.modify()
    assert [
        each.packet_count for each in find_entries(sh.DirectCounterEntry("ingress.exact_counter").read)
    ] == [6]
    multicast = sh.MulticastGroupEntry(1)
    multicast.add(2, 1).add(3, 1)
    multicast.insert()
    assert [len(each.replicas) for each in find_entries(sh.MulticastGroupEntry().read)] == [2]

    print("packets")
    send_and_receive(egress_port="5", padding="0")

    print("backup and takeover")
    backup = take_over(1, address, ternary)
    try:
        exact.delete()
    except Exception as error:
        assert "PERMISSION_DENIED" in str(error), error
    else:
        raise AssertionError("the deposed primary wrote")
    assert labels_of("ingress.ternary") == []
    backup.tear_down()
    sh.teardown()
    print("done")


def selector_and_meters() -> None:
    """Write and read what a program in hardware does not have."""
    print("selector, meters, clone session")
    member = sh.ActionProfileMember("ingress.selector")(member_id=1, action="ingress.forward")
    member.action["port"], member.action["label"] = "1", "1"
    member.insert()
    group = sh.ActionProfileGroup("ingress.selector")(group_id=1)
    group.add(1, weight=2)
    group.insert()
    selected = sh.TableEntry("ingress.selected")(group_id=1)
    selected.match["value"] = "1"
    selected.insert()
    is_refused(group.delete, "FAILED_PRECONDITION")
    meter = sh.MeterEntry("ingress.rate")(index=1)
    meter.cir, meter.cburst, meter.pir, meter.pburst = 1, 2, 3, 4
    meter.modify()
    assert [each.pir for each in find_entries(sh.MeterEntry("ingress.rate").read)] == [0, 3, 0]
    clone = sh.CloneSessionEntry(7)
    clone.add(2, 1)
    clone.insert()
    assert [each.session_id for each in find_entries(sh.CloneSessionEntry().read)] == [7]


def send_and_receive(**metadata: str) -> None:
    """Send a packet-out, and check that the data plane sends it back."""
    packets = sh.PacketIn()
    sh.PacketOut(b"hello", **metadata).send()
    arrived: list[Any] = []
    for _ in range(300):
        arrived = list(packets.sniff(timeout=0.2))
        if arrived:
            break
    (packet,) = arrived
    assert packet.packet.payload == b"hello", packet


def take_over(device: int, address: str, entry: Any) -> Any:
    """Return a second controller, which may delete the entry only once it is primary."""
    backup = P4RuntimeClient(device, address, (0, 9))
    update = sh.p4runtime_pb2.Update(type=sh.p4runtime_pb2.Update.DELETE)
    update.entity.table_entry.CopyFrom(entry.msg())
    try:
        backup.write_update(update)
    except Exception as error:
        assert "PERMISSION_DENIED" in str(error), error
    else:
        raise AssertionError("a backup wrote")
    backup.election_id = (1, 0)
    backup.handshake()
    backup.write_update(update)
    return backup


def is_refused(write: Callable[[], None], code: str) -> None:
    try:
        write()
    except P4RuntimeWriteException as error:
        assert code in str(error), error
    else:
        raise AssertionError(f"not refused with {code}")


def find_entries(read: Callable[..., Any]) -> list[Any]:
    entries: list[Any] = []
    read(entries.append)
    return entries


def labels_of(table: str, is_default: bool = False) -> list[int]:
    query = sh.TableEntry(table)
    if is_default:
        query.is_default = True
    return [int.from_bytes(entry.action["label"].value, "big") for entry in find_entries(query.read)]


def run_session(main: Callable[..., None]) -> None:
    """Run the session with the command line's arguments."""
    try:
        main(*sys.argv[1:])
    except (Exception, SystemExit) as error:
        # The shell's receiving thread would keep a failed process alive.
        print(f"failed: {type(error).__name__}: {error}", flush=True)
        if isinstance(error, P4RuntimeException):
            print(error.grpc_error, flush=True)
        os._exit(1)


if __name__ == "__main__":
    run_session(main)
