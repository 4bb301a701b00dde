"""A table of wrong testbeds: what is changed in a right one, and every line that must be said of it."""

from dataclasses import dataclass

from olafctl.testbed.load import known_targets

RIGHT = """\
name: small
target: twin
udp_port: 20300
control_tos: 0xFC
engine: {clusters: 4, slots: 8, beats: 24}
ports:
  - {number: 1, name: ps}
  - {numbers: 2-3, name: tor}
parameter_servers:
  - {name: ps, port: ps, ip: 10.0.0.254}
clusters:
  - name: a
    workers:
      - {name: a0, port: 2, ip: 10.0.1.1, id: 7}
      - {name: a1, port: 3, ip: 10.0.1.2, id: 8}
  - {count: 2, workers: 2, name: b, ports: 2-3, ip: 10.0.2.1}
hosts:
  - {name: gateway, port: 1, ip: 10.0.0.1}
routes:
  - {prefix: 10.0.0.0/8, port: 2}
"""


@dataclass(frozen=True)
class Wrong:
    """``RIGHT`` with ``old`` replaced by ``new``, and what must be said (after the file's name)."""

    name: str
    old: str
    new: str
    said: tuple[str, ...]


def whole_file(name: str, text: str, *said: str) -> Wrong:
    return Wrong(name, RIGHT, text, said)


def changed(name: str, old: str, new: str, *said: str) -> Wrong:
    assert RIGHT.count(old) == 1, f"{name}: {old!r} must stand once in RIGHT"
    return Wrong(name, old, new, said)


ENGINE = "engine: {clusters: 4, slots: 8, beats: 24}"
A0 = "{name: a0, port: 2, ip: 10.0.1.1, id: 7}"
B = "{count: 2, workers: 2, name: b, ports: 2-3, ip: 10.0.2.1}"
RATE_REMEDY = "(give a rate such as 40 Gb/s, from 4 kb/s to 128 Gb/s, or off)"

TABLE = [
    # The file
    whole_file("empty", "", " is empty (`olafctl init` writes a testbed to start from)"),
    whole_file("comments-only", "# later\n", " is empty (`olafctl init` writes a testbed to start from)"),
    whole_file("a-list", "- 1\n- 2\n", "1: expected fields, found a list (write `name: value` lines)"),
    whole_file("a-word", "olaf\n", "1: expected fields, found the value 'olaf' (write `name: value` lines)"),
    changed(
        "unclosed-bracket",
        ENGINE,
        "engine: {clusters: 4, slots: 8",
        "6: bad YAML: expected ',' or '}', but got ':' (check quotes, brackets, colons and indentation)",
    ),
    changed(
        "tab",
        "  - {number: 1, name: ps}",
        "\t- {number: 1, name: ps}",
        "7: a tab in the indentation (YAML indents with spaces)",
    ),
    changed(
        "two-documents",
        "hosts:",
        "---\nhosts:",
        "17: bad YAML: but found another document (check quotes, brackets, colons and indentation)",
    ),
    changed(
        "undefined-alias",
        "name: small",
        "name: *other",
        "1: bad YAML: found undefined alias 'other' (check quotes, brackets, colons and indentation)",
    ),
    whole_file("nested-too-deeply", "[" * 20000, " is nested too deeply (a testbed needs five levels)"),
    # Keys
    changed("misspelt-key", "target: twin", "tagret: twin", "2: tagret: unknown key (did you mean target?)"),
    changed(
        "unknown-key-inside",
        "beats: 24",
        "colour: red",
        "5: engine.colour: unknown key (known here: active_window, adder_latency, beats, clusters, mode, "
        "output_rate, reward_threshold, slots)",
    ),
    changed(
        "misspelt-worker-key",
        "id: 7",
        "udp_prot: 7",
        "14: clusters[0].workers[0].udp_prot: unknown key (did you mean udp_port?)",
    ),
    changed(
        "key-twice",
        "target: twin",
        "target: twin\nname: other",
        "3: name: given twice, first on line 1 (keep one of them)",
    ),
    changed(
        "list-as-key",
        "target: twin",
        "? [a, b]\n: twin",
        "2: a list as a key (use a plain word)",
    ),
    # Names and choices
    changed(
        "name-is-a-path",
        "name: small",
        "name: ../etc",
        "1: name: '../etc' is no name (use up to 40 letters, digits, '.', '-' and '_', "
        "beginning with a letter or digit)",
    ),
    changed(
        "unknown-target",
        "target: twin",
        "target: twim",
        f"2: target: 'twim' is not one of {', '.join(known_targets())} (did you mean twin?)",
    ),
    changed(
        "unknown-mode",
        "beats: 24",
        "mode: lifo",
        "5: engine.mode: 'lifo' is not one of olaf, fifo (did you mean fifo?)",
    ),
    changed(
        "unknown-transport",
        "{number: 1, name: ps}",
        "{number: 1, name: ps, transport: carrier-pigeon}",
        "7: ports[0].transport: 'carrier-pigeon' is not one of veth, tap, unix, pcap (use veth)",
    ),
    # Types
    changed(
        "word-for-a-number",
        "slots: 8",
        "slots: eight",
        "5: engine.slots: 'eight' is not a whole number (give a number from 1 to 1023)",
    ),
    changed(
        "fraction-for-a-number",
        "slots: 8",
        "slots: 8.5",
        "5: engine.slots: '8.5' is not a whole number (give a number from 1 to 1023)",
    ),
    changed(
        "list-for-a-value",
        "slots: 8",
        "slots: [8]",
        "5: engine.slots: expected one value, found a list (write it as `name: value`)",
    ),
    changed(
        "value-for-a-mapping",
        ENGINE,
        "engine: fast",
        "5: engine: expected fields, found the value 'fast' (write `name: value` lines)",
    ),
    changed(
        "value-for-a-list",
        "ports:\n  - {number: 1, name: ps}\n  - {numbers: 2-3, name: tor}",
        "ports: 3",
        "6: ports: expected a list, found the value '3' (begin each item with '- ')",
        "8: parameter_servers[0].port: there is no port 'ps' (declare it under ports; known: none yet)",
        "12: clusters[0].workers[0].port: there is no port '2' (declare it under ports; known: none yet)",
        "13: clusters[0].workers[1].port: there is no port '3' (declare it under ports; known: none yet)",
        "14: clusters[1].ports: there is no port '2' (declare it under ports; known: none yet)",
        "16: hosts[0].port: there is no port '1' (declare it under ports; known: none yet)",
        "18: routes[0].port: there is no port '2' (declare it under ports; known: none yet)",
    ),
    # Engine
    changed(
        "clusters-not-a-power-of-two",
        "clusters: 4",
        "clusters: 12",
        "5: engine.clusters: 12 is not a power of two (give 8 or 16)",
    ),
    changed(
        "too-many-cluster-indices",
        "clusters: 4",
        "clusters: 2048",
        "5: engine.clusters: 2048 is out of range (give a number from 1 to 1024)",
    ),
    changed(
        "no-slots",
        "slots: 8",
        "slots: 0",
        "5: engine.slots: 0 is out of range (give a number from 1 to 1023)",
    ),
    changed(
        "absurd-slots",
        "slots: 8",
        f"slots: 1{'0' * 4000}",
        "5: engine.slots: a number of 13288 bits is out of range (give a number from 1 to 1023)",
    ),
    changed(
        "beats-hold-headers-only",
        "beats: 24",
        "beats: 1",
        "5: engine.beats: 1 is out of range (give a number from 2 to 142)",
    ),
    changed(
        "beats-beyond-jumbo",
        "beats: 24",
        "beats: 143",
        "5: engine.beats: 143 is out of range (give a number from 2 to 142)",
    ),
    changed(
        "rate-beyond-the-wire",
        "beats: 24",
        "output_rate: 129 Gb/s",
        f"5: engine.output_rate: 129 Gb/s is an impossible rate {RATE_REMEDY}",
    ),
    changed(
        "rate-zero",
        "beats: 24",
        "output_rate: 0 Gb/s",
        f"5: engine.output_rate: 0 Gb/s is an impossible rate {RATE_REMEDY}",
    ),
    changed(
        "rate-negative",
        "beats: 24",
        "output_rate: -1 Gb/s",
        f"5: engine.output_rate: -1 Gb/s is an impossible rate {RATE_REMEDY}",
    ),
    changed(
        "rate-without-unit",
        "beats: 24",
        "output_rate: 40",
        f"5: engine.output_rate: '40' is not a rate {RATE_REMEDY}",
    ),
    changed(
        "rate-overflowing",
        "beats: 24",
        "output_rate: 9e999 Gb/s",
        f"5: engine.output_rate: 9e999 Gb/s is an impossible rate {RATE_REMEDY}",
    ),
    changed(
        "threshold-negative",
        "beats: 24",
        "reward_threshold: -1",
        "5: engine.reward_threshold: -1 is out of range (give a number of at least 0, or off)",
    ),
    changed(
        "threshold-not-a-number",
        "beats: 24",
        "reward_threshold: .nan",
        "5: engine.reward_threshold: '.nan' is not a number (give a number of at least 0, or off)",
    ),
    changed(
        "window-without-unit",
        "beats: 24",
        "active_window: 10",
        "5: engine.active_window: '10' is not a duration (give a duration such as 1 ms, from 4 ns to 8.5 s)",
    ),
    changed(
        "window-too-long",
        "beats: 24",
        "active_window: 1 h",
        "5: engine.active_window: '1 h' is not a duration (give a duration such as 1 ms, from 4 ns to 8.5 s)",
    ),
    # UDP port and ToS
    changed(
        "udp-port-zero",
        "udp_port: 20300",
        "udp_port: 0",
        "3: udp_port: 0 is out of range (give a number from 1 to 65535)",
    ),
    changed(
        "tos-with-ecn",
        "0xFC",
        "0xFD",
        "4: control_tos: 0xFD has ECN bits set, which routers change (clear the low two bits: 0xFC)",
    ),
    changed(
        "tos-of-ordinary-traffic",
        "0xFC",
        "0",
        "4: control_tos: 0 is out of range (give a number from 4 to 255)",
    ),
    # Ports
    changed(
        "port-zero",
        "{number: 1, name: ps}",
        "{number: 0, name: ps}",
        "7: ports[0].number: 0 is out of range (give a number from 1 to 499)",
        "10: parameter_servers[0].port: there is no port 'ps' "
        "(declare it under ports; known: 2 (tor2), 3 (tor3))",
        "18: hosts[0].port: there is no port '1' (declare it under ports; known: 2 (tor2), 3 (tor3))",
    ),
    changed(
        "port-beyond-the-front",
        "{numbers: 2-3, name: tor}",
        "{numbers: 2-3, name: tor}\n  - {number: 500}",
        "9: ports[2].number: 500 is out of range (give a number from 1 to 499)",
    ),
    changed(
        "port-range-backwards",
        "numbers: 2-3",
        "numbers: 3-2",
        "8: ports[1].numbers: 3-2 ends before it begins (write 2-3)",
        "14: clusters[0].workers[0].port: there is no port '2' (declare it under ports; known: 1 (ps))",
        "15: clusters[0].workers[1].port: there is no port '3' (declare it under ports; known: 1 (ps))",
        "16: clusters[1].ports: there is no port '2' (declare it under ports; known: 1 (ps))",
        "20: routes[0].port: there is no port '2' (declare it under ports; known: 1 (ps))",
    ),
    changed(
        "port-ranges-overlap",
        "{numbers: 2-3, name: tor}",
        "{numbers: 1-3, name: tor}",
        "8: ports[1]: port 1 is already declared on line 7 (renumber one)",
    ),
    changed(
        "port-name-twice",
        "{numbers: 2-3, name: tor}",
        "{numbers: 2-3, name: tor}\n  - {number: 4, name: ps}",
        "9: ports[2]: the name 'ps' is already taken on line 7 (rename one)",
    ),
    changed(
        "port-without-number",
        "{numbers: 2-3, name: tor}",
        "{numbers: 2-3, name: tor}\n  - {name: spare}",
        "9: ports[2].number: is missing (give one of 1 … 499)",
    ),
    changed(
        "port-paths-same",
        "{numbers: 2-3, name: tor}",
        "{numbers: 2-3, name: tor, transport: unix, path: /tmp/tor.sock}",
        "8: ports[1]: path /tmp/tor.sock is also port 2's on line 8 "
        "(give each port a path of its own, with {number} in a range's)",
    ),
    changed(
        "port-paths-overlap",
        "{numbers: 2-3, name: tor}",
        "{numbers: 2-3, name: tor}\n"
        "  - {number: 4, transport: unix, path: /tmp/a}\n"
        "  - {number: 5, transport: unix, path: /tmp/a/b}",
        "10: ports[3]: path /tmp/a/b overlaps port 4's path /tmp/a on line 9 "
        "(give each port a path of its own, with {number} in a range's)",
    ),
    changed(
        "path-without-transport",
        "{number: 1, name: ps}",
        "{number: 1, name: ps, path: /tmp/ps}",
        "7: ports[0].path: a path needs a transport (add transport: veth, tap, unix, pcap)",
    ),
    changed(
        "interface-name-too-long",
        "{number: 1, name: ps}",
        "{number: 1, name: ps, transport: veth, path: parameter-server}",
        "7: ports[0].path: 'parameter-server' is no interface name (use up to 15 characters without /)",
    ),
    # Hosts
    changed(
        "worker-on-undeclared-port",
        "{name: a0, port: 2,",
        "{name: a0, port: 9,",
        "14: clusters[0].workers[0].port: there is no port '9' "
        "(declare it under ports; known: 1 (ps), 2 (tor2), 3 (tor3))",
    ),
    changed(
        "worker-without-port",
        "{name: a0, port: 2,",
        "{name: a0,",
        "14: clusters[0].workers[0].port: is missing (say which front port leads to it, such as port: 1)",
    ),
    changed(
        "worker-without-address",
        "ip: 10.0.1.1,",
        "",
        "14: clusters[0].workers[0].ip: is missing (give its address, such as ip: 10.0.0.1)",
    ),
    changed(
        "address-malformed",
        "ip: 10.0.1.1,",
        "ip: 10.0.1.256,",
        "14: clusters[0].workers[0].ip: '10.0.1.256' is not an IPv4 address (write it as 10.0.0.1)",
    ),
    changed(
        "address-multicast",
        "ip: 10.0.1.1,",
        "ip: 224.0.0.1,",
        "14: clusters[0].workers[0].ip: 224.0.0.1 is no host's address "
        "(give a unicast address such as 10.0.0.1)",
    ),
    changed(
        "address-twice",
        "ip: 10.0.1.2",
        "ip: 10.0.1.1",
        "15: clusters[0].workers[1].ip: 10.0.1.1 is already taken by a0 on line 14 "
        "(every host has its own ip)",
        "15: clusters[0].workers[1].mac: 02:00:0a:00:01:01 is already taken by a0 on line 14 "
        "(every host has its own mac)",
    ),
    changed(
        "server-is-a-worker",
        "ip: 10.0.0.254",
        "ip: 10.0.1.1, mac: 02:00:00:00:00:01",
        "14: clusters[0].workers[0].ip: 10.0.1.1 is already taken by ps on line 10 "
        "(every host has its own ip)",
    ),
    changed(
        "generated-address-taken",
        "ip: 10.0.2.1",
        "ip: 10.0.0.252",
        "16: clusters[1].ip: 10.0.0.254 is already taken by ps on line 10 (every host has its own ip)",
        "16: clusters[1].mac: 02:00:0a:00:00:fe is already taken by ps on line 10 "
        "(every host has its own mac)",
    ),
    changed(
        "mac-twice",
        "id: 7",
        "mac: 02:00:0a:00:01:02",
        "15: clusters[0].workers[1].mac: 02:00:0a:00:01:02 is already taken by a0 on line 14 "
        "(every host has its own mac)",
    ),
    changed(
        "mac-multicast",
        "id: 7",
        "mac: 01:00:5e:00:00:01",
        "14: clusters[0].workers[0].mac: 01:00:5e:00:00:01 is a multicast address "
        "(a host's MAC has an even first byte, such as 02)",
    ),
    changed(
        "mac-malformed",
        "id: 7",
        "mac: 02:00:5e",
        "14: clusters[0].workers[0].mac: '02:00:5e' is not a MAC address "
        "(write six bytes such as 02:00:0a:00:00:01)",
    ),
    changed(
        "host-name-twice",
        "name: gateway",
        "name: a0",
        "18: hosts[0].name: the name 'a0' is already taken on line 14 (every host has its own name)",
    ),
    changed(
        "worker-udp-port-zero",
        "id: 7",
        "udp_port: 0",
        "14: clusters[0].workers[0].udp_port: 0 is out of range (give a number from 1 to 65535)",
    ),
    changed(
        "no-parameter-server",
        "parameter_servers:\n  - {name: ps, port: ps, ip: 10.0.0.254}\n",
        "",
        "1: parameter_servers: has no parameter server (add one, such as - {port: 1, ip: 10.0.0.254})",
    ),
    # Clusters
    changed(
        "worker-id-twice",
        "id: 8",
        "id: 7",
        "15: clusters[0].workers[1].id: 7 is already a0's (ids differ within a cluster)",
    ),
    changed(
        "more-clusters-than-the-engine",
        "count: 2,",
        "count: 4,",
        "16: clusters[1]: cluster index 4, but the engine tracks 4 clusters "
        "(raise engine.clusters, or take clusters out)",
    ),
    changed(
        "cluster-index-beyond-the-engine",
        "  - name: a\n",
        "  - index: 4\n    name: a\n",
        "12: clusters[0].index: cluster index 4, but the engine tracks 4 clusters "
        "(raise engine.clusters, or take clusters out)",
    ),
    changed(
        "cluster-index-twice",
        B,
        B.replace("count: 2", "index: 0"),
        "16: clusters[1].index: index 0 is already taken on line 12 (renumber one)",
    ),
    changed(
        "cluster-name-twice",
        B,
        B.replace("count: 2", "count: 1").replace("name: b", "name: a"),
        "16: clusters[1].name: the name 'a' is already taken on line 12 (rename one)",
    ),
    changed(
        "more-workers-than-table-entries",
        B,
        B.replace("workers: 2", "workers: 1023"),
        "16: clusters[1]: more workers than the 1024 entries of the table `workers` "
        "(take workers out, or use a second engine)",
    ),
    changed(
        "more-workers-than-a-table-in-one-cluster",
        B,
        B.replace("workers: 2", "workers: 1000000000"),
        "16: clusters[1].workers: 1000000000 is out of range (give a number from 1 to 1024)",
    ),
    changed(
        "generated-without-ports",
        "ports: 2-3, ",
        "",
        "16: clusters[1].ports: is missing (say which front ports lead there, such as 2-4)",
    ),
    changed(
        "generated-past-the-last-address",
        "ip: 10.0.2.1",
        "ip: 255.255.255.254",
        "16: clusters[1].ip: the addresses run past 255.255.255.254 (begin lower)",
    ),
    # Routes
    changed(
        "route-with-host-bits",
        "10.0.0.0/8",
        "10.0.0.1/8",
        "20: routes[0].prefix: 10.0.0.1/8 has bits set after its prefix (write 10.0.0.0/8)",
    ),
    changed(
        "route-twice",
        "{prefix: 10.0.0.0/8, port: 2}",
        "{prefix: 10.0.0.0/8, port: 2}\n  - {prefix: 10.0.0.0/8, port: 3}",
        "21: routes[1].prefix: 10.0.0.0/8 is already routed on line 20 (keep one)",
    ),
    changed(
        "route-overlaps-a-host",
        "10.0.0.0/8",
        "10.0.1.1/32",
        "20: routes[0].prefix: 10.0.1.1/32 overlaps a0, which has its own port (take it out)",
    ),
    changed(
        "route-malformed",
        "10.0.0.0/8",
        "10.0.0.0/33",
        "20: routes[0].prefix: '10.0.0.0/33' is not an IPv4 prefix (write it as 10.0.0.0/8)",
    ),
    # Several at once
    changed(
        "three-problems-three-lines",
        RIGHT[: RIGHT.index("ports:")],
        "name: small\ntarget: twin\nudp_port: 0\ncontrol_tos: 0xFF\nengine: {slots: 0}\n",
        "3: udp_port: 0 is out of range (give a number from 1 to 65535)",
        "4: control_tos: 0xFF has ECN bits set, which routers change (clear the low two bits: 0xFC)",
        "5: engine.slots: 0 is out of range (give a number from 1 to 1023)",
    ),
]
