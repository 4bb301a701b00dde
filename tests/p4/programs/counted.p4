// A ternary table that counts what hits each entry.
#include <core.p4>
#include <v1model.p4>
header key_t { bit<8> a; }
struct headers_t { key_t key; }
struct metadata_t { }
parser MyParser(packet_in packet, out headers_t h, inout metadata_t m, inout standard_metadata_t s) {
    state start { packet.extract(h.key); transition accept; }
}
control MyIngress(inout headers_t h, inout metadata_t m, inout standard_metadata_t s) {
    direct_counter(CounterType.packets_and_bytes) hits;
    action send(bit<9> port) { hits.count(); s.egress_spec = port; }
    action drop() { mark_to_drop(s); }
    table chosen {
        key = { h.key.a : ternary; }
        actions = { send; @defaultonly drop; }
        const default_action = drop();
        counters = hits;
        size = 16;
    }
    apply { chosen.apply(); }
}
#include "pipe.p4"
