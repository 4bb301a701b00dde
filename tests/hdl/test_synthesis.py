"""The queue takes at most half of the paper's share of an XCU55C, and its logic is shallow."""

import re
from collections.abc import Mapping

import pytest

from olafctl.wire.geometry import Geometry
from olafswitch.errors import MissingTool
from olafswitch.simulation.mapping import find_mapper
from olafswitch.simulation.netlist import Netlist
from olaftest.queue.synthesis import synthesize_queue


@pytest.mark.timeout(900)
def test_fits_in_less_than_half_of_what_the_paper_takes() -> None:
    try:
        find_mapper()
    except MissingTool as missing:
        pytest.skip(str(missing))
    taken = synthesize_queue(Geometry(indices=16, slots=8, beats=24))
    assert 0 < taken.percent_of("LUT") <= 1.35
    assert 0 < taken.percent_of("FF") <= 0.80
    assert taken.crossings == ()
    assert 0 < taken.levels <= 11
    payload_bits = 2 * 9 * 24 * 512
    assert taken.bram36 * 36 * 1024 >= payload_bits > taken.ff


def _count_cells(kind: str, inputs: dict[str, list[int]], outputs: dict[str, list[int]]) -> dict[str, object]:
    return {
        "type": kind,
        "connections": {**inputs, **outputs},
        "port_directions": {**dict.fromkeys(inputs, "input"), **dict.fromkeys(outputs, "output")},
    }


def test_levels_count_two_carries_as_one_and_inverters_as_none() -> None:
    cells = {
        "from": _count_cells("FDRE", {"D": [9]}, {"Q": [1]}),
        "lut": _count_cells("LUT2", {"I0": [1]}, {"O": [2]}),
        "inv": _count_cells("INV", {"I": [2]}, {"O": [3]}),
        "carry0": _count_cells("CARRY4", {"S": [3]}, {"CO": [10, 11, 12, 13]}),
        "carry1": _count_cells("CARRY4", {"CI": [13]}, {"CO": [14, 15, 16, 17]}),
        "carry2": _count_cells("CARRY4", {"CI": [17]}, {"O": [18]}),
        "to": _count_cells("FDRE", {"D": [18]}, {"Q": [9]}),
    }
    names = {"start": {"bits": [1], "hide_name": 0}, "end": {"bits": [18], "hide_name": 0}}
    longest = Netlist({"cells": cells, "netnames": names, "ports": {}}).longest_path()
    assert longest.levels == 3
    assert (longest.nets[0], longest.nets[-1]) == ("start", "end")


def test_a_memory_is_read_through_but_written_to() -> None:
    cells = {
        "from": _count_cells("FDRE", {"D": [5]}, {"Q": [1]}),
        "ram": _count_cells("RAM64M8", {"ADDRA": [1], "ADDRH": [2], "DIA": [3]}, {"DOA": [4]}),
        "lut": _count_cells("LUT1", {"I0": [4]}, {"O": [5]}),
        "deep": _count_cells("LUT1", {"I0": [5]}, {"O": [3]}),
    }
    longest = Netlist({"cells": cells, "netnames": {}, "ports": {}}).longest_path()
    assert longest.levels == 3


def test_a_loop_is_refused() -> None:
    cells = {
        "one": _count_cells("LUT1", {"I0": [1]}, {"O": [2]}),
        "two": _count_cells("LUT1", {"I0": [2]}, {"O": [1]}),
    }
    with pytest.raises(ValueError, match="loop"):
        Netlist({"cells": cells, "netnames": {}, "ports": {}}).longest_path()


def _find_crossings(cells: Mapping[str, object], names: dict[str, int]) -> list[tuple[str, str]]:
    nets = {name: {"bits": [bit], "hide_name": 0} for name, bit in names.items()}
    ports = {"ready": {"direction": "input", "bits": [names["ready"]]}}
    netlist = Netlist({"cells": cells, "netnames": nets, "ports": ports})
    return [(one.source, one.end) for one in netlist.find_crossings("ready", re.compile(r"\.add\."))]


def test_a_memorys_read_must_not_reach_an_adder() -> None:
    names = {"ready": 9, "read": 1, "held": 2, "lanes.add.swapped": 4}
    cells = {
        "memory": _count_cells("RAMB36E2", {}, {"DOUTADOUT": [1]}),
        "direct": _count_cells("FDRE", {"D": [1]}, {"Q": [2]}),
    }
    assert _find_crossings(cells, names) == []
    cells["lut"] = _count_cells("LUT1", {"I0": [1]}, {"O": [3]})
    assert _find_crossings(cells, names) == []
    cells["adder"] = _count_cells("FDRE", {"D": [3]}, {"Q": [4]})
    assert _find_crossings(cells, names) == [("read", "lanes.add.swapped")]


def test_ready_must_not_reach_an_adder() -> None:
    names = {"ready": 9, "lanes.add.sum": 2, "count": 4}
    cells = {
        "lut": _count_cells("LUT1", {"I0": [9]}, {"O": [3]}),
        "count": _count_cells("FDRE", {"D": [3]}, {"Q": [4]}),
    }
    assert _find_crossings(cells, names) == []
    cells["adder"] = _count_cells("FDRE", {"D": [5], "CE": [3]}, {"Q": [2]})
    assert _find_crossings(cells, names) == [("ready", "lanes.add.sum")]
