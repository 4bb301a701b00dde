// VNP4₁'s match-action logic (OLAF §4, §7): who sent this frame, and is it an update, an ACK, a result, a
// control message, or none of ours? Written once for both architectures; the top says how a counter is
// declared.
control Identify(inout headers_t hdr, inout metadata_t meta) {
    DIRECT_COUNTER(workers_counter, 01, WORKERS_SIZE)
    DIRECT_COUNTER(parameter_servers_counter, 02, PARAMETER_SERVERS_SIZE)
    DIRECT_COUNTER(refusals_counter, 03, REFUSALS_SIZE)
    COUNTER_PLACE

    @id(0x01000001)
    action assign(@id(1) bit<16> cluster, @id(2) bit<32> worker, @id(3) bit<16> index, @id(4) bit<16> segments,
                  @id(5) bit<8> member, @id(6) bit<4> epoch AND_PLACE) {
        meta.cluster = cluster;
        meta.worker = worker;
        meta.index = index;
        meta.segments = segments;
        meta.member = member;
        meta.epoch = epoch;
        meta.known_worker = 1;
        SET_PLACE
    }

    @id(0x01000002)
    action unknown_worker() {
        meta.known_worker = 0;
    }

    @id(0x01000003)
    action admit(ONLY_PLACE) {
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

    @id(0x02000001)
    table workers {
        key = { meta.worker_addr : exact @name("worker_addr"); }
        actions = { assign; @defaultonly unknown_worker; }
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

    apply {
        meta.kind = KIND_BYPASS;
        if (hdr.ipv4.isValid() && hdr.ipv4.tos == CONTROL_TOS) {
            meta.punt = 1;
        } else if (hdr.olaf.isValid() && hdr.olaf.version == OLAF_VERSION) {
            bit<8> candidate = KIND_BYPASS;
            if (hdr.olaf.frame_type == OLAF_TYPE_UPDATE) {
                candidate = KIND_UPDATE;
                meta.worker_addr = hdr.ipv4.src_addr;
                meta.server_addr = hdr.ipv4.dst_addr;
            } else if (hdr.olaf.frame_type == OLAF_TYPE_ACK || hdr.olaf.frame_type == OLAF_TYPE_RESULT) {
                candidate = KIND_ACK;
                if (hdr.olaf.frame_type == OLAF_TYPE_RESULT) {
                    candidate = KIND_RESULT;
                }
                meta.worker_addr = hdr.ipv4.dst_addr;
                meta.server_addr = hdr.ipv4.src_addr;
            }
            if (candidate != KIND_BYPASS) {
                APPLY_COUNTED(workers, workers_counter)
                APPLY_COUNTED(parameter_servers, parameter_servers_counter)
                if (meta.known_worker == 1 && meta.known_server == 1) {
                    meta.kind = candidate;
                    if (hdr.olaf.epoch != meta.epoch) {
                        meta.refusal = REFUSED_EPOCH;
                    } else if (hdr.olaf.segment >= meta.segments) {
                        meta.refusal = REFUSED_SEGMENT;
                    }
                    if (meta.refusal != 0) {
                        APPLY_COUNTED(refusals, refusals_counter)
                    }
                    meta.index = meta.index + hdr.olaf.segment;
                }
            }
        }
        if (meta.kind == KIND_UPDATE) {
            // The payload may be summed on its way; zero tells the receiver that there is no checksum.
            hdr.udp.checksum = 0;
        }
    }
}
