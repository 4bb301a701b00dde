"""pcap files grow record by record, and are read while they grow."""

import struct
from contextlib import closing
from pathlib import Path

import pytest
from scapy.layers.l2 import Ether
from scapy.utils import PcapReader as ScapyReader
from scapy.utils import wrpcap

from olafswitch.errors import OlafError
from olafswitch.ports.attachment import Attachment
from olafswitch.ports.host import open_host_port
from olafswitch.ports.pcap import PcapReader, PcapWriter, read_capture, why_not_written
from olafswitch.ports.transport import Transport

FRAME = bytes(range(60))


def test_frames_come_back_with_their_times(tmp_path: Path) -> None:
    writer = PcapWriter(tmp_path / "a.pcap")
    writer.write(FRAME, 1_700_000_000_123_456_789)
    writer.write(FRAME[:14], 5)
    assert list(PcapReader(tmp_path / "a.pcap")) == [(1_700_000_000_123_456_789, FRAME), (5, FRAME[:14])]


def test_others_can_read_what_is_written(tmp_path: Path) -> None:
    PcapWriter(tmp_path / "a.pcap").write(FRAME, 10**9)
    with ScapyReader(str(tmp_path / "a.pcap")) as reader:
        assert [bytes(packet) for packet in reader] == [FRAME]


def test_what_others_write_can_be_read(tmp_path: Path) -> None:
    wrpcap(str(tmp_path / "a.pcap"), [Ether(FRAME)])
    assert [frame for _, frame in PcapReader(tmp_path / "a.pcap")] == [FRAME]


def test_a_big_endian_microsecond_file_is_read(tmp_path: Path) -> None:
    header = struct.pack(">IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 65535, 1)
    record = struct.pack(">IIII", 1, 2, len(FRAME), len(FRAME)) + FRAME
    (tmp_path / "a.pcap").write_bytes(header + record)
    assert list(PcapReader(tmp_path / "a.pcap")) == [(10**9 + 2000, FRAME)]


def test_an_incomplete_record_is_not_there_yet(tmp_path: Path) -> None:
    path = tmp_path / "a.pcap"
    PcapWriter(path).write(FRAME, 7)
    whole = path.read_bytes()
    path.write_bytes(whole[:-1])
    reader = PcapReader(path)
    assert reader.next() is None
    path.write_bytes(whole)
    assert reader.next() == (7, FRAME)
    assert reader.next() is None


def test_an_empty_file_is_not_there_yet(tmp_path: Path) -> None:
    (tmp_path / "a.pcap").touch()
    reader = PcapReader(tmp_path / "a.pcap")
    assert reader.next() is None
    PcapWriter(tmp_path / "a.pcap").write(FRAME, 9)
    assert reader.next() == (9, FRAME)


@pytest.mark.parametrize(
    ("content", "word"),
    [
        (b"not a capture, but long enough to look like one", "not a pcap file"),
        (struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 65535, 101), "Ethernet"),
    ],
)
def test_other_files_are_named(tmp_path: Path, content: bytes, word: str) -> None:
    (tmp_path / "a.pcap").write_bytes(content)
    with pytest.raises(ValueError, match=word):
        PcapReader(tmp_path / "a.pcap").next()


def test_bmv2s_own_files_are_read(tmp_path: Path) -> None:
    header = struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 65535, 0)
    (tmp_path / "a.pcap").write_bytes(header + struct.pack("<IIII", 1, 2, len(FRAME), len(FRAME)) + FRAME)
    assert read_capture(tmp_path / "a.pcap") == [(10**9 + 2000, FRAME)]


@pytest.mark.parametrize(
    ("records", "why"),
    [
        (b"\0" * 7, "ends inside of record 1: 7 bytes"),
        (struct.pack("<IIII", 1, 2, len(FRAME), len(FRAME)) + FRAME[:-1], "ends inside of record 1"),
        (struct.pack("<IIII", 1, 2, 2**31, 2**31) + FRAME, "says 2147483648 bytes"),
        (struct.pack("<IIII", 1, 2, 14, len(FRAME)) + FRAME[:14], "frame 1 has 14 of its"),
    ],
)
def test_a_damaged_capture_is_refused(tmp_path: Path, records: bytes, why: str) -> None:
    header = struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 65535, 1)
    (tmp_path / "a.pcap").write_bytes(header + records)
    with pytest.raises(ValueError, match=why):
        read_capture(tmp_path / "a.pcap")


def test_a_new_capture_never_replaces_what_others_wrote(tmp_path: Path) -> None:
    path = tmp_path / "notes.txt"
    assert why_not_written(path) is None
    path.write_text("a month's work, and no capture")
    assert "did not write" in str(why_not_written(path))
    wrpcap(str(tmp_path / "theirs.pcap"), [Ether(FRAME)])
    assert "did not write" in str(why_not_written(tmp_path / "theirs.pcap"))
    PcapWriter(tmp_path / "ours.pcap").write(FRAME)
    assert why_not_written(tmp_path / "ours.pcap") is None


def test_a_host_gets_an_error_for_a_file_of_another_kind(tmp_path: Path) -> None:
    (tmp_path / "out.pcap").write_bytes(b"years of work, in another format")
    attachment = Attachment(1, Transport.PCAP, f"{tmp_path}/in.pcap,{tmp_path}/out.pcap")
    with closing(open_host_port(attachment)) as host:
        host.send(FRAME)
        with pytest.raises(OlafError, match=r"out\.pcap is not a pcap file"):
            host.receive(0)
    assert [frame for _, frame in PcapReader(tmp_path / "in.pcap")] == [FRAME]
