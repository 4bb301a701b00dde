"""The agent's modules use only those that its docstring lists below them."""

import re

import grimp

from olafswitch.p4runtime import agent

MODULES = re.findall(r"^    (\w+)  ", agent.__doc__ or "", re.MULTILINE)


def test_each_module_uses_only_those_below_it() -> None:
    graph = grimp.build_graph("olafswitch", cache_dir=None)
    assert {child.rpartition(".")[2] for child in graph.find_children(agent.__name__)} == set(MODULES)
    for place, module in enumerate(MODULES):
        above = {f"{agent.__name__}.{name}" for name in MODULES[: place + 1]}
        assert not above & graph.find_modules_directly_imported_by(f"{agent.__name__}.{module}")
