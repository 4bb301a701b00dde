"""The card's agent over the registers of both blocks and the box."""

import logging
import random
import shutil
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from queue import SimpleQueue

import pytest

from olafctl.targets.opennic.bar import BYTES, MappedBar
from olafctl.targets.opennic.box_registers import Copy
from olafctl.targets.opennic.card import Card
from olafctl.targets.opennic.health import CMACS, PERIOD, RX_STATUS
from olafctl.targets.opennic.plugin import CLIENT_P4INFO, DEVICE_CONFIG, TABLES
from olafctl.wire.frames import mac_bits
from olafswitch.errors import OlafError
from olafswitch.p4runtime.agent import AgentServer, serve_devices
from olafswitch.p4runtime.dataplane import ActionCall, CounterData, Exact, TableFull
from olafswitch.p4runtime.entities import Lpm, MulticastGroup, Replica, TableEntry
from olafswitch.p4runtime.failures import P4RuntimeFailed, WriteFailed
from olafswitch.p4runtime.program import ProgramInfo
from olafswitch.p4runtime.session import Change, EntityUpdate, Session
from tests.opennic import fake_card
from tests.opennic.fake_card import COPIES, Built, FakeCard
from tests.p4src.frames import SERVER, WORKER

NAMES = {1: "vnp4_1", 2: "vnp4_2"}
WORKER_ENTRY = TableEntry(
    "workers",
    {"worker_addr": int(WORKER.ip)},
    "assign",
    {"cluster": 5, "worker": 77, "index": 10, "segments": 2, "member": 3, "epoch": 1, "port": 1},
)
SERVER_ENTRY = TableEntry(
    "parameter_servers",
    {"server_addr": int(SERVER.ip)},
    "admit",
    {"port": 2, "mac": mac_bits(SERVER.mac), "udp_port": SERVER.port},
)


@pytest.fixture(scope="session")
def built(tmp_path_factory: pytest.TempPathFactory) -> Built:
    return fake_card.fake_build(tmp_path_factory.mktemp("card") / "plugin")


@pytest.fixture
def hardware(built: Built) -> FakeCard:
    return FakeCard(built)


@pytest.fixture
def card(hardware: FakeCard, built: Built) -> Iterator[Card]:
    opened = opened_card(hardware, built)
    yield opened
    opened.close()


def opened_card(hardware: FakeCard, built: Built) -> Card:
    return Card(hardware, None, built.folder, [1, 2])


@pytest.fixture
def agent(card: Card) -> Iterator[AgentServer]:
    with serve_devices(card.planes, "127.0.0.1:0") as running:
        yield running


def connect_primary(agent: AgentServer, built: Built, number: int, election_id: int = 10) -> Session:
    """Connect a primary controller of an IP whose pipeline runs."""
    session = Session.connect(agent.address, number, election_id=election_id)
    name = NAMES[number]
    session.push(
        built.folder / CLIENT_P4INFO.format(name), built.folder / DEVICE_CONFIG.format(name), cookie=7
    )
    return session


@pytest.fixture
def first(agent: AgentServer, built: Built) -> Iterator[Session]:
    with connect_primary(agent, built, 1) as session:
        yield session


@pytest.fixture
def second(agent: AgentServer, built: Built) -> Iterator[Session]:
    with connect_primary(agent, built, 2) as session:
        yield session


def insert_entries(session: Session, *entities: TableEntry | MulticastGroup) -> None:
    session.write([EntityUpdate(Change.INSERT, each) for each in entities])


def make_route(address: int, length: int, port: int) -> TableEntry:
    return TableEntry("forwarding", {"dst_addr": Lpm(address, length)}, "forward", {"port": port})


def test_an_entry_arrives_in_the_blocks_order_and_width(hardware: FakeCard, first: Session) -> None:
    insert_entries(first, WORKER_ENTRY)
    [((key, mask), stored)] = hardware.tables()["workers"].items()
    assert (key, mask) == (int(WORKER.ip), 0xFFFFFFFF)
    packed = 5
    for value, bits in ((77, 32), (10, 16), (2, 16), (3, 8), (1, 4), (1, 16)):
        packed = packed << bits | value
    assert stored.params == packed
    assert first.entries("workers") == {WORKER_ENTRY}


def test_the_longest_prefix_wins_by_its_place(hardware: FakeCard, second: Session) -> None:
    net = int(WORKER.ip)
    insert_entries(second, make_route(0, 0, 9), make_route(net & 0xFFFF0000, 16, 3), make_route(net, 32, 4))
    slots = {mask.bit_count(): each.slot for (_, mask), each in hardware.tables()["forwarding"].items()}
    assert slots[32] < slots[16] < slots[0]


def place_of(hardware: FakeCard, table: str) -> int:
    """Return the place in which the table's only entry is counted."""
    [stored] = hardware.tables()[table].values()
    return stored.slot


def test_a_modified_entry_keeps_the_place_of_its_counter(hardware: FakeCard, second: Session) -> None:
    insert_entries(second, make_route(int(WORKER.ip), 32, 4))
    hardware.blocks[2].count("forwarding", place_of(hardware, "forwarding"), 100)
    changed = make_route(int(WORKER.ip), 32, 5)
    second.write([EntityUpdate(Change.MODIFY, changed)])
    hardware.blocks[2].count("forwarding", place_of(hardware, "forwarding"), 60)
    assert second.direct_counters("forwarding") == {changed: CounterData(2, 160)}


def test_counts_survive_reads_and_a_new_entry_starts_at_zero(hardware: FakeCard, second: Session) -> None:
    entry = make_route(int(WORKER.ip), 32, 4)
    insert_entries(second, entry)
    place = place_of(hardware, "forwarding")
    for expected in (1, 2):
        hardware.blocks[2].count("forwarding", place, 100)
        for _ in range(2):
            assert second.direct_counters("forwarding")[entry].packets == expected
    hardware.blocks[2].count("forwarding", place, 100)
    second.write([EntityUpdate(Change.DELETE, entry)])
    insert_entries(second, entry)
    assert second.direct_counters("forwarding")[entry] == CounterData(0, 0)


def test_refusals_have_p4runtimes_codes(first: Session, hardware: FakeCard) -> None:
    insert_entries(first, WORKER_ENTRY)
    assert refusal_codes(first, Change.INSERT, WORKER_ENTRY) == ["ALREADY_EXISTS"]
    assert refusal_codes(first, Change.MODIFY, SERVER_ENTRY) == ["NOT_FOUND"]
    assert refusal_codes(first, Change.DELETE, SERVER_ENTRY) == ["NOT_FOUND"]
    many = [replace(SERVER_ENTRY, match={"server_addr": number}) for number in range(20)]
    refused = refusal_codes(first, Change.INSERT, *many)
    assert refused == ["RESOURCE_EXHAUSTED"] * 4, "the table has 16 entries"
    assert len(hardware.tables()["parameter_servers"]) == 16


def refusal_codes(session: Session, change: Change, *entities: TableEntry | MulticastGroup) -> list[str]:
    with pytest.raises(WriteFailed) as caught:
        session.write([EntityUpdate(change, each) for each in entities])
    return [failure.code for failure in caught.value.failures]


def test_what_matches_no_entry_is_not_counted(first: Session) -> None:
    with pytest.raises(P4RuntimeFailed) as caught:
        first.default_counter("workers")
    assert caught.value.code == "UNIMPLEMENTED"


def test_members_address_the_copies_of_their_groups(hardware: FakeCard, second: Session) -> None:
    deliver = TableEntry(
        "members",
        {"member": 7},
        "deliver",
        {"mac": mac_bits(WORKER.mac), "addr": int(WORKER.ip), "port": 4001},
    )
    group = MulticastGroup(6, [Replica(1, 7), Replica(2, 8)])
    insert_entries(second, group, deliver)
    addressed = Copy(1, mac_bits(WORKER.mac), int(WORKER.ip), 4001)
    assert hardware.box.groups()[6][0] == addressed
    assert hardware.box.groups()[6][1].mac is None
    moved = replace(deliver, params={**deliver.params, "port": 4002})
    second.write([EntityUpdate(Change.MODIFY, moved)])
    assert hardware.box.groups()[6][0] == replace(addressed, udp_port=4002)
    second.write([EntityUpdate(Change.DELETE, moved)])
    assert hardware.box.groups()[6][0].mac is None
    second.write([EntityUpdate(Change.DELETE, group)])
    assert hardware.box.groups() == {}


def half_replicas(port: int) -> list[Replica]:
    """Return half of the replicas that the copy table holds."""
    return [Replica(port, instance) for instance in range(COPIES // 2)]


def test_groups_share_the_copy_table_until_it_is_full(hardware: FakeCard, second: Session) -> None:
    whole = [MulticastGroup(number, half_replicas(1)) for number in (1, 2)]
    insert_entries(second, *whole)
    assert refusal_codes(second, Change.INSERT, MulticastGroup(3, [Replica(1, 0)])) == ["RESOURCE_EXHAUSTED"]
    # The table cannot hold the old and the new copies at once.
    second.write([EntityUpdate(Change.MODIFY, MulticastGroup(2, half_replicas(2)))])
    assert {copy.port for copy in hardware.box.groups()[2]} == {2}
    assert second.multicast_groups() == {whole[0], MulticastGroup(2, half_replicas(2))}


def test_a_full_table_of_workers_takes_few_accesses(card: Card, hardware: FakeCard) -> None:
    """The test inserts 16,384 entries, the last where others must move: 1,000 a second at 1 µs an access."""
    plane = card.planes[1]
    table = ProgramInfo(plane.p4info).table_named("workers")
    call = ActionCall(next(i for i, each in table.actions.items() if each.alias == "not_a_worker"), (1,))
    most, start = 0, hardware.accesses
    for address in random.Random(7).sample(range(1 << 32), 16384):
        before = hardware.accesses
        plane.insert(table.id, (Exact(address),), 0, call)
        most = max(most, hardware.accesses - before)
    assert most < 1000 and hardware.accesses - start < 10 * 16384
    with pytest.raises(TableFull):
        plane.insert(table.id, (Exact(1),), 0, call)


@pytest.mark.parametrize("writes", [3, 14, 40, 77, 101])
def test_after_a_kill_amid_writes_the_tables_are_as_desired(
    built: Built, hardware: FakeCard, writes: int
) -> None:
    """The new agent knows nothing of the block's entries."""
    desired = [replace(WORKER_ENTRY, match={"worker_addr": number}) for number in range(1, 12)]
    before = opened_card(hardware, built)
    with serve_devices(before.planes, "127.0.0.1:0") as agent, connect_primary(agent, built, 1) as session:
        insert_entries(
            session, *(replace(entry, params={**entry.params, "cluster": 1}) for entry in desired[:3])
        )
        hardware.writes_left = writes
        with suppress(OlafError):
            insert_entries(session, *desired[3:])
    before.close()
    hardware.writes_left = None
    held = hardware.tables().get("workers", {})
    after = opened_card(hardware, built)
    try:
        assert hardware.tables().get("workers", {}) == held, "a start changes nothing"
        with serve_devices(after.planes, "127.0.0.1:0") as agent, connect_primary(agent, built, 1) as session:
            assert "workers" not in hardware.tables(), "a pipeline starts empty"
            insert_entries(session, *desired)
            assert session.entries("workers") == set(desired)
        assert set(hardware.tables()["workers"]) == {(number, 0xFFFFFFFF) for number in range(1, 12)}
    finally:
        after.close()


def test_an_unplugged_card_is_reported_within_a_second(card: Card, hardware: FakeCard) -> None:
    """The watcher looks twice in a second, and the first look that finds the card gone reports it."""
    assert PERIOD <= 0.5
    seen: SimpleQueue[str] = SimpleQueue()

    class Listening(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            seen.put(record.getMessage())

    logger, listening = logging.getLogger("olafctl.targets.opennic.health"), Listening()
    logger.addHandler(listening)
    try:
        hardware.unplugged = True
        message = seen.get(timeout=60)
    finally:
        logger.removeHandler(listening)
    assert "all ones" in message and "plug it in" in message
    assert not card.health.answering


def test_writes_to_a_card_that_does_not_answer_are_refused(first: Session, hardware: FakeCard) -> None:
    hardware.unplugged = True
    with pytest.raises(OlafError, match=r"UNAVAILABLE.*all ones"):
        insert_entries(first, WORKER_ENTRY)


def test_a_link_that_is_down_is_reported_with_its_cause(card: Card, hardware: FakeCard) -> None:
    assert not card.health.problems
    hardware.others[CMACS[1] + RX_STATUS] = 0
    card.health._look()
    [problem] = card.health.problems
    assert problem.where == "CMAC 1"
    assert "RX is not aligned" in problem.what and "RS-FEC" in problem.remedy


def test_another_build_is_refused_with_what_to_do(hardware: FakeCard, built: Built) -> None:
    hardware.box.build_id ^= 1
    with pytest.raises(OlafError, match=r"the card runs build .* is of build .*program the card"):
        opened_card(hardware, built)


def test_a_pipeline_of_another_build_is_refused(agent: AgentServer, built: Built, tmp_path: Path) -> None:
    other = tmp_path / "config"
    other.write_text('{"ip": "vnp4_1", "build_id": "00000000"}')
    with (
        Session.connect(agent.address, 1, election_id=10) as session,
        pytest.raises(P4RuntimeFailed, match="is of vnp4_1 in build 00000000; the card has"),
    ):
        session.push(built.folder / CLIENT_P4INFO.format("vnp4_1"), other, cookie=1)


def test_registers_of_another_program_are_refused(built: Built, hardware: FakeCard, tmp_path: Path) -> None:
    build = tmp_path / "build"
    shutil.copytree(built.folder, build)
    first, second = (build / TABLES.format(name) for name in NAMES.values())
    shutil.copy(second, first)
    with pytest.raises(OlafError, match="the registers are not those of vnp4_2"):
        Card(hardware, None, build, [1, 2])


def test_the_tables_of_vitisnetp4_are_not_the_agents(
    built: Built, hardware: FakeCard, tmp_path: Path
) -> None:
    build = tmp_path / "build"
    shutil.copytree(built.folder, build, ignore=shutil.ignore_patterns("*.tables.json"))
    with pytest.raises(OlafError, match=r"AMD's own driver.*blocks: rtl"):
        Card(hardware, None, build, [1, 2])


def test_bar2_is_mapped_and_checked(tmp_path: Path) -> None:
    (tmp_path / "resource2").write_bytes(bytes(4096))
    (tmp_path / "config").write_bytes(b"\xee\x10\x3f\x90\x02\x00" + bytes(58))
    with pytest.raises(OlafError, match=r"has 4096 bytes, not 4194304.*rescan"):
        MappedBar(tmp_path)
    (tmp_path / "resource2").write_bytes(bytes(BYTES))
    bar = MappedBar(tmp_path)
    bar.write(0x100040, 0x01020304)
    assert bar.read(0x100040) == 0x01020304
    assert "does not answer" in bar.why_silent().what
    (tmp_path / "config").write_bytes(b"\xee\x10\x3f\x90\x00\x00" + bytes(58))
    assert "memory is disabled" in bar.why_silent().what
    assert "setpci" in bar.why_silent().remedy
    (tmp_path / "config").write_bytes(b"\xff" * 64)
    assert "gone from the bus" in bar.why_silent().what
    bar.close()
    assert (tmp_path / "resource2").read_bytes()[0x100040:0x100044] == b"\x04\x03\x02\x01"
    with pytest.raises(OlafError, match="cannot be opened"):
        MappedBar(tmp_path / "nothing")
