// VNP4₂'s match-action logic (OLAF §5, §7): embed the queue's status in ACKs and send them to their
// whole cluster; send everything else where the forwarding tables say. Written once for both architectures.
control Forward(inout headers_t hdr, inout metadata_t meta) {
    DIRECT_COUNTER(cluster_multicast_counter, 0x13000011)
    DIRECT_COUNTER(forwarding_counter, 0x13000012)
    DIRECT_COUNTER(bridging_counter, 0x13000013)

    @id(0x01000011)
    action multicast(@id(1) bit<16> group) {
        meta.group = group;
    }

    @id(0x01000012)
    action unicast() {
        meta.group = 0;
    }

    @id(0x01000013)
    action forward(@id(1) bit<9> port) {
        meta.dst = (bit<16>) port;
    }

    @id(0x01000014)
    action flood(@id(1) bit<16> group) {
        meta.group = group;
    }

    @id(0x01000015)
    action no_route() {
        meta.drop = 1;
    }

    @id(0x02000011)
    table cluster_multicast {
        key = { meta.cluster : exact @name("cluster"); }
        actions = { multicast; @defaultonly unicast; }
        const default_action = unicast();
        COUNTED_BY(cluster_multicast_counter)
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

    // An ACK that crossed another engine already carries a status: the fuller queue is the bottleneck.
    action embed_status() {
        hdr.status.occupancy = meta.occupancy;
        hdr.status.active_clusters = meta.active_clusters;
        hdr.status.slots = meta.slots;
        hdr.status.flags = meta.status_flags;
    }

    apply {
        if (meta.kind == KIND_ACK && hdr.olaf.isValid()) {
            if (!hdr.status.isValid()) {
                hdr.status.setValid();
                embed_status();
                hdr.olaf.flags = hdr.olaf.flags | OLAF_FLAG_STATUS;
                hdr.udp.length = hdr.udp.length + OLAF_STATUS_BYTES;
                hdr.ipv4.total_len = hdr.ipv4.total_len + OLAF_STATUS_BYTES;
                meta.rewritten = 1;
            } else if (meta.occupancy >= hdr.status.occupancy) {
                embed_status();
            }
            hdr.udp.checksum = 0;
            cluster_multicast.apply();
        }
        if (meta.group == 0 && meta.dst == 0) {
            if (hdr.ipv4.isValid()) {
                forwarding.apply();
            }
            if (meta.dst == 0) {
                bridging.apply();
            }
        }
    }
}
