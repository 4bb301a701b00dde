"""Ports on a command line: the permitted forms, and all problems of other texts at once."""

import pytest

from olafswitch.errors import BadInput
from olafswitch.ports.spec import PortSpec, parse_ports
from olafswitch.ports.transport import Transport


def test_each_kind() -> None:
    given = ["1=veth:eth0", "2=unix:/run/a:b.sock", "3=pcap:in.pcap,out.pcap", "4=tap:t0", "0=pcap:,out"]
    assert parse_ports(given, 510) == [
        PortSpec(1, Transport.VETH, "eth0"),
        PortSpec(2, Transport.UNIX, "/run/a:b.sock"),
        PortSpec(3, Transport.PCAP, "in.pcap,out.pcap"),
        PortSpec(4, Transport.TAP, "t0"),
        PortSpec(0, Transport.PCAP, ",out"),
    ]


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("1", "not understood"),
        ("1=veth", "not understood"),
        ("1=veth:", "not understood"),
        ("one=veth:eth0", "not a port number"),
        ("-1=veth:eth0", "not a port number"),
        ("511=veth:eth0", "not a port number"),
        ("²=veth:eth0", "not a port number"),
        ("510=veth:eth0", "CPU port"),
        ("1=wire:eth0", "kind 'wire' does not exist"),
        ("1=pcap:in.pcap", "two files"),
        ("1=pcap:,", "two files"),
        ("1=pcap:a,b,c", "two files"),
    ],
)
def test_wrong_ones(text: str, word: str) -> None:
    with pytest.raises(BadInput, match=word):
        parse_ports([text], 510)


def test_a_number_given_twice_and_all_problems_at_once() -> None:
    with pytest.raises(BadInput) as caught:
        parse_ports(["1=veth:a", "1=veth:b", "x"], 510)
    assert [problem.where for problem in caught.value.problems] == ["--port 1=veth:b", "--port x"]
