"""The same writes as the daemon's, one by one with p4runtime-shell, as a script of that shell's environment.

``shell_writes.py workers|members ADDRESS DEVICE_ID P4INFO,CONFIG COUNT`` prints seconds.
"""

import sys
import time

from p4runtime_sh import shell


def main() -> None:
    """Program COUNT members, ten to a cluster."""
    script, address, device_id, files, count = sys.argv[1:]
    p4info, config = files.split(",")
    shell.setup(
        device_id=int(device_id),
        grpc_addr=address,
        election_id=(1 << 32, 0),
        config=shell.FwdPipeConfig(p4info, config),
        verbose=False,
    )
    write = {"workers": _vnp4_1, "members": _vnp4_2}[script]
    began = time.perf_counter()
    for number in range(int(count)):
        write(number)
    print(time.perf_counter() - began)
    shell.teardown()


def _vnp4_1(number: int) -> None:
    entry = shell.TableEntry("workers")(action="assign")
    entry.match["worker_addr"] = _ip_of(number)
    values = {"cluster": number // 10, "worker": 0, "index": number // 10, "segments": 1}
    for name, value in {**values, "member": number % 10, "epoch": 1, "port": 1}.items():
        entry.action[name] = str(value)
    entry.insert()


def _vnp4_2(number: int) -> None:
    deliver = shell.TableEntry("members")(action="deliver")
    deliver.match["member"] = str(number + 1)
    for name, value in {"mac": _mac_of(number), "addr": _ip_of(number), "port": "41000"}.items():
        deliver.action[name] = value
    deliver.insert()
    for table, key, value in (
        ("forwarding", "dst_addr", f"{_ip_of(number)}/32"),
        ("bridging", "dst_mac", _mac_of(number)),
    ):
        route = shell.TableEntry(table)(action="forward")
        route.match[key] = value
        route.action["port"] = "2"
        route.insert()
    group = shell.MulticastGroupEntry(number // 10 + 1)
    for member in range(number // 10 * 10, number + 1):
        group.add(2, member + 1)
    if number % 10:
        group.modify()
        return
    group.insert()
    multicast = shell.TableEntry("cluster_multicast")(action="multicast")
    multicast.match["cluster"] = str(number // 10)
    multicast.action["group"] = str(number // 10 + 1)
    multicast.insert()


def _ip_of(number: int) -> str:
    return f"10.1.{number >> 8}.{number & 255}"


def _mac_of(number: int) -> str:
    return f"02:00:0a:01:{number >> 8:02x}:{number & 255:02x}"


if __name__ == "__main__":
    main()
