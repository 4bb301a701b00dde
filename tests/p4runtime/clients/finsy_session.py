"""A whole session of finsy; arguments are ADDRESS P4INFO CONFIG DEVICE. It prints "done" at the end."""

import asyncio
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import finsy as fy

KEY = {"address": 0x0A000001, "port": 3}


async def main(address: str, p4info: str, config: str, device: str) -> None:
    options = fy.SwitchOptions(p4info=Path(p4info), p4blob=Path(config), initial_election_id=10)
    async with fy.Switch("primary", address, options) as primary:
        print("primary and pipeline")
        assert primary.is_primary
        assert str(primary.p4runtime_version) == "1.4.1", primary.p4runtime_version
        await primary.delete_all()

        print("tables")
        forward = fy.Action("forward", port=1, label=77)
        exact = fy.P4TableEntry("exact", match=fy.Match(KEY), action=forward)
        route = fy.P4TableEntry("lpm", match=fy.Match(address="10.0.0.0/8"), action=forward)
        ternary = fy.P4TableEntry(
            "ternary",
            match=fy.Match(value="0x120/&0xff0", port="5...256", maybe=4),
            action=forward,
            priority=9,
        )
        await primary.write([+exact, +route, +ternary])
        await refused(primary.insert([exact]), "ALREADY_EXISTS")
        unranked = fy.P4TableEntry("ternary", match=fy.Match(maybe=5), action=forward)
        await refused(primary.insert([unranked]), "INVALID_ARGUMENT")
        changed = fy.P4TableEntry("exact", match=fy.Match(KEY), action=fy.Action("forward", port=1, label=78))
        await primary.modify([changed])
        (read,) = await everything(primary.read(fy.P4TableEntry("exact")))
        assert read.match == fy.Match(KEY)
        assert read.action.args["label"] == 78
        tables = {entry.table_id for entry in await everything(primary.read(fy.P4TableEntry()))}
        assert tables == {"exact", "lpm", "ternary", "constant"}, tables
        (ranked,) = await everything(primary.read(fy.P4TableEntry("ternary")))
        assert ranked.priority == 9
        assert ranked.match == fy.Match(value=(0x120, 0xFF0), port=(5, 256), maybe=4), ranked.match

        print("default entry")
        default = fy.P4TableEntry("exact", action=forward, is_default_action=True)
        await primary.modify([default])
        (read,) = await everything(primary.read(fy.P4TableEntry("exact", is_default_action=True)))
        assert read.action.args["label"] == 77

        print("counters and replication")
        counted = fy.P4CounterEntry("frames", index=2, data=fy.P4CounterData(byte_count=320, packet_count=5))
        await primary.modify([counted])
        counts = [entry.packet_count for entry in await everything(primary.read(fy.P4CounterEntry("frames")))]
        assert counts == [0, 0, 5, 0]
        group = fy.P4MulticastGroupEntry(1, replicas=(2, 3))
        await primary.insert([group])
        (read,) = await everything(primary.read(fy.P4MulticastGroupEntry()))
        assert read == group, read

        print("packets")
        await send_and_receive(primary, egress_port=5, padding=0)

        print("backup and takeover")
        async with fy.Switch("backup", address, options(initial_election_id=9)) as backup:
            assert not backup.is_primary
            await refused(backup.delete([route]), "PERMISSION_DENIED")
            async with fy.Switch("next", address, options(initial_election_id=11)) as taker:
                assert taker.is_primary
                await taker.delete([route])
                await refused(primary.delete([exact]), "PERMISSION_DENIED")
    print("done")


async def send_and_receive(primary: Any, **metadata: int) -> None:
    """Send a packet-out, and check that the data plane sends it back."""
    packets = primary.read_packets()
    waiting = asyncio.ensure_future(anext(packets))
    await asyncio.sleep(0)
    await primary.write([fy.P4PacketOut(b"hello", **metadata)])
    packet = await asyncio.wait_for(waiting, 60)
    assert packet.payload == b"hello"


async def everything(entities: AsyncIterator[Any]) -> list[Any]:
    return [each async for each in entities]


async def refused(write: Any, code: str) -> None:
    try:
        await write
    except fy.P4ClientError as error:
        codes = {error.code.name, *(detail.canonical_code.name for detail in error.details.values())}
        assert code in codes, codes
    else:
        raise AssertionError(f"not refused with {code}")


if __name__ == "__main__":
    asyncio.run(asyncio.wait_for(main(*sys.argv[1:]), 60))
