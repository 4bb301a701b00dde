"""A session of finsy with a card's agent; arguments are ADDRESS BUILD. It prints "done" at the end."""

import asyncio
import sys
from pathlib import Path
from typing import Any

import finsy as fy

from tests.p4runtime.clients.finsy_session import everything, refused, send_and_receive


async def main(address: str, build: str) -> None:
    async with fy.Switch("vnp4_1", address, connection_options(build, 1)) as first:
        print("vnp4_1")
        await first.delete_all()
        values = {"cluster": 5, "worker": 77, "index": 10, "segments": 2, "member": 3, "epoch": 1, "port": 1}
        key = fy.Match(worker_addr="10.0.0.1")
        worker = fy.P4TableEntry("workers", match=key, action=fy.Action("assign", **values))
        await first.write([+worker])
        await refused(first.insert([worker]), "ALREADY_EXISTS")
        changed = fy.Action("assign", **{**values, "cluster": 6})
        await first.modify([fy.P4TableEntry("workers", match=key, action=changed)])
        (read,) = await everything(first.read(fy.P4TableEntry("workers")))
        assert read.action.args["cluster"] == 6
        await send_and_receive(first, egress_port=2)
    async with fy.Switch("vnp4_2", address, connection_options(build, 2)) as second:
        print("vnp4_2")
        await second.delete_all()
        routes = [
            fy.P4TableEntry(
                "forwarding", match=fy.Match(dst_addr=prefix), action=fy.Action("forward", port=port)
            )
            for prefix, port in (("10.0.0.0/8", 3), ("10.1.0.0/16", 4))
        ]
        deliver = fy.Action("deliver", mac="02:00:00:00:00:07", addr="10.1.2.3", port=4001)
        member = fy.P4TableEntry("members", match=fy.Match(member=7), action=deliver)
        group = fy.P4MulticastGroupEntry(6, replicas=(1, 2))
        await second.write([+routes[0], +routes[1], +member, +group])
        assert len(await everything(second.read(fy.P4TableEntry("forwarding")))) == 2
        (read,) = await everything(second.read(fy.P4MulticastGroupEntry()))
        assert read == group, read
        await second.delete([routes[0], group])
        assert len(await everything(second.read(fy.P4TableEntry("forwarding")))) == 1
    print("done")


def connection_options(build: str, device: int) -> Any:
    agent = Path(build) / "agent"
    return fy.SwitchOptions(
        device_id=device,
        p4info=agent / f"vnp4_{device}.p4info.txtpb",
        p4blob=agent / f"vnp4_{device}.json",
        initial_election_id=10,
    )


if __name__ == "__main__":
    asyncio.run(asyncio.wait_for(main(*sys.argv[1:]), 120))
