"""The generated headers: every byte where the wire format says it is."""

from __future__ import annotations

import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from olaf.transport import wire


def test_the_olaf_header_lies_byte_by_byte_as_documented() -> None:
    header = wire.Olaf(1, 2, 0xA, 0x3, 0x0405, 0x06070809, 1.0, 0x0A0B0C0D0E0F, 0x1011, 0x1213)
    expected = bytes.fromhex("12 a3 0405 06070809 3f800000 0a0b0c0d0e0f 1011 1213")
    assert header.pack() == expected
    assert wire.Olaf.unpack(b"xx" + expected, 2) == header
    assert len(expected) == wire.OLAF_BYTES == 22


def test_the_status_header_has_a_24_bit_occupancy() -> None:
    status = wire.OlafStatus(0x010203, 0x0405, 0x0607, 0x08)
    assert status.pack() == bytes(range(1, 9))
    assert wire.OlafStatus.unpack(bytes(range(1, 9))) == status


def test_a_cluster_name_is_padded_and_a_mac_is_its_last_bytes() -> None:
    packed = wire.Join(wire.ControlAction.JOIN, wire.MemberRole.WORKER, b"lander", 9797, 7, b"m" * 16).pack()
    assert packed[:8] == b"\x01\x00lander"
    assert packed[8:34] == bytes(26)
    assert packed[-16:] == b"m" * 16


@given(
    st.builds(
        wire.Olaf,
        st.integers(0, 15),
        st.integers(0, 15),
        st.integers(0, 15),
        st.integers(0, 15),
        st.integers(0, 2**16 - 1),
        st.integers(0, 2**32 - 1),
        st.floats(width=32, allow_nan=False),
        st.integers(0, 2**48 - 1),
        st.integers(0, 2**16 - 1),
        st.integers(0, 2**16 - 1),
    )
)
def test_unpack_inverts_pack(header: wire.Olaf) -> None:
    assert wire.Olaf.unpack(header.pack()) == header


def test_too_few_bytes_and_too_large_values_are_refused() -> None:
    with pytest.raises(struct.error):
        wire.Olaf.unpack(bytes(21))
    with pytest.raises(struct.error):
        wire.Olaf(1, 1, 0, 0, 1 << 16, 0, 0.0, 0, 0, 0).pack()


def test_the_delta_header_has_32_bytes_and_its_crc_last() -> None:
    delta = wire.Delta(1, 2, 3, 4, 5, wire.Codec.SET, 2, 6, 7)
    assert delta.pack() == struct.pack(">IIIIQBBHI", 1, 2, 3, 4, 5, 2, 2, 6, 7)
    assert wire.Delta.unpack(delta.pack()) == delta
    assert wire.DELTA_BYTES == 32


def test_a_players_message_begins_like_no_other() -> None:
    assert wire.WANT_ACTION not in {*wire.ControlAction, *wire.Talk}
    assert wire.WANT_ACTION >> 4 == 0
