// VNP4₂'s match-action logic (OLAF §5, §7): embed the queue's status in ACKs and send them to their
// whole cluster; send everything else where the forwarding tables say. Written once for both architectures.
control Forward(inout headers_t hdr, inout metadata_t meta) {
    DIRECT_COUNTER(cluster_multicast_counter, 11, CLUSTERS_SIZE)
    DIRECT_COUNTER(forwarding_counter, 12, FORWARDING_SIZE)
    DIRECT_COUNTER(bridging_counter, 13, BRIDGING_SIZE)
    DIRECT_COUNTER(results_counter, 15, CLUSTERS_SIZE)
    COUNTER_PLACE

    @id(0x01000011)
    action multicast(@id(1) bit<16> group AND_PLACE) {
        meta.group = group;
        SET_PLACE
    }

    @id(0x01000012)
    action unicast() {
        meta.group = 0;
    }

    @id(0x01000013)
    action forward(@id(1) bit<9> port AND_PLACE) {
        meta.dst = (bit<16>) port;
        SET_PLACE
    }

    @id(0x01000014)
    action flood(@id(1) bit<16> group AND_PLACE) {
        meta.group = group;
        SET_PLACE
    }

    @id(0x01000015)
    action no_route() {
        meta.drop = 1;
    }

    // The members see one source, whichever of them contributed last: the address that they all sent to.
    @id(0x01000016)
    action broadcast(@id(1) bit<16> group AND_PLACE) {
        SET_PLACE
        hdr.olaf.frame_type = OLAF_TYPE_RESULT;
        hdr.ipv4.src_addr = hdr.ipv4.dst_addr;
        hdr.udp.src_port = hdr.udp.dst_port;
        meta.group = group;
        meta.rewritten = 1;
    }

    // To its parent this engine is one member of the cluster, with an address of its own.
    @id(0x01000017)
    action to_parent(@id(1) bit<48> mac, @id(2) bit<32> dst_addr, @id(3) bit<32> src_addr AND_PLACE) {
        SET_PLACE
        hdr.ethernet.dst_addr = mac;
        hdr.ipv4.dst_addr = dst_addr;
        hdr.ipv4.src_addr = src_addr;
        meta.rewritten = 1;
    }

    @id(0x02000011)
    table cluster_multicast {
        key = { meta.cluster : exact @name("cluster"); }
        actions = { multicast; @defaultonly unicast; }
        const default_action = unicast();
        COUNTED_BY(cluster_multicast_counter)
        size = CLUSTERS_SIZE;
    }

    // Where the sum of a round goes that the queue has just completed (iSwitch §3.4).
    @id(0x02000015)
    table results {
        key = { meta.cluster : exact @name("cluster"); }
        actions = { broadcast; to_parent; @defaultonly no_route; }
        const default_action = no_route();
        COUNTED_BY(results_counter)
        size = CLUSTERS_SIZE;
    }

    @id(0x02000012)
    table forwarding {
        key = { hdr.ipv4.dst_addr : lpm @name("dst_addr"); }
        actions = { forward; @defaultonly unicast; }
        const default_action = unicast();
        COUNTED_BY(forwarding_counter)
        size = FORWARDING_SIZE;
    }

    @id(0x02000013)
    table bridging {
        key = { hdr.ethernet.dst_addr : exact @name("dst_mac"); }
        actions = { forward; flood; @defaultonly no_route; }
        const default_action = no_route();
        COUNTED_BY(bridging_counter)
        size = BRIDGING_SIZE;
    }

    // An ACK that crossed another engine already carries a status: the one with fewer slots for each active
    // index, Q_max/N of OLAF §5, is the tighter.
    action embed_status() {
        hdr.status.occupancy = meta.occupancy;
        hdr.status.active_clusters = meta.active_clusters;
        hdr.status.slots = meta.slots;
        hdr.status.flags = meta.status_flags;
    }

    apply {
        // VitisNetP4 lets each table be applied at one place only.
        if ((meta.kind == KIND_ACK || meta.kind == KIND_RESULT) && hdr.olaf.isValid()) {
            hdr.udp.checksum = 0;
            if (meta.kind == KIND_RESULT && hdr.olaf.frame_type == OLAF_TYPE_UPDATE) {
                APPLY_COUNTED(results, results_counter)
            } else {
                if (meta.kind == KIND_ACK) {
                    if (!hdr.status.isValid()) {
                        hdr.status.setValid();
                        embed_status();
                        hdr.olaf.flags = hdr.olaf.flags | OLAF_FLAG_STATUS;
                        hdr.udp.length = hdr.udp.length + OLAF_STATUS_BYTES;
                        hdr.ipv4.total_len = hdr.ipv4.total_len + OLAF_STATUS_BYTES;
                        meta.rewritten = 1;
                    } else if ((bit<32>) meta.slots * (bit<32>) hdr.status.active_clusters
                               < (bit<32>) hdr.status.slots * (bit<32>) meta.active_clusters) {
                        embed_status();
                    }
                }
                APPLY_COUNTED(cluster_multicast, cluster_multicast_counter)
            }
        }
        if (meta.group == 0 && meta.dst == 0 && meta.drop == 0) {
            if (hdr.ipv4.isValid()) {
                APPLY_COUNTED(forwarding, forwarding_counter)
            }
            if (meta.dst == 0) {
                APPLY_COUNTED(bridging, bridging_counter)
            }
        }
    }
}
