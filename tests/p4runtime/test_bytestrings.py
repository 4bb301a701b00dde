"""Binary strings: the tables of examples in P4Runtime §8.3, and round trips."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from olafswitch.p4runtime import bytestrings


@pytest.mark.parametrize(
    ("bits", "value", "string", "canonical"),
    [
        (8, 99, b"\x63", True),
        (16, 99, b"\x00\x63", False),
        (16, 99, b"\x63", True),
        (16, 12388, b"\x30\x64", True),
        (16, 12388, b"\x00\x30\x64", False),
        (12, 99, b"\x00\x63", False),
        (12, 99, b"\x00\x00\x63", False),
    ],
)
def test_valid_unsigned(bits: int, value: int, string: bytes, canonical: bool) -> None:
    assert bytestrings.decode_unsigned(string, bits) == value
    assert (bytestrings.encode_unsigned(value) == string) is canonical


@pytest.mark.parametrize(
    ("bits", "value", "string", "canonical"),
    [
        (8, 99, b"\x63", True),
        (8, -99, b"\x9d", True),
        (8, -99, b"\xff\x9d", False),
        (12, -739, b"\xfd\x1d", True),
        (16, 0, b"\x00\x00", False),
        (16, 0, b"\x00", True),
    ],
)
def test_valid_signed(bits: int, value: int, string: bytes, canonical: bool) -> None:
    assert bytestrings.decode_signed(string, bits) == value
    assert (bytestrings.encode_signed(value) == string) is canonical


@pytest.mark.parametrize(
    ("bits", "string"),
    [
        (8, b"\x01\x63"),
        (8, b""),
        (16, b"\x01\x00\x63"),
        (12, b"\x10\x63"),
        (12, b"\x01\x00\x63"),
        (12, b"\x00\x40\x63"),
    ],
)
def test_invalid_unsigned(bits: int, string: bytes) -> None:
    with pytest.raises(ValueError, match=r"empty|does not fit"):
        bytestrings.decode_unsigned(string, bits)


@pytest.mark.parametrize(("bits", "string"), [(8, b"\x00\x9d"), (12, b"\x8d\x1d"), (16, b"")])
def test_invalid_signed(bits: int, string: bytes) -> None:
    with pytest.raises(ValueError, match=r"empty|does not fit"):
        bytestrings.decode_signed(string, bits)


@given(st.integers(0, 1 << 300), st.integers(0, 20))
def test_unsigned_round_trip(value: int, padding: int) -> None:
    string = bytestrings.encode_unsigned(value)
    bits = max(value.bit_length(), 1)
    assert len(string) == (bits + 7) // 8
    assert bytestrings.decode_unsigned(bytes(padding) + string, bits) == value


@given(st.integers(-(1 << 300), 1 << 300), st.integers(0, 20))
def test_signed_round_trip(value: int, padding: int) -> None:
    string = bytestrings.encode_signed(value)
    bits = (value if value >= 0 else ~value).bit_length() + 1
    assert len(string) == (bits + 7) // 8
    extension = (b"\xff" if value < 0 else b"\x00") * padding
    assert bytestrings.decode_signed(extension + string, bits) == value
