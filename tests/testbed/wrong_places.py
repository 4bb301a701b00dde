"""Wrong testbeds whose ports, hosts, clusters and routes do not fit together."""

from tests.testbed.wrong_testbeds import RIGHT, changed

B = "{count: 2, workers: 2, name: b, ports: 2-3, ip: 10.0.2.1}"
INTERFACE_REMEDY = "(use up to 15 letters, digits, '.', '-' and '_', but not lo)"

TABLE = [
    # Ports
    changed(
        "port-zero",
        "{number: 1, name: ps}",
        "{number: 0, name: ps}",
        "7: ports[0].number: 0 is out of range (give a number from 1 to 499)",
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
    ),
    changed(
        "port-ranges-overlap",
        "{numbers: 2-3, name: tor}",
        "{numbers: 1-3, name: tor}",
        "8: ports[1]: port 1 is already declared on line 7 (renumber one)",
    ),
    changed(
        "port-ranges-overlap-much",
        "{numbers: 2-3, name: tor}",
        "{numbers: 2-300, name: tor}\n  - {numbers: 2-400, name: tor}",
        "9: ports[2]: port 2 and 298 more of its range are already declared on line 8 (renumber one)",
    ),
    changed(
        "port-name-wrong",
        "{number: 1, name: ps}",
        "{number: 1, name: p/s}",
        "7: ports[0].name: 'p/s' is not a name (use up to 40 letters, digits, '.', '-' and '_', "
        "beginning with a letter or digit)",
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
        "8: ports[1].path: all ports of the range would have it (write {number} in it)",
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
        "pcap-files-shared",
        "{numbers: 2-3, name: tor}",
        "{number: 2, transport: pcap, path: 'a.pcap,b.pcap'}\n"
        "  - {number: 3, transport: pcap, path: 'b.pcap,c.pcap'}",
        "9: ports[2]: path b.pcap is also port 2's on line 8 "
        "(give each port a path of its own, with {number} in a range's)",
    ),
    changed(
        "interface-is-another-port-s-name",
        "{numbers: 2-3, name: tor}",
        "{numbers: 2-3, name: tor}\n  - {number: 4, transport: veth, path: tor2}",
        "9: ports[2]: interface tor2 is also port 2's on line 8 "
        "(give each port a path of its own, with {number} in a range's)",
    ),
    changed(
        "pcap-without-path",
        "{number: 1, name: ps}",
        "{number: 1, name: ps, transport: pcap}",
        "7: ports[0].path: is missing: a pcap port reads one file and writes another "
        "(give the files: path: run, or path: in.pcap,out.pcap)",
    ),
    changed(
        "path-without-transport",
        "{number: 1, name: ps}",
        "{number: 1, name: ps, path: /tmp/ps}",
        "7: ports[0].path: a path needs a transport (add transport: veth, tap, unix, pcap, nic)",
    ),
    changed(
        "interface-name-too-long",
        "{number: 1, name: ps}",
        "{number: 1, name: ps, transport: veth, path: parameter-server}",
        f"7: ports[0].path: 'parameter-server' is not an interface name {INTERFACE_REMEDY}",
    ),
    *(
        changed(
            f"interface-name-{name}",
            "{number: 1, name: ps}",
            f"{{number: 1, name: ps, transport: veth, path: {written}}}",
            f"7: ports[0].path: {shown} is not an interface name {INTERFACE_REMEDY}",
        )
        for name, written, shown in (
            ("loopback", "lo", "'lo'"),
            ("of-a-kernel-setting", "default", "'default'"),
            ("dot", ".", "'.'"),
            ("dots", "..", "'..'"),
            ("colon", "'a:%d'", "'a:%d'"),
            ("slash", "a/b", "'a/b'"),
            ("space", "a b", "'a b'"),
            ("semicolon", "a;b", "'a;b'"),
            ("too-many-bytes", "éééééééé", "'éééééééé'"),
        )
    ),
    changed(
        "interface-name-too-long-with-its-number",
        "{numbers: 2-3, name: tor}",
        "{numbers: 2-3, name: tor}\n  - {numbers: 9-10, transport: tap, path: 'fourteen------{number}'}",
        f"9: ports[2].path: 'fourteen------{{number}}' is not an interface name {INTERFACE_REMEDY}",
    ),
    changed(
        "interface-name-made-of-a-number",
        "{number: 1, name: ps}",
        "{number: 1, name: a-name-longer-than-fifteen}\n  - {number: 4, name: port1}\n"
        "  - {number: 5, name: ps}",
        "8: ports[1]: interface port1 is also port 1's on line 7 "
        "(give each port a path of its own, with {number} in a range's)",
    ),
    changed(
        "path-with-control-characters",
        "{number: 1, name: ps}",
        '{number: 1, name: ps, transport: unix, path: "a\\nb"}',
        "7: ports[0].path: 'a\\nb' has characters that cannot be shown (use plain ones)",
    ),
    changed(
        "path-with-half-a-character",
        "{number: 1, name: ps}",
        '{number: 1, name: ps, transport: unix, path: "\\ud800"}',
        "7: ports[0].path: '\\ud800' has characters that cannot be shown (use plain ones)",
    ),
    changed(
        "socket-path-too-long",
        "{number: 1, name: ps}",
        f"{{number: 1, name: ps, transport: unix, path: {'é' * 54}}}",
        "7: ports[0].path: the socket path is too long (Linux allows 107 bytes)",
    ),
    *(
        changed(
            f"pcap-path-{name}",
            "{number: 1, name: ps}",
            f"{{number: 1, name: ps, transport: pcap, path: '{written}'}}",
            f"7: ports[0].path: '{written}' is not one name or two (write run, or in.pcap,out.pcap)",
        )
        for name, written in (("comma", ","), ("half", "a,"), ("three", "a,b,c"))
    ),
    changed(
        "pcap-path-too-long",
        "{number: 1, name: ps}",
        f"{{number: 1, name: ps, transport: pcap, path: {'a' * 250}}}",
        "7: ports[0].path: the pcap path is too long (Linux allows 255 bytes a name)",
    ),
    # Hosts
    changed(
        "worker-on-undeclared-port",
        "{name: a0, port: 2,",
        "{name: a0, port: 9,",
        "14: clusters[0].workers[0].port: port '9' does not exist "
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
        "14: clusters[0].workers[0].ip: 224.0.0.1 is not a host address "
        "(give a unicast address such as 10.0.0.1)",
    ),
    changed(
        "address-twice",
        "ip: 10.0.1.2",
        "ip: 10.0.1.1",
        "15: clusters[0].workers[1].ip: 10.0.1.1 is already taken by a0 on line 14 "
        "(every host has its own ip)",
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
    ),
    changed(
        "mac-twice",
        "id: 7",
        "mac: 02:00:0a:00:01:02",
        "15: clusters[0].workers[1].mac: 02:00:0a:00:01:02 is already taken by a0 on line 14 "
        "(hosts at several ports have MAC addresses of their own)",
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
        "16: clusters[1]: a cluster from index 4 on, but the engine tracks 4 indices "
        "(raise engine.indices, or take clusters out)",
    ),
    changed(
        "cluster-number-beyond-the-tables",
        "  - name: a\n",
        "  - index: 1024\n    name: a\n",
        "12: clusters[0].index: 1024 is out of range (give a number from 0 to 1023)",
    ),
    changed(
        "a-model-of-more-segments-than-indices",
        "  - name: a\n",
        "  - name: a\n    values: 1473\n",
        "12: clusters[0]: 5 segments from index 0 on, but the engine tracks 4 indices "
        "(raise engine.indices, or take clusters out)",
    ),
    changed(
        "the-engine-has-a-hosts-address",
        "beats: 24}",
        "beats: 24, address: 10.0.1.2}",
        "5: engine.address: 10.0.1.2 is already taken by a1 on line 15 "
        "(give the engine an address of its own)",
    ),
    changed(
        "rounds-without-an-address",
        "  - name: a\n",
        "  - name: a\n    mode: iswitch\n",
        "13: clusters[0].mode: iswitch needs an address to send to "
        "(give the engine one in its testbed: address: 10.0.0.250)",
    ),
    changed(
        "more-updates-a-round-than-workers",
        "  - name: a\n",
        "  - name: a\n    mode: iswitch\n    threshold: 3\n",
        "13: clusters[0].mode: iswitch needs an address to send to "
        "(give the engine one in its testbed: address: 10.0.0.250)",
        "14: clusters[0].threshold: 3 updates make a result, but the cluster has 2 workers (give 1 … 2)",
    ),
    changed(
        "more-updates-a-sum-than-members-can-have-under-way",
        "  - name: a\n",
        "  - name: a\n    mode: iswitch-async\n    threshold: 33\n",
        "13: clusters[0].mode: iswitch-async needs an address to send to "
        "(give the engine one in its testbed: address: 10.0.0.250)",
        "14: clusters[0].threshold: 33 updates make a result, but the cluster has 2 workers, each with up "
        "to 16 updates between two results (give 1 … 32)",
    ),
    changed(
        "a-round-of-no-updates",
        "  - name: a\n",
        "  - name: a\n    threshold: 0\n",
        "13: clusters[0].threshold: 0 is out of range (give a number from 1 to 65535)",
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
        B.replace("workers: 2", "workers: 16383"),
        "16: clusters[1]: more workers than the 16384 entries of the table `workers` "
        "(take workers out, or use a second engine)",
    ),
    changed(
        "more-workers-than-a-table-in-one-cluster",
        B,
        B.replace("workers: 2", "workers: 1000000000"),
        "16: clusters[1].workers: 1000000000 is out of range (give a number from 1 to 16384)",
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
    *(
        changed(
            f"generated-addresses-{name}",
            "ip: 10.0.2.1",
            f"ip: {first}",
            f"16: clusters[1].ip: the addresses run into {bad}, which is not a host address "
            "(begin elsewhere)",
        )
        for name, first, bad in (
            ("into-multicast", "223.255.255.255", "224.0.0.0"),
            ("into-loopback", "126.255.255.255", "127.0.0.0"),
        )
    ),
    *(
        changed(
            f"generated-from-{name}",
            "ip: 10.0.2.1",
            f"ip: {written}",
            f"16: clusters[1].ip: {first} is not a host address (give a unicast address such as 10.0.0.1)",
        )
        for name, written, first in (
            ("loopback", "127.0.0.1", "127.0.0.1"),
            ("a-multicast-prefix", "224.0.0.0/24", "224.0.0.1"),
        )
    ),
    changed(
        "ports-and-port",
        "ports: 2-3, ",
        "ports: 2-3, port: 1, ",
        "16: clusters[1].port: stands next to ports (give one of them)",
    ),
    changed(
        "generated-port-twice",
        "ports: 2-3, ",
        "ports: [2, 2-3, 2], ",
        "16: clusters[1].ports[1]: port 2 is given twice (give each port once)",
    ),
    changed(
        "clusters-empty",
        RIGHT[RIGHT.index("clusters:\n") : RIGHT.index("hosts:")],
        "clusters:\n",
        "11: clusters: is empty (list the clusters, or write `clusters: []` for none)",
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
    changed(
        "impair-jitter-beyond-delay",
        "{number: 1, name: ps}",
        "{number: 1, name: ps, impair: {delay: 1 ms, jitter: 2 ms}}",
        "7: ports[0].impair.jitter: is more than the delay, which it makes longer or shorter "
        "(give a delay of at least as much)",
    ),
    changed(
        "impair-loss-not-a-percentage",
        "{number: 1, name: ps}",
        "{number: 1, name: ps, impair: {loss: 0.1}}",
        "7: ports[0].impair.loss: '0.1' is not a percentage "
        "(give a percentage from 0 % to 100 %, such as 0.1 %)",
    ),
    changed(
        "impair-loss-of-more-than-all",
        "{number: 1, name: ps}",
        "{number: 1, name: ps, impair: {loss: 101 %}}",
        "7: ports[0].impair.loss: 101 % is out of range (give a percentage from 0 % to 100 %, such as 0.1 %)",
    ),
    changed(
        "impair-unknown-field",
        "{number: 1, name: ps}",
        "{number: 1, name: ps, impair: {delai: 1 ms}}",
        "7: ports[0].impair.delai: unknown key (did you mean delay?)",
        "7: ports[0].impair: says neither delay nor jitter nor loss "
        "(such as impair: {delay: 10 ms, jitter: 2 ms, loss: 1 %})",
    ),
    changed(
        "impair-of-a-socket",
        "{number: 1, name: ps}",
        "{number: 1, name: ps, transport: unix, impair: {loss: 1 %}}",
        "7: ports[0].impair: is of a veth, and this is a unix (take impair out, or set transport: veth)",
    ),
]
