// Registers read and written for each frame, in ingress and egress, also out of range.
#include <core.p4>
#include <v1model.p4>
header key_t { bit<8> kind; bit<8> at; bit<16> amount; }
header seen_t { bit<32> total; bit<16> last; }
struct headers_t { key_t key; seen_t seen; }
struct metadata_t { }
parser Inner(packet_in packet, out key_t key) {
    state start { packet.extract(key); transition accept; }
}
parser MyParser(packet_in packet, out headers_t h, inout metadata_t m, inout standard_metadata_t s) {
    Inner() inner;
    state start { inner.apply(packet, h.key); transition accept; }
}
control MyIngress(inout headers_t h, inout metadata_t m, inout standard_metadata_t s) {
    register<bit<32>>(6) totals;
    register<bit<1>>(4096) flags;
    apply {
        bit<32> total = 7;
        bit<1> flag = 0;
        totals.read(total, (bit<32>) h.key.at);
        if (h.key.kind != 0) {
            total = total + (bit<32>) h.key.amount;
            totals.write((bit<32>) h.key.at, total);
        }
        if (h.key.kind == 1) {
            flags.write((bit<32>) h.key.amount, 1);
        } else {
            flags.read(flag, (bit<32>) h.key.amount);
        }
        h.seen.setValid();
        h.seen.total = total + (bit<32>) flag;
        s.egress_spec = (bit<9>) h.key.kind;
        if (h.key.at == 4) mark_to_drop(s);
    }
}
#define MY_EGRESS
control MyEgress(inout headers_t h, inout metadata_t m, inout standard_metadata_t s) {
    register<bit<16>>(512) lasts;
    apply {
        bit<16> last;
        lasts.read(last, (bit<32>) s.egress_port);
        lasts.write((bit<32>) s.egress_port, h.key.amount);
        h.seen.last = last;
    }
}
#include "pipe.p4"
