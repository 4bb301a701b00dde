// What becomes of packets: replication, clones with field lists, resubmission, recirculation, truncation, drops.
#include <core.p4>
#include <v1model.p4>

header body_t { bit<8> what; bit<8> count; bit<8> kept; bit<8> lost; bit<8> instance_; bit<16> rid; }
struct headers_t { body_t body; }
struct metadata_t {
    @field_list(1) bit<8> kept;
    bit<8> lost;
}

parser MyParser(packet_in packet, out headers_t h, inout metadata_t m, inout standard_metadata_t s) {
    state start { packet.extract(h.body); transition accept; }
}

control MyIngress(inout headers_t h, inout metadata_t m, inout standard_metadata_t s) {
    apply {
        s.egress_spec = 1;
        if (h.body.what == 1) {
            s.mcast_grp = 7;
        } else if (h.body.what == 2) {
            m.kept = 0x55;
            m.lost = 0x66;
            h.body.count = 0x11;
            clone_preserving_field_list(CloneType.I2E, 5, 1);
        } else if (h.body.what == 3 && m.kept < 3) {
            m.kept = m.kept + 1;
            m.lost = m.lost + 1;
            resubmit_preserving_field_list(1);
        } else if (h.body.what == 4) {
            m.lost = 0x44;
        } else if (h.body.what == 5) {
            truncate(3);
        } else if (h.body.what == 6) {
            mark_to_drop(s);
        } else if (h.body.what == 7) {
            s.egress_spec = 511;
        }
    }
}

#define MY_EGRESS
control MyEgress(inout headers_t h, inout metadata_t m, inout standard_metadata_t s) {
    apply {
        h.body.kept = m.kept;
        h.body.lost = m.lost;
        h.body.instance_ = (bit<8>) s.instance_type;
        h.body.rid = s.egress_rid;
        if (h.body.what == 4 && h.body.count < 2) {
            h.body.count = h.body.count + 1;
            m.kept = m.kept + 1;
            recirculate_preserving_field_list(1);
        } else if (h.body.what == 8 && s.instance_type == 0) {
            m.kept = 9;
            clone_preserving_field_list(CloneType.E2E, 5, 1);
            h.body.count = 0x22;
        } else if (h.body.what == 9) {
            mark_to_drop(s);
        }
    }
}
#include "pipe.p4"
