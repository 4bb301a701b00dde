// VNP4₁ for VitisNetP4 (XSA): metadata_t is the user metadata next to the AXI4-Stream, so there is no shim.
// The box sends a frame with `punt` set to the host instead of the queue. A frame from the control plane has the
// CPU port as its `src` and the port that it is for, or 0, as its `dst`.
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
#include "identify.p4"

struct five_tuple_t {
    bit<32> src_addr;
    bit<32> dst_addr;
    bit<8>  protocol;
    bit<16> src_port;
    bit<16> dst_port;
}

parser Vnp41Parser(packet_in packet, out headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard) {
    state start {
        transition parse_frame;
    }

#include "frame_states.p4"
}

control Vnp41MatchAction(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard) {
    Identify() identify;
    UserExtern<five_tuple_t, bit<32>>(WORKER_HASH_LATENCY) worker_hash;
    five_tuple_t five_tuple;

    apply {
        if (meta.src != (bit<16>) CPU_PORT) {
            identify.apply(hdr, meta);
        }
        if (meta.kind != KIND_BYPASS && meta.worker == 0) {
            five_tuple.src_addr = hdr.ipv4.src_addr;
            five_tuple.dst_addr = hdr.ipv4.dst_addr;
            five_tuple.protocol = hdr.ipv4.protocol;
            five_tuple.src_port = hdr.udp.src_port;
            five_tuple.dst_port = hdr.udp.dst_port;
            worker_hash.apply(five_tuple, meta.worker);
        }
        if (meta.drop == 1) {
            standard.drop = 1;
        }
    }
}

control Vnp41Deparser(packet_out packet, in headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard) {
    apply {
#include "frame_emits.p4"
    }
}

XilinxPipeline(Vnp41Parser(), Vnp41MatchAction(), Vnp41Deparser()) main;
