// A program with every kind of object that P4Runtime knows, with HARDWARE every one that becomes Verilog; packets
// from the controller go back to it.
#include <core.p4>
#include <v1model.p4>

@controller_header("packet_in")
header packet_in_t {
    bit<9> ingress_port;
    bit<3> reason;
    bit<4> padding;
}

@controller_header("packet_out")
header packet_out_t {
    bit<9> egress_port;
    bit<7> padding;
}

header frame_t {
    bit<32> address;
    bit<16> port;
    bit<16> kind;
    bit<8>  value;
    bit<8>  maybe;
    bit<48> mac;
}

struct learn_t {
    bit<48> address;
    bit<9>  port;
}

struct headers_t {
    packet_in_t  packet_in;
    packet_out_t packet_out;
    frame_t      frame;
}

struct metadata_t {
    bit<12> value;
    bit<8>  selected;
    bit<8>  special;
}

parser FrameParser(packet_in packet, out headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard) {
    @id(0x03000001) value_set<bit<16>>(3) kinds;

    state start {
        transition select(standard.ingress_port) {
            510: parse_packet_out;
            default: parse_frame;
        }
    }

    state parse_packet_out {
        packet.extract(hdr.packet_out);
        transition accept;
    }

    state parse_frame {
        packet.extract(hdr.frame);
        transition select(hdr.frame.kind) {
            kinds: parse_special;
            default: accept;
        }
    }

    state parse_special {
        meta.special = 1;
        transition accept;
    }
}

control NoVerify(inout headers_t hdr, inout metadata_t meta) {
    apply { }
}

control ingress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard) {
    @id(0x13000001) direct_counter(CounterType.packets_and_bytes) exact_counter;
    @id(0x13000002) direct_counter(CounterType.packets_and_bytes) constant_counter;
#ifndef HARDWARE
    @id(0x15000001) direct_meter<bit<2>>(MeterType.packets) exact_meter;
    @id(0x14000001) meter(3, MeterType.bytes) rate;
    @id(0x11000001) @name("selector") @max_group_size(4) action_selector(HashAlgorithm.crc32, 8, 16) spread;
    bit<2> color = 0;
#endif
    @id(0x12000001) counter(4, CounterType.packets_and_bytes) frames;
    @id(0x16000001) register<bit<48>>(4) seen;
    @id(0x16000002) register<int<12>>(2) balance;

    @id(0x01000001)
    action forward(@id(1) bit<9> port, @id(2) bit<20> label) {
        standard.egress_spec = port;
        meta.selected = (bit<8>) label;
    }

    @id(0x01000003)
    action mark() {
        standard.priority = 1;
    }

    @id(0x02000001)
    @name("exact") table exact_ {
        key = {
            hdr.frame.address : exact @name("address") @id(1);
            standard.ingress_port : exact @name("port") @id(2);
        }
        actions = { forward; @defaultonly NoAction; @tableonly mark; }
        default_action = NoAction();
        counters = exact_counter;
#ifndef HARDWARE
        meters = exact_meter;
#endif
        size = 1024;
    }

    @id(0x02000002)
    @name("lpm") table lpm_ {
        key = { hdr.frame.address : lpm @name("address"); }
        actions = { forward; NoAction; }
        const default_action = NoAction();
        size = 4;
    }

    @id(0x02000003)
    @name("ternary") table ternary_ {
        key = {
            meta.value : ternary @name("value");
            hdr.frame.port : range @name("port");
            hdr.frame.maybe : optional @name("maybe");
        }
        actions = { forward; NoAction; }
        default_action = NoAction();
        size = 64;
#ifndef HARDWARE
        support_timeout = true;
#endif
    }

    @id(0x02000004)
    table constant {
        key = { hdr.frame.value : exact @name("value"); }
        actions = { forward; NoAction; }
        default_action = NoAction();
        counters = constant_counter;
        const entries = {
            1 : forward(5, 6);
            2 : NoAction();
        }
    }

#ifndef HARDWARE
    @id(0x02000005)
    table selected {
        key = {
            hdr.frame.value : exact @name("value");
            hdr.frame.mac : selector;
        }
        actions = { forward; }
        implementation = spread;
        size = 16;
    }
#endif

    @id(0x02000006)
    table keyless {
        actions = { forward; NoAction; }
        default_action = NoAction();
        size = 1;
    }

    @id(0x02000007)
    table preset {
        key = { hdr.frame.value : exact @name("value"); }
        actions = { forward; NoAction; }
        default_action = NoAction();
        size = 16;
        entries = {
            7 : NoAction();
        }
    }

    apply {
        if (hdr.packet_out.isValid()) {
            hdr.packet_in.setValid();
            hdr.packet_in.ingress_port = hdr.packet_out.egress_port;
            hdr.packet_out.setInvalid();
            standard.egress_spec = 510;
        } else if (hdr.frame.isValid()) {
            meta.value = hdr.frame.port[11:0];
            if (exact_.apply().hit) {
#ifndef HARDWARE
                exact_meter.read(color);
#endif
            }
            lpm_.apply();
            ternary_.apply();
            constant.apply();
#ifndef HARDWARE
            selected.apply();
#endif
            keyless.apply();
            preset.apply();
            frames.count(2);
#ifndef HARDWARE
            rate.execute_meter(32w1, color);
#endif
            seen.write(1, hdr.frame.mac);
            balance.write(1, (int<12>) meta.value);
#ifndef HARDWARE
            digest<learn_t>(1, { hdr.frame.mac, standard.ingress_port });
#endif
        }
    }
}

control egress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard) {
    apply { }
}

control NoCompute(inout headers_t hdr, inout metadata_t meta) {
    apply { }
}

control FrameDeparser(packet_out packet, in headers_t hdr) {
    apply {
        packet.emit(hdr.packet_in);
        packet.emit(hdr.frame);
    }
}

V1Switch(FrameParser(), NoVerify(), ingress(), egress(), NoCompute(), FrameDeparser()) main;
