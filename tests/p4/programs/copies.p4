// Multicast groups with an egress that changes, counts and drops copies.
#include <core.p4>
#include <v1model.p4>
header key_t { bit<8> group; bit<8> mark; bit<16> rid; }
struct headers_t { key_t key; }
struct metadata_t { }
parser MyParser(packet_in packet, out headers_t h, inout metadata_t m, inout standard_metadata_t s) {
    state start { packet.extract(h.key); transition accept; }
}
control MyIngress(inout headers_t h, inout metadata_t m, inout standard_metadata_t s) {
    counter(16, CounterType.packets_and_bytes) came;
    table known {
        key = { h.key.group : exact; }
        actions = { NoAction; }
    }
    apply {
        came.count((bit<32>) h.key.group[3:0]);
        h.key.mark = h.key.mark == 4 ? (known.apply().hit ? 8w1 : 8w2) : h.key.mark + 1;
        s.mcast_grp = (bit<16>) h.key.group;
        s.egress_spec = s.ingress_port;
    }
}
#define MY_EGRESS
control MyEgress(inout headers_t h, inout metadata_t m, inout standard_metadata_t s) {
    counter(16, CounterType.packets_and_bytes) left;
    apply {
        left.count((bit<32>) s.egress_port[3:0]);
        h.key.rid = s.egress_rid;
        if (s.egress_port == s.ingress_port && s.instance_type == 5) mark_to_drop(s);
    }
}
#include "pipe.p4"
