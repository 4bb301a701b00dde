"""Wrong testbeds: what is changed in a right one, and every line of its errors."""

from dataclasses import dataclass

from olafctl.targets import registry

RIGHT = """\
name: small
target: twin
udp_port: 20300
control_tos: 0xFC
engine: {indices: 4, slots: 8, beats: 24}
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
    """``RIGHT`` with ``old`` replaced by ``new``, and its errors (after the file's name)."""

    name: str
    old: str
    new: str
    errors: tuple[str, ...]


def whole_file(name: str, text: str, *errors: str) -> Wrong:
    return Wrong(name, RIGHT, text, errors)


def changed(name: str, old: str, new: str, *errors: str) -> Wrong:
    assert RIGHT.count(old) == 1, f"{name}: {old!r} must stand once in RIGHT"
    return Wrong(name, old, new, errors)


PORTS = RIGHT[RIGHT.index("ports:\n") : RIGHT.index("parameter_servers:")]
PORTS_REMEDY = "(list the front ports, such as - {number: 1})"
ENGINE = "engine: {indices: 4, slots: 8, beats: 24}"
RATE_REMEDY = "(give a rate such as 40 Gb/s, from 4 kb/s to 128 Gb/s, or off)"

TABLE = [
    # The file
    whole_file("empty", "", "1: is empty (`olafctl init` writes a testbed to start from)"),
    whole_file("comments-only", "# later\n", "1: is empty (`olafctl init` writes a testbed to start from)"),
    whole_file("a-list", "- 1\n- 2\n", "1: expected fields, found a list (write `name: value` lines)"),
    whole_file("a-word", "olaf\n", "1: expected fields, found the value 'olaf' (write `name: value` lines)"),
    changed(
        "unclosed-bracket",
        ENGINE,
        "engine: {indices: 4, slots: 8",
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
    changed(
        "merge-key",
        "name: small",
        "name: small\n<<: {target: twin}",
        "2: a merge key (<<), which a testbed does not have (write the fields out, or use *NAME for a value)",
    ),
    whole_file("nested-too-deeply", "[" * 20000, "1: is nested too deeply (a testbed needs five levels)"),
    # Keys
    changed("misspelt-key", "target: twin", "tagret: twin", "2: tagret: unknown key (did you mean target?)"),
    changed(
        "unknown-key-inside",
        "beats: 24",
        "colour: red",
        "5: engine.colour: unknown key (known here: accumulate_quota, active_window, adder_latency, address, "
        "beats, indices, machine, mode, output_rate, reward_threshold, shards, slots, staleness_root)",
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
    changed("empty-key", "target: twin", '"": twin', "2: an empty key (write a word before the colon)"),
    changed(
        "key-of-two-lines",
        "target: twin",
        '"tar\\nget": twin',
        "2: 'tar\\nget': unknown key (did you mean target?)",
    ),
    changed("ports-empty", PORTS, "ports:\n", f"6: ports: is empty {PORTS_REMEDY}"),
    changed("ports-none", PORTS, "ports: []\n", f"6: ports: lists no port {PORTS_REMEDY}"),
    changed("ports-missing", PORTS, "", f"1: ports: is missing {PORTS_REMEDY}"),
    # Names and choices
    changed(
        "name-is-a-path",
        "name: small",
        "name: ../etc",
        "1: name: '../etc' is not a name (use up to 40 letters, digits, '.', '-' and '_', "
        "beginning with a letter or digit)",
    ),
    changed(
        "unknown-target",
        "target: twin",
        "target: twim",
        f"2: target: 'twim' is not one of {', '.join(registry.names())} (did you mean twin?)",
    ),
    changed(
        "unknown-mode",
        "beats: 24",
        "mode: lifo",
        "5: engine.mode: 'lifo' is not one of olaf, fifo, iswitch, iswitch-async (did you mean fifo?)",
    ),
    changed(
        "unknown-role",
        "  - name: a\n",
        "  - name: a\n    role: switch\n",
        "13: clusters[0].role: 'switch' is not one of worker, player (use worker)",
    ),
    changed(
        "unknown-transport",
        "{number: 1, name: ps}",
        "{number: 1, name: ps, transport: carrier-pigeon}",
        "7: ports[0].transport: 'carrier-pigeon' is not one of veth, tap, unix, pcap, nic (use veth)",
    ),
    # Types
    changed(
        "word-for-a-number",
        "slots: 8",
        "slots: eight",
        "5: engine.slots: 'eight' is not a whole number (give a number from 1 to 1023)",
    ),
    *(
        changed(
            f"number-not-plain-{name}",
            "slots: 8",
            f"slots: {written}",
            f"5: engine.slots: '{written}' is not a whole number (give a number from 1 to 1023)",
        )
        for name, written in (("arabic", "٨"), ("underscore", "1_0"), ("octal", "010"), ("plus", "+8"))
    ),
    changed(
        "long-word-for-a-number",
        "slots: 8",
        f"slots: {'eight' * 100}",
        f"5: engine.slots: '{'eight' * 12}…' is not a whole number (give a number from 1 to 1023)",
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
    ),
    # Engine
    changed(
        "clusters-not-a-power-of-two",
        "indices: 4",
        "indices: 12",
        "5: engine.indices: 12 is not a power of two (give 8 or 16)",
    ),
    changed(
        "too-many-cluster-indices",
        "indices: 4",
        "indices: 8192",
        "5: engine.indices: 8192 is out of range (give a number from 1 to 4096)",
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
        f"5: engine.slots: '1{'0' * 59}…' is out of range (give a number from 1 to 1023)",
    ),
    changed(
        "more-shards-than-slots",
        "beats: 24",
        "shards: 9",
        "5: engine.shards: 9 is out of range (give a number from 1 to 8)",
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
        "rate-in-bytes",
        "beats: 24",
        "output_rate: 10 GB/s",
        f"5: engine.output_rate: '10 GB/s' is not a rate {RATE_REMEDY}",
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
        "staleness-root-below-one",
        "beats: 24",
        "staleness_root: 0.5",
        "5: engine.staleness_root: 0.5 is out of range "
        "(give a number from 1 to 1000, such as 3 for δ^(-1/3), or off)",
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
        "blocks-unknown",
        "udp_port: 20300",
        "blocks: vitisnet",
        "3: blocks: 'vitisnet' is not one of rtl, vitisnetp4 (did you mean vitisnetp4?)",
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
    changed(
        "a-worker-of-engines",
        "ip: 10.0.1.2",
        "ip: 240.0.1.2",
        "15: clusters[0].workers[1].ip: a1 has 240.0.1.2, and engines use 240.0.0.0/8 among themselves "
        "(give it another address)",
    ),
    changed(
        "a-host-of-engines",
        "ip: 10.0.0.1}",
        "ip: 240.0.0.1}",
        "18: hosts[0].ip: gateway has 240.0.0.1, and engines use 240.0.0.0/8 among themselves "
        "(give it another address)",
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
