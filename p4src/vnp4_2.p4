// VNP4₂ for v1model (the twin and BMv2): takes frames from OlafQueue to where they go.
#include <core.p4>
#include <v1model.p4>
#include "params.p4"
#include "headers.p4"
#include "metadata.p4"
#include "direct_counters.p4"
#include "forward.p4"

parser Vnp42Parser(packet_in packet, out headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard) {
    state start {
        transition select(standard.ingress_port) {
            CPU_PORT: parse_packet_out;
            QUEUE_PORT: parse_shim;
            default: accept;
        }
    }

    state parse_packet_out {
        packet.extract(hdr.packet_out);
        transition parse_frame;
    }

    state parse_shim {
        packet.extract(hdr.shim);
        transition parse_frame;
    }

#include "frame_states.p4"
}

control Vnp42VerifyChecksum(inout headers_t hdr, inout metadata_t meta) {
    apply { }
}

control Vnp42Ingress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard) {
    Forward() forward;

    @id(0x01000031)
    action from_queue() {
        meta.src = hdr.shim.src;
        meta.dst = hdr.shim.dst;
        meta.kind = hdr.shim.kind;
        meta.cluster = hdr.shim.cluster;
        meta.index = hdr.shim.index;
        meta.member = hdr.shim.member;
        meta.worker = hdr.shim.worker;
        hdr.shim.setInvalid();
    }

    @id(0x01000032)
    action from_control_plane() {
        meta.dst = hdr.packet_out.egress_port;
        hdr.packet_out.setInvalid();
    }

    apply {
        if (hdr.shim.isValid()) {
            // The queue's status is for ACKs alone.
            if (hdr.shim.kind == KIND_ACK) {
                meta.occupancy = hdr.shim.occupancy;
                meta.active_clusters = hdr.shim.active_clusters;
                meta.slots = hdr.shim.slots;
                meta.status_flags = hdr.shim.status_flags;
            }
            from_queue();
        } else if (hdr.packet_out.isValid()) {
            from_control_plane();
        } else {
            // A front port is for sending only: what comes in by it belongs to VNP4₁.
            meta.drop = 1;
        }

        if (meta.drop == 0) {
            forward.apply(hdr, meta);
        }

        if (meta.drop == 1) {
            mark_to_drop(standard);
        } else if (meta.group != 0) {
            standard.mcast_grp = meta.group;
        } else {
            standard.egress_spec = (bit<9>) meta.dst;
        }
    }
}

control Vnp42Egress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard) {
    DIRECT_COUNTER(members_counter, 14, WORKERS_SIZE)

    @id(0x01000033)
    action deliver(@id(1) bit<48> mac, @id(2) bit<32> addr, @id(3) bit<16> port) {
        hdr.ethernet.dst_addr = mac;
        hdr.ipv4.dst_addr = addr;
        hdr.udp.dst_port = port;
        meta.rewritten = 1;
    }

    @id(0x01000034)
    action as_is() { }

    // The copy for each member of a cluster is addressed to that member.
    @id(0x02000014)
    table members {
        key = { standard.egress_rid : exact @name("member"); }
        actions = { deliver; @defaultonly as_is; }
        const default_action = as_is();
        COUNTED_BY(members_counter)
        size = WORKERS_SIZE;
    }

    apply {
        if (meta.group != 0) {
            if (meta.kind == KIND_ACK || meta.kind == KIND_RESULT) {
                members.apply();
            } else if ((bit<16>) standard.egress_port == meta.src) {
                mark_to_drop(standard);
            }
        }
    }
}

control Vnp42ComputeChecksum(inout headers_t hdr, inout metadata_t meta) {
    apply {
        update_checksum(meta.rewritten == 1,
            { hdr.ipv4.version, hdr.ipv4.ihl, hdr.ipv4.tos, hdr.ipv4.total_len, hdr.ipv4.identification,
              hdr.ipv4.flags, hdr.ipv4.frag_offset, hdr.ipv4.ttl, hdr.ipv4.protocol, hdr.ipv4.src_addr,
              hdr.ipv4.dst_addr },
            hdr.ipv4.hdr_checksum, HashAlgorithm.csum16);
    }
}

control Vnp42Deparser(packet_out packet, in headers_t hdr) {
    apply {
#include "frame_emits.p4"
    }
}

V1Switch(Vnp42Parser(), Vnp42VerifyChecksum(), Vnp42Ingress(), Vnp42Egress(), Vnp42ComputeChecksum(),
         Vnp42Deparser()) main;
