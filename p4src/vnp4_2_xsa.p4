// VNP4₂ for VitisNetP4 (XSA): metadata_t is the user metadata next to the AXI4-Stream, so there is no shim.
// Replication is the box's: it copies a frame with `group` set to the group's ports and members.
#include <core.p4>
#include <xsa.p4>
#include "params.p4"
#include "headers.p4"
#include "metadata.p4"
#ifdef VITISNETP4
#include "xsa_counters.p4"
#else
#include "direct_counters.p4"
#endif
#include "forward.p4"

parser Vnp42Parser(packet_in packet, out headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard) {
    state start {
        transition parse_frame;
    }

#include "frame_states.p4"
}

control Vnp42MatchAction(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard) {
    Forward() forward;
    Checksum<bit<16>>(HashAlgorithm_t.ONES_COMPLEMENT16) ipv4_checksum;

    apply {
        forward.apply(hdr, meta);
        if (meta.rewritten == 1) {
            hdr.ipv4.hdr_checksum = 0;
            ipv4_checksum.apply(hdr.ipv4, hdr.ipv4.hdr_checksum);
        }
        if (meta.drop == 1) {
            standard.drop = 1;
        }
    }
}

control Vnp42Deparser(packet_out packet, in headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard) {
    apply {
#include "frame_emits.p4"
    }
}

XilinxPipeline(Vnp42Parser(), Vnp42MatchAction(), Vnp42Deparser()) main;
