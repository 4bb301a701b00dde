// VNP4₁'s match-action logic (OLAF §4, §7): who sent this frame, and is it an update, an ACK, a result, a
// control message, or none of ours? Written once for both architectures; the top says how a counter is
// declared.
//
// A source address is believed at one port only: its entry's `port`, 0 where no frame may come from it, ANY_PORT
// while its host moves. A worker that moves between engines leaves updates behind, so at a link to an engine
// below, which has checked them, workers' addresses are believed whatever their port. Of the addresses between
// engines only those that have entries are believed at all. docs/threats.md has the whole rule as a table.
control Identify(inout headers_t hdr, inout metadata_t meta) {
    DIRECT_COUNTER(workers_counter, 01, WORKERS_SIZE)
    DIRECT_COUNTER(parameter_servers_counter, 02, PARAMETER_SERVERS_SIZE)
    DIRECT_COUNTER(refusals_counter, 03, REFUSALS_SIZE)
    DIRECT_COUNTER(links_counter, 04, LINKS_SIZE)
    COUNTER_PLACE
    bit<16> worker_port = 0;
    bit<16> server_port = 0;
    bit<48> server_mac = 0;
    bit<16> server_udp_port = 0;
    bit<1> below = 0;
    bit<1> fixed = 0;

    @id(0x01000001)
    action assign(@id(1) bit<16> cluster, @id(2) bit<32> worker, @id(3) bit<16> index, @id(4) bit<16> segments,
                  @id(5) bit<8> member, @id(6) bit<4> epoch,
                  @id(7) bit<16> port AND_PLACE) {
        meta.cluster = cluster;
        meta.worker = worker;
        meta.index = index;
        meta.segments = segments;
        meta.member = member;
        meta.epoch = epoch;
        worker_port = port;
        meta.known_worker = 1;
        SET_PLACE
    }

    @id(0x01000002)
    action unknown_worker() {
        meta.known_worker = 0;
    }

    // A worker whose updates do not come by this engine.
    @id(0x01000006)
    action elsewhere(@id(1) bit<16> port AND_PLACE) {
        worker_port = port;
        SET_PLACE
    }

    // The address of a server or an engine: updates in its name are held to its port, too.
    @id(0x01000009)
    action not_a_worker(@id(1) bit<16> port AND_PLACE) {
        worker_port = port;
        fixed = 1;
        SET_PLACE
    }

    @id(0x01000003)
    action admit(@id(1) bit<16> port, @id(2) bit<48> mac, @id(3) bit<16> udp_port AND_PLACE) {
        server_port = port;
        server_mac = mac;
        server_udp_port = udp_port;
        meta.known_server = 1;
        SET_PLACE
    }

    @id(0x01000004)
    action unknown_server() {
        meta.known_server = 0;
    }

    @id(0x01000005)
    action refuse(ONLY_PLACE) {
        meta.drop = 1;
        SET_PLACE
    }

    @id(0x01000007)
    action from_below(ONLY_PLACE) {
        below = 1;
        SET_PLACE
    }

    @id(0x01000008)
    action from_host() {
        below = 0;
    }

    @id(0x02000001)
    table workers {
        key = { meta.worker_addr : exact @name("worker_addr"); }
        actions = { assign; elsewhere; not_a_worker; @defaultonly unknown_worker; }
        const default_action = unknown_worker();
        COUNTED_BY(workers_counter)
        size = WORKERS_SIZE;
    }

    @id(0x02000002)
    table parameter_servers {
        key = { meta.server_addr : exact @name("server_addr"); }
        actions = { admit; @defaultonly unknown_server; }
        const default_action = unknown_server();
        COUNTED_BY(parameter_servers_counter)
        size = PARAMETER_SERVERS_SIZE;
    }

    // One entry a reason, so that each has a counter of its own.
    @id(0x02000003)
    table refusals {
        key = { meta.refusal : exact @name("reason"); }
        actions = { refuse; }
        const default_action = refuse(NO_PLACE);
        COUNTED_BY(refusals_counter)
        size = REFUSALS_SIZE;
    }

    // The ports at which an engine is whose parent this one is.
    @id(0x02000004)
    table links {
        key = { meta.src : exact @name("port"); }
        actions = { from_below; @defaultonly from_host; }
        const default_action = from_host();
        COUNTED_BY(links_counter)
        size = LINKS_SIZE;
    }

    apply {
        meta.kind = KIND_BYPASS;
        if ((hdr.vlan.isValid() && hdr.vlan.vid == 0)
            || (hdr.snap.isValid() && hdr.snap.llc == LLC_SNAP
                && (hdr.snap.oui == OUI_ETHERNET || hdr.snap.oui == OUI_BRIDGED))) {
            // Hosts take such a tag off, so what is under it must not pass by this engine.
            meta.refusal = REFUSED_TAG;
        } else if (hdr.ipv4.isValid() && hdr.ipv4.tos == CONTROL_TOS) {
            meta.punt = 1;
        } else if (hdr.ipv4.isValid()) {
            bit<8> candidate = KIND_BYPASS;
            bit<1> down = 0;
            meta.worker_addr = hdr.ipv4.src_addr;
            meta.server_addr = hdr.ipv4.src_addr;
            if (hdr.olaf.isValid() && hdr.olaf.version == OLAF_VERSION) {
                if (hdr.olaf.frame_type == OLAF_TYPE_UPDATE) {
                    candidate = KIND_UPDATE;
                    meta.server_addr = hdr.ipv4.dst_addr;
                } else if (hdr.olaf.frame_type == OLAF_TYPE_ACK) {
                    candidate = KIND_ACK;
                } else if (hdr.olaf.frame_type == OLAF_TYPE_RESULT) {
                    candidate = KIND_RESULT;
                }
            }
            worker_port = meta.src;
            server_port = meta.src;
            APPLY_COUNTED(parameter_servers, parameter_servers_counter)
            if (meta.known_server == 1 && (candidate == KIND_ACK || candidate == KIND_RESULT)) {
                down = 1;
                meta.worker_addr = hdr.ipv4.dst_addr;
            }
            APPLY_COUNTED(workers, workers_counter)
            if (meta.known_worker == 1 && meta.known_server == 1) {
                meta.kind = candidate;
            }

            // Fragments and other ports would otherwise carry what is refused here past this engine.
            bit<1> strange_worker = 0;
            bit<1> strange_server = 0;
            bit<1> merged = 0;
            if (down == 0 && worker_port != meta.src && worker_port != ANY_PORT) {
                strange_worker = 1;
            }
            if (down == 0 && hdr.ipv4.src_addr[31:24] == BETWEEN_ENGINES) {
                fixed = 1;
                if (meta.known_worker == 0) {
                    strange_worker = 1;
                }
            }
            if (candidate != KIND_UPDATE && server_port != meta.src && server_port != ANY_PORT) {
                strange_server = 1;
            }
            if (meta.kind == KIND_UPDATE
                && (hdr.olaf.count != 1 || (hdr.olaf.flags & ~OLAF_FLAG_SUMMED) != 0)) {
                merged = 1;
            }
            if (strange_worker == 1 || merged == 1) {
                APPLY_COUNTED(links, links_counter)
                if (below == 1) {
                    merged = 0;
                    strange_worker = strange_worker & fixed;
                }
            }

            if (strange_worker == 1 || strange_server == 1) {
                meta.refusal = REFUSED_PORT;
            } else if (meta.kind != KIND_BYPASS) {
                // VitisNetP4 verifies no checksum by itself. The parser has seen the first byte and the protocol,
                // and so few words carry too little for a second carry to make 0xFFFF.
                bit<32> header_sum = 32w0x4500 + (bit<32>) hdr.ipv4.tos + (bit<32>) hdr.ipv4.total_len
                    + (bit<32>) hdr.ipv4.identification + ((bit<32>) hdr.ipv4.flags << 13)
                    + ((bit<32>) hdr.ipv4.ttl << 8) + (bit<32>) hdr.ipv4.protocol + (bit<32>) hdr.ipv4.hdr_checksum
                    + (hdr.ipv4.src_addr >> 16) + (hdr.ipv4.src_addr & 0xFFFF)
                    + (hdr.ipv4.dst_addr >> 16) + (hdr.ipv4.dst_addr & 0xFFFF);
                header_sum = (header_sum >> 16) + (header_sum & 0xFFFF);
                if (hdr.ipv4.total_len != hdr.udp.length + IPV4_BYTES) {
                    meta.refusal = REFUSED_LENGTH;
                } else if (header_sum != 32w0xFFFF) {
                    meta.refusal = REFUSED_CHECKSUM;
                } else if (hdr.ipv4.ttl == 0) {
                    meta.refusal = REFUSED_TTL;
                } else if (meta.kind == KIND_UPDATE
                           && (hdr.ethernet.dst_addr != server_mac || hdr.udp.dst_port != server_udp_port)) {
                    // What is merged with it would leave in its header, and go where it goes.
                    meta.refusal = REFUSED_DESTINATION;
                } else if (merged == 1) {
                    meta.refusal = REFUSED_MERGED;
                } else if (hdr.olaf.epoch != meta.epoch) {
                    meta.refusal = REFUSED_EPOCH;
                } else if (hdr.olaf.segment >= meta.segments) {
                    meta.refusal = REFUSED_SEGMENT;
                }
                meta.index = meta.index + hdr.olaf.segment;
            } else {
                meta.cluster = 0;
                meta.worker = 0;
                meta.index = 0;
                meta.member = 0;
            }
        }
        if (meta.refusal != 0) {
            APPLY_COUNTED(refusals, refusals_counter)
        }
        if (meta.kind == KIND_UPDATE) {
            // The payload may be summed on its way; zero tells the receiver that the checksum is absent.
            hdr.udp.checksum = 0;
        }
    }
}
