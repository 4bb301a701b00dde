// VNP4₁ for v1model (the twin and BMv2): identifies frames on their way to OlafQueue.
#include <core.p4>
#include <v1model.p4>
#include "params.p4"
#include "headers.p4"
#include "metadata.p4"
#include "direct_counters.p4"
#include "identify.p4"

parser Vnp41Parser(packet_in packet, out headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard) {
    state start {
        transition select(standard.ingress_port) {
            CPU_PORT: parse_packet_out;
            default: parse_frame;
        }
    }

    state parse_packet_out {
        packet.extract(hdr.packet_out);
        transition parse_frame;
    }

#include "frame_states.p4"
}

control Vnp41VerifyChecksum(inout headers_t hdr, inout metadata_t meta) {
    apply { }
}

control Vnp41Ingress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard) {
    Identify() identify;

    @id(0x01000021)
    action to_control_plane() {
        hdr.packet_in.setValid();
        hdr.packet_in.ingress_port = meta.src;
        standard.egress_spec = CPU_PORT;
    }

    @id(0x01000022)
    action to_queue() {
        hdr.shim.setValid();
        hdr.shim.size = meta.size;
        hdr.shim.src = meta.src;
        hdr.shim.dst = meta.dst;
        hdr.shim.kind = meta.kind;
        hdr.shim.cluster = meta.cluster;
        hdr.shim.index = meta.index;
        hdr.shim.member = meta.member;
        hdr.shim.worker = meta.worker;
        hdr.shim.occupancy = 0;
        hdr.shim.active_clusters = 0;
        hdr.shim.slots = 0;
        hdr.shim.status_flags = 0;
        standard.egress_spec = QUEUE_PORT;
    }

    apply {
        meta.src = (bit<16>) standard.ingress_port;
        meta.size = (bit<16>) standard.packet_length;
        if (hdr.packet_out.isValid()) {
            meta.dst = hdr.packet_out.egress_port;
            meta.size = meta.size - PACKET_OUT_BYTES;
            hdr.packet_out.setInvalid();
        } else {
            identify.apply(hdr, meta);
        }

        if (meta.kind != KIND_BYPASS && meta.worker == 0) {
            hash(meta.worker, HashAlgorithm.crc32, 32w0,
                 { hdr.ipv4.src_addr, hdr.ipv4.dst_addr, hdr.ipv4.protocol, hdr.udp.src_port, hdr.udp.dst_port },
                 64w0x100000000);
        }

        if (meta.drop == 1) {
            mark_to_drop(standard);
        } else if (meta.punt == 1) {
            to_control_plane();
        } else {
            to_queue();
        }
    }
}

control Vnp41Egress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard) {
    apply { }
}

control Vnp41ComputeChecksum(inout headers_t hdr, inout metadata_t meta) {
    apply { }
}

control Vnp41Deparser(packet_out packet, in headers_t hdr) {
    apply {
        packet.emit(hdr.packet_in);
        packet.emit(hdr.shim);
#include "frame_emits.p4"
    }
}

V1Switch(Vnp41Parser(), Vnp41VerifyChecksum(), Vnp41Ingress(), Vnp41Egress(), Vnp41ComputeChecksum(),
         Vnp41Deparser()) main;
