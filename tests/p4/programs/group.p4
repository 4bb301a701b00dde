// Each egress port changes its copy in another way; byte 0 is a port, or from 8 on a group. With CLONES the
// program is one that clones, though no session has members.
#include <core.p4>
#include <v1model.p4>
header key_t { bit<8> to; bit<8> mark; bit<16> number; bit<16> sum; }
header extra_t { bit<8> a; bit<16> b; }
struct headers_t { key_t key; extra_t[2] extra; }
struct metadata_t { bit<8> mark; }
void bump(inout key_t key) { key.number = key.number + 0x100; key.mark = ~key.mark; }
parser MyParser(packet_in packet, out headers_t h, inout metadata_t m, inout standard_metadata_t s) {
    state start {
        packet.extract(h.key);
        transition select(h.key.mark[0:0]) { 1: extra; default: accept; }
    }
    state extra { packet.extract(h.extra.next); transition accept; }
}
control MyIngress(inout headers_t h, inout metadata_t m, inout standard_metadata_t s) {
    apply {
        if (h.key.to < 8) { s.egress_spec = (bit<9>) h.key.to; } else { s.mcast_grp = (bit<16>) h.key.to; }
        m.mark = h.key.mark;
        h.key.to = 0;
        h.key.number = h.key.number + 1;
    }
}
#define MY_EGRESS
control MyEgress(inout headers_t h, inout metadata_t m, inout standard_metadata_t s) {
    apply {
        if (s.egress_port == 1) {
            h.key.mark = 0xaa;
            m.mark = m.mark + 1;
        } else if (s.egress_port == 2) {
            h.extra[0].setInvalid();
        } else if (s.egress_port == 3) {
            h.extra.push_front(1);
            h.extra[0].setValid();
            h.extra[0] = {m.mark, h.key.number};
        } else if (s.egress_port == 4) {
            mark_to_drop(s);
        } else if (s.egress_port == 5) {
            assert(h.key.number[3:0] != 7);
            h.key.setInvalid();
        } else if (s.egress_port == 6) {
            truncate(3);
        } else if (s.egress_port == 7) {
            bump(h.key);
        }
        h.key.sum[7:0] = m.mark;
#ifdef CLONES
        clone(CloneType.E2E, 1);
#endif
    }
}
#include "pipe.p4"
