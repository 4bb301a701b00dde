"""p4runtime-shell with a card's agent: shell_session.py ADDRESS BUILD. Prints "done" at the end."""

import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import p4runtime_sh.shell as sh
from p4runtime_sh.p4runtime import P4RuntimeClient, P4RuntimeWriteException


def main(address: str, build: str) -> None:
    print("vnp4_1: primary and pipeline")
    setup(1, address, Path(build), "vnp4_1")
    worker = sh.TableEntry("Vnp41Ingress.identify.workers")(action="Vnp41Ingress.identify.assign")
    worker.match["worker_addr"] = "10.0.0.1"
    values = {"cluster": 5, "worker": 77, "index": 10, "segments": 2, "member": 3, "epoch": 1, "port": 1}
    for name, value in values.items():
        worker.action[name] = str(value)
    worker.insert()
    refused(worker.insert, "ALREADY_EXISTS")
    worker.action["cluster"] = "6"
    worker.modify()
    (read,) = found(sh.TableEntry("Vnp41Ingress.identify.workers").read)
    assert int.from_bytes(read.action["cluster"].value, "big") == 6
    counter = sh.DirectCounterEntry("Vnp41Ingress.identify.workers_counter")
    assert [each.packet_count for each in found(counter.read)] == [0]

    print("vnp4_1: packets")
    packets = sh.PacketIn()
    sh.PacketOut(b"hello", egress_port="2").send()
    arrived: list[Any] = []
    for _ in range(300):
        arrived = list(packets.sniff(timeout=0.2))
        if arrived:
            break
    (packet,) = arrived
    assert packet.packet.payload == b"hello", packet
    worker.delete()
    assert not found(sh.TableEntry("Vnp41Ingress.identify.workers").read)
    sh.teardown()

    print("vnp4_2: routes, members, groups")
    setup(2, address, Path(build), "vnp4_2")
    for prefix, port in (("10.0.0.0/8", "3"), ("10.1.0.0/16", "4"), ("10.1.2.3/32", "5")):
        route = sh.TableEntry("Vnp42Ingress.forward.forwarding")(action="Vnp42Ingress.forward.forward")
        route.match["dst_addr"] = prefix
        route.action["port"] = port
        route.insert()
    assert len(found(sh.TableEntry("Vnp42Ingress.forward.forwarding").read)) == 3
    member = sh.TableEntry("Vnp42Egress.members")(action="Vnp42Egress.deliver")
    member.match["member"] = "7"
    member.action["mac"], member.action["addr"], member.action["port"] = (
        "02:00:00:00:00:07",
        "10.1.2.3",
        "4001",
    )
    member.insert()
    group = sh.MulticastGroupEntry(6)
    group.add(1, 7).add(2, 8)
    group.insert()
    assert [len(each.replicas) for each in found(sh.MulticastGroupEntry().read)] == [2]

    print("vnp4_2: backup and takeover")
    backup = P4RuntimeClient(2, address, (0, 9))
    update = sh.p4runtime_pb2.Update(type=sh.p4runtime_pb2.Update.DELETE)
    update.entity.table_entry.CopyFrom(route.msg())
    try:
        backup.write_update(update)
    except Exception as error:
        assert "PERMISSION_DENIED" in str(error), error
    else:
        raise AssertionError("a backup wrote")
    backup.election_id = (1, 0)
    backup.handshake()
    backup.write_update(update)
    assert len(found(sh.TableEntry("Vnp42Ingress.forward.forwarding").read)) == 2
    backup.tear_down()
    sh.teardown()
    print("done")


def setup(device: int, address: str, build: Path, name: str) -> None:
    config = sh.FwdPipeConfig(str(build / f"agent/{name}.p4info.txtpb"), str(build / f"agent/{name}.json"))
    sh.setup(device, address, (0, 10), config=config, verbose=False)


def refused(write: Callable[[], None], code: str) -> None:
    try:
        write()
    except P4RuntimeWriteException as error:
        assert code in str(error), error
    else:
        raise AssertionError(f"not refused with {code}")


def found(read: Callable[..., Any]) -> list[Any]:
    entries: list[Any] = []
    read(entries.append)
    return entries


if __name__ == "__main__":
    try:
        main(*sys.argv[1:])
    except (Exception, SystemExit) as error:
        # The shell's receiving thread would keep a failed process alive.
        print(f"failed: {type(error).__name__}: {error}", flush=True)
        os._exit(1)
