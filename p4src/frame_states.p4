// Ethernet / IPv4 / UDP / Olaf. What is not exactly that, options and fragments included, is accepted
// as far as it was understood and left untouched from there on. VitisNetP4 takes no two rows of a select that
// match the same value, so "from or to the Olaf port" is two states. Included inside each top's parser.
    state parse_frame {
        packet.extract(hdr.ethernet);
        transition select(hdr.ethernet.ether_type) {
            ETHER_TYPE_IPV4: parse_ipv4;
            ETHER_TYPE_VLAN: parse_vlan;
            ETHER_TYPE_SERVICE_VLAN: parse_vlan;
            ETHER_TYPE_STACKED_VLAN: parse_vlan;
            0 &&& 0xFC00: parse_snap;       // a length of up to 1535 bytes
            0x0400 &&& 0xFE00: parse_snap;
            default: accept;
        }
    }

    state parse_vlan {
        packet.extract(hdr.vlan);
        transition accept;
    }

    state parse_snap {
        packet.extract(hdr.snap);
        transition accept;
    }

    state parse_ipv4 {
        packet.extract(hdr.ipv4);
        transition select(hdr.ipv4.version, hdr.ipv4.ihl, hdr.ipv4.flags, hdr.ipv4.frag_offset, hdr.ipv4.protocol) {
            (4, 5, 0 &&& 1, 0, PROTOCOL_UDP): parse_udp;
            default: accept;
        }
    }

    state parse_udp {
        packet.extract(hdr.udp);
        transition select(hdr.udp.dst_port) {
            OLAF_UDP_PORT: parse_olaf;
            default: parse_udp_source;
        }
    }

    state parse_udp_source {
        transition select(hdr.udp.src_port) {
            OLAF_UDP_PORT: parse_olaf;
            default: accept;
        }
    }

    state parse_olaf {
        packet.extract(hdr.olaf);
        transition select(hdr.olaf.version, hdr.olaf.frame_type, hdr.olaf.flags) {
            (OLAF_VERSION, OLAF_TYPE_ACK, OLAF_FLAG_STATUS &&& OLAF_FLAG_STATUS): parse_status;
            default: accept;
        }
    }

    state parse_status {
        packet.extract(hdr.status);
        transition accept;
    }
