"""A session of p4runtime-shell with a card's agent; arguments are ADDRESS BUILD. Prints "done" at the end."""

from pathlib import Path

import p4runtime_sh.shell as sh

from tests.p4runtime.clients.shell_session import (
    find_entries,
    is_refused,
    run_session,
    send_and_receive,
    take_over,
)


def main(address: str, build: str) -> None:
    print("vnp4_1: primary and pipeline")
    set_up(1, address, Path(build), "vnp4_1")
    worker = sh.TableEntry("Vnp41Ingress.identify.workers")(action="Vnp41Ingress.identify.assign")
    worker.match["worker_addr"] = "10.0.0.1"
    values = {"cluster": 5, "worker": 77, "index": 10, "segments": 2, "member": 3, "epoch": 1, "port": 1}
    for name, value in values.items():
        worker.action[name] = str(value)
    worker.insert()
    is_refused(worker.insert, "ALREADY_EXISTS")
    worker.action["cluster"] = "6"
    worker.modify()
    (read,) = find_entries(sh.TableEntry("Vnp41Ingress.identify.workers").read)
    assert int.from_bytes(read.action["cluster"].value, "big") == 6
    counter = sh.DirectCounterEntry("Vnp41Ingress.identify.workers_counter")
    assert [each.packet_count for each in find_entries(counter.read)] == [0]

    print("vnp4_1: packets")
    send_and_receive(egress_port="2")
    worker.delete()
    assert not find_entries(sh.TableEntry("Vnp41Ingress.identify.workers").read)
    sh.teardown()

    print("vnp4_2: routes, members, groups")
    set_up(2, address, Path(build), "vnp4_2")
    for prefix, port in (("10.0.0.0/8", "3"), ("10.1.0.0/16", "4"), ("10.1.2.3/32", "5")):
        route = sh.TableEntry("Vnp42Ingress.forward.forwarding")(action="Vnp42Ingress.forward.forward")
        route.match["dst_addr"] = prefix
        route.action["port"] = port
        route.insert()
    assert len(find_entries(sh.TableEntry("Vnp42Ingress.forward.forwarding").read)) == 3
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
    assert [len(each.replicas) for each in find_entries(sh.MulticastGroupEntry().read)] == [2]

    print("vnp4_2: backup and takeover")
    backup = take_over(2, address, route)
    assert len(find_entries(sh.TableEntry("Vnp42Ingress.forward.forwarding").read)) == 2
    backup.tear_down()
    sh.teardown()
    print("done")


def set_up(device: int, address: str, build: Path, name: str) -> None:
    config = sh.FwdPipeConfig(str(build / f"agent/{name}.p4info.txtpb"), str(build / f"agent/{name}.json"))
    sh.setup(device, address, (0, 10), config=config, verbose=False)


if __name__ == "__main__":
    run_session(main)
