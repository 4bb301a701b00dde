"""A PCI Express root complex at Corundum's core: BARs for whom asks, the host's memory for its DMA."""

from collections.abc import Callable

from olafswitch.errors import OlafError, Problem
from olafswitch.simulation.bench import Bench, Signals

LARGEST = 2
"""The largest payload and read request, 512 bytes, as PCI Express encodes it: a read has one completion."""
_MEMORY_BYTES = 16 << 20
_PAGE = 4096
_BEAT, _HEADER = 32, 16
"""Bytes of a beat, and of a header."""
_READ, _WRITE, _COMPLETION = 0x00, 0x40, 0x4A
"""Format and type of a TLP: memory read and write with 32-bit address, completion with data."""
_SPAN = (("hdr", 128), ("sop", 1), ("eop", 1))
_INTO = (*_SPAN, ("strb", _BEAT // 4))
_CREDITS = 32
"""Writes that may wait."""
_LIMIT = 20_000
"""Cycles after which a read counts as never answered."""


class RootComplex:
    """The host's side of the link. ``run`` lets cycles pass, and calls :meth:`serve` on the way."""

    def __init__(self, bench: Bench, run: Callable[[int], None]) -> None:
        self._run = run
        self._request = bench.source(_name_tlp("rx_req", (*_INTO, ("bar_id", 3))))
        self._data = bench.source(_name_tlp("rx_cpl", _INTO))
        self._answer = bench.sink(_name_tlp("tx_cpl", _SPAN))
        self._written = bench.sink(_name_tlp("tx_wr_req", _SPAN))
        wanted = "pcie_tx_rd_req_tlp_"
        self._wanted = bench.sink(
            Signals(f"{wanted}hdr", "", "", f"{wanted}valid", f"{wanted}ready", beat=_HEADER)
        )
        self.forget()

    def forget(self) -> None:
        """Begin anew after a reset: the memory is empty, and no TLP is on its way."""
        self.memory = bytearray(_MEMORY_BYTES)
        self._taken = _PAGE
        self._answers: list[int] = []
        self._payload = bytearray()
        for source in (self._request, self._data):
            source.forget()
        for sink in (self._answer, self._written, self._wanted):
            sink.frames()

    @property
    def beats(self) -> int:
        """Beats of DMA that have passed."""
        return self._data.beats + self._written.beats + self._wanted.beats

    def allocate(self, size: int) -> int:
        """Return the address of ``size`` bytes of memory, at the beginning of a page."""
        at, self._taken = self._taken, self._taken + -(-size // _PAGE) * _PAGE
        if self._taken > _MEMORY_BYTES:
            raise OlafError(Problem("the simulated host has no memory left for rings"))
        return at

    def read(self, bar: int, address: int) -> int:
        """Read a word of a BAR; what was written before is there by then. Raises OlafError."""
        self._answers.clear()
        self._request.beat(b"", (_pack_header(_READ, 1, 0x0F, address), 1, 1, 0, bar), last=True)
        for _ in range(_LIMIT // 8):
            self._run(8)
            if self._answers:
                return self._answers.pop()
        raise OlafError(Problem(f"no answer at {address:#x} of BAR {bar} within {_LIMIT} cycles"))

    def write(self, bar: int, address: int, value: int) -> None:
        """Write a word of a BAR: posted, in the order of accesses."""
        header = _pack_header(_WRITE, 1, 0x0F, address)
        self._request.beat(value.to_bytes(4, "little"), (header, 1, 1, 1, bar), last=True)

    def wait_for_credits(self) -> None:
        """Let cycles pass until few writes wait, as flow control on the link has it."""
        while self._request.pending > _CREDITS:
            self._run(8)

    def serve(self) -> None:
        """Answer what the NIC has asked for."""
        for answer in self._answer.frames():
            self._answers.append(int.from_bytes(answer.data[:4], "little"))
        for beat in self._written.frames():
            header, first, last = beat.user
            if first:
                self._payload.clear()
                self._header = header
            self._payload += beat.data
            if last:
                at, size = _measure_request(self._header)
                self.memory[at : at + size] = self._payload[at % 4 : at % 4 + size]
        for wanted in self._wanted.frames():
            self._complete_read(int.from_bytes(wanted.data, "little"))

    def _complete_read(self, header: int) -> None:
        at, size = _measure_request(header)
        begin, words = at & ~3, header >> 96 & 0x3FF
        data = self.memory[begin : begin + 4 * words]
        asked = header >> 64 & 0xFFFFFF00
        answer = _pack_header(_COMPLETION, words, size & 0xFFF, asked | at & 0x7F)
        for place in range(0, len(data), _BEAT):
            part = bytes(data[place : place + _BEAT])
            ends = int(place == 0), int(place + _BEAT >= len(data))
            self._data.beat(part, (answer, *ends, (1 << len(part) // 4) - 1), last=True)


def _name_tlp(name: str, user: tuple[tuple[str, int], ...]) -> Signals:
    """Name the signals of a TLP's stream: each beat with its header and its place in the TLP."""
    prefix = f"pcie_{name}_tlp_"
    flow = (f"{prefix}valid", f"{prefix}ready")
    return Signals(
        f"{prefix}data", "", "", *flow, tuple((prefix + each, bits) for each, bits in user), 0, _BEAT
    )


def _pack_header(kind: int, words: int, second: int, third: int) -> int:
    return (kind << 24 | words) << 96 | second << 64 | third << 32


def _measure_request(header: int) -> tuple[int, int]:
    """Return where the bytes of a read or write are, and how many, by its byte enables."""
    first, last = header >> 64 & 15, header >> 68 & 15
    at = header & ~3 & (1 << 64) - 1 if header >> 125 & 1 else header >> 32 & 0xFFFFFFFC
    skip = max((first & -first).bit_length() - 1, 0)
    return at + skip, max(4 * (header >> 96 & 0x3FF) - skip + (last or first).bit_length() - 4, 1)
