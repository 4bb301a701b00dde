"""The agent's rooms use only those that its docstring lists below them."""

import re

import grimp

from olafswitch.p4runtime import agent

ROOMS = re.findall(r"^    (\w+)  ", agent.__doc__ or "", re.MULTILINE)


def test_each_room_uses_only_those_below_it() -> None:
    graph = grimp.build_graph("olafswitch", cache_dir=None)
    assert {child.rpartition(".")[2] for child in graph.find_children(agent.__name__)} == set(ROOMS)
    for place, room in enumerate(ROOMS):
        above = {f"{agent.__name__}.{name}" for name in ROOMS[:place]}
        for module in graph.find_descendants(f"{agent.__name__}.{room}"):
            used = graph.find_modules_directly_imported_by(module)
            assert [name for name in used if name.startswith(tuple(f"{each}." for each in above))] == []
