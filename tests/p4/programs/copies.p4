// Multicast groups with an egress that changes, counts and drops copies.
#include <core.p4>
#include <v1model.p4>
header key_t { bit<8> group; bit<8> mark; bit<16> rid; }
struct headers_t { key_t key; }
struct metadata_t { }
parser MyParser(packet_in packet, out headers_t hdr, inout metadata_t meta, inout standard_metadata_t s) {
    state start { packet.extract(hdr.key); transition accept; }
}
control MyVerify(inout headers_t hdr, inout metadata_t meta) { apply { } }
control MyIngress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t s) {
    counter(16, CounterType.packets_and_bytes) came;
    table known {
        key = { hdr.key.group : exact; }
        actions = { NoAction; }
    }
    apply {
        came.count((bit<32>) hdr.key.group[3:0]);
        hdr.key.mark = hdr.key.mark == 4 ? (known.apply().hit ? 8w1 : 8w2) : hdr.key.mark + 1;
        s.mcast_grp = (bit<16>) hdr.key.group;
        s.egress_spec = s.ingress_port;
    }
}
control MyEgress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t s) {
    counter(16, CounterType.packets_and_bytes) left;
    apply {
        left.count((bit<32>) s.egress_port[3:0]);
        hdr.key.rid = s.egress_rid;
        if (s.egress_port == s.ingress_port && s.instance_type == 5) mark_to_drop(s);
    }
}
control MyCompute(inout headers_t hdr, inout metadata_t meta) { apply { } }
control MyDeparser(packet_out packet, in headers_t hdr) { apply { packet.emit(hdr.key); } }
V1Switch(MyParser(), MyVerify(), MyIngress(), MyEgress(), MyCompute(), MyDeparser()) main;
