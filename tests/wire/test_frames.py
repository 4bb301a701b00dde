"""The Python codec, the Scapy layers, the C shim and the layouts agree on every byte."""

import ctypes
import subprocess
from ipaddress import IPv4Address

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scapy.layers.l2 import Ether

from olafctl import paths
from olafctl.wire import layouts
from olafctl.wire.frames import Datagram, Endpoint, pack_header, unpack_header
from olafctl.wire.layouts import Flag, FrameType, HeaderLayout
from olafctl.wire.scapy_layers import Olaf, OlafStatus, Shim
from olafswitch.toolchain import cxx
from olaftest.frames import OlafFrame

WORKER = Endpoint("02:00:00:00:00:01", IPv4Address("10.0.0.1"), 40001)
SERVER = Endpoint("02:00:00:00:00:fe", IPv4Address("10.0.0.254"), layouts.UDP_PORT)


def values_of(layout: HeaderLayout) -> st.SearchStrategy[dict[str, int]]:
    return st.fixed_dictionaries({f.name: st.integers(0, (1 << f.bits) - 1) for f in layout.fields})


@pytest.mark.parametrize("layout", layouts.ALL, ids=lambda layout: layout.name)
def test_every_layout_is_whole_bytes_with_distinct_fields(layout: HeaderLayout) -> None:
    assert layout.bits % 8 == 0
    assert len({field.name for field in layout.fields}) == len(layout.fields)


@given(values=st.sampled_from(layouts.ALL).flatmap(lambda lay: st.tuples(st.just(lay), values_of(lay))))
def test_unpack_inverts_pack(values: tuple[HeaderLayout, dict[str, int]]) -> None:
    layout, fields = values
    assert unpack_header(layout, pack_header(layout, fields)) == fields


def test_a_value_too_wide_or_a_field_unknown_is_refused() -> None:
    with pytest.raises(ValueError, match=r"olaf\.count"):
        pack_header(layouts.OLAF, {"count": 1 << 16})
    with pytest.raises(ValueError, match="no field colour"):
        pack_header(layouts.OLAF, {"colour": 1})
    with pytest.raises(ValueError, match="needs 22 bytes"):
        unpack_header(layouts.OLAF, bytes(21))


@given(
    gradient=st.lists(st.floats(width=32, allow_nan=False), max_size=40),
    reward=st.floats(width=32, allow_nan=False),
    seq=st.integers(0, 2**32 - 1),
    gen_time=st.integers(0, 2**48 - 1),
)
def test_decode_inverts_encode(gradient: list[float], reward: float, seq: int, gen_time: int) -> None:
    sent = OlafFrame(
        WORKER, SERVER, FrameType.UPDATE, 0, 1, seq, reward, gen_time, np.array(gradient, np.float32)
    )
    got = OlafFrame.decode(sent.encode())
    assert got.encode() == sent.encode()
    assert (got.source, got.destination, got.seq, got.gen_time) == (WORKER, SERVER, seq, gen_time)
    assert got.gradient.tobytes() == sent.gradient.tobytes()


@given(body=st.binary(max_size=60), tos=st.integers(0, 255), padding=st.integers(0, 20))
def test_a_datagram_is_received_as_it_was_sent(body: bytes, tos: int, padding: int) -> None:
    sent = Datagram(WORKER, SERVER, body, tos)
    assert Datagram.decode(sent.encode() + bytes(padding)) == sent


@given(place=st.integers(12, 33), value=st.integers(1, 255))
def test_a_datagram_with_damaged_headers_is_not_received(place: int, value: int) -> None:
    frame = bytearray(Datagram(WORKER, SERVER, bytes(8)).encode())
    frame[place] ^= value
    with pytest.raises(ValueError, match=r"options|checksum|fit"):
        Datagram.decode(bytes(frame))


def test_scapy_reads_what_the_codec_wrote() -> None:
    status = {"occupancy": 5, "active_clusters": 9, "slots": 8, "flags": 1}
    gradient = np.arange(4, dtype=np.float32)
    ack = OlafFrame(SERVER, WORKER, FrameType.ACK, Flag.STATUS, 3, 7, 1.5, 11, gradient, status)
    packet = Ether(ack.encode())
    assert packet[Olaf].reward == 1.5
    assert packet[Olaf].seq == 7
    assert {name: packet[OlafStatus].getfieldval(name) for name in status} == status
    assert bytes(packet[OlafStatus].payload) == gradient.tobytes()
    assert bytes(packet) == ack.encode()


@pytest.fixture(scope="module")
def c_shim(tmp_path_factory: pytest.TempPathFactory) -> ctypes.CDLL:
    """Provide the generated C functions as a shared library."""
    folder = tmp_path_factory.mktemp("shim")
    header = paths.sources() / "olafctl/wire/native/tuser.h"
    source = folder / "shim.cpp"
    source.write_text(
        f'#include "{header}"\nextern "C" void echo(const uint8_t *in, uint8_t *out) {{\n'
        + "".join(
            f"olaf_shim_set_{field.name}(out, olaf_shim_{field.name}(in));\n"
            for field in layouts.TUSER.fields
        )
        + '}\nextern "C" uint32_t worker(const uint8_t *in) { return olaf_shim_worker(in); }\n'
    )
    library = folder / "shim.so"
    subprocess.run(
        [*cxx().command, "-shared", "-fPIC", "-Wall", "-Werror", source, "-o", library],
        check=True,
    )
    return ctypes.CDLL(str(library))


@given(values=values_of(layouts.TUSER))
def test_the_c_shim_agrees_with_the_layout(c_shim: ctypes.CDLL, values: dict[str, int]) -> None:
    shim = pack_header(layouts.TUSER, values)
    out = ctypes.create_string_buffer(len(shim))
    c_shim.echo(shim, out)
    assert out.raw == shim
    assert c_shim.worker(shim) & 0xFFFFFFFF == values["worker"]


def test_scapy_takes_a_frame_with_its_shim_apart() -> None:
    fields = {field.name: number for number, field in enumerate(layouts.TUSER.fields, start=1)}
    data = pack_header(layouts.TUSER, fields) + bytes(60)
    shim = Shim(data)
    assert {name: shim.getfieldval(name) for name in fields} == fields
    assert bytes(shim.payload) == bytes(60)
