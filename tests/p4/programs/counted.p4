// A ternary table that counts what hits each entry.
#include <core.p4>
#include <v1model.p4>
header key_t { bit<8> a; }
struct headers_t { key_t key; }
struct metadata_t { }
parser MyParser(packet_in packet, out headers_t hdr, inout metadata_t meta, inout standard_metadata_t s) {
    state start { packet.extract(hdr.key); transition accept; }
}
control MyVerify(inout headers_t hdr, inout metadata_t meta) { apply { } }
control MyIngress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t s) {
    direct_counter(CounterType.packets_and_bytes) hits;
    action send(bit<9> port) { hits.count(); s.egress_spec = port; }
    action drop() { mark_to_drop(s); }
    table chosen {
        key = { hdr.key.a : ternary; }
        actions = { send; @defaultonly drop; }
        const default_action = drop();
        counters = hits;
        size = 16;
    }
    apply { chosen.apply(); }
}
control MyEgress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t s) { apply { } }
control MyCompute(inout headers_t hdr, inout metadata_t meta) { apply { } }
control MyDeparser(packet_out packet, in headers_t hdr) { apply { packet.emit(hdr.key); } }
V1Switch(MyParser(), MyVerify(), MyIngress(), MyEgress(), MyCompute(), MyDeparser()) main;
