// Adds in the network: a frame with EtherType 0x88B6 goes back to its sender with a + b in it. Any other frame goes
// where its destination's entry says, or crosses between a MAC (1, 2) and its interface of the host (3, 4).
#include <core.p4>
#include <v1model.p4>

header ethernet_t {
    bit<48> destination;
    bit<48> source;
    bit<16> kind;
}

header sum_t {
    bit<32> a;
    bit<32> b;
    bit<32> sum;
}

struct headers_t {
    ethernet_t ethernet;
    sum_t sum;
}

struct nothing_t { }

parser Parse(packet_in packet, out headers_t hdr, inout nothing_t meta, inout standard_metadata_t standard) {
    state start {
        packet.extract(hdr.ethernet);
        transition select(hdr.ethernet.kind) {
            0x88B6: add;
            default: accept;
        }
    }
    state add {
        packet.extract(hdr.sum);
        transition accept;
    }
}

control Verify(inout headers_t hdr, inout nothing_t meta) { apply { } }

control Add(inout headers_t hdr, inout nothing_t meta, inout standard_metadata_t standard) {
    action send(bit<9> port) {
        standard.egress_spec = port;
    }
    action cross() {
        standard.egress_spec = ((standard.ingress_port - 1) ^ 2) + 1;
    }
    table forward {
        key = { hdr.ethernet.destination: exact; }
        actions = { send; cross; }
        default_action = cross();
        size = 64;
    }
    apply {
        if (hdr.sum.isValid()) {
            hdr.sum.sum = hdr.sum.a + hdr.sum.b;
            bit<48> sender = hdr.ethernet.source;
            hdr.ethernet.source = hdr.ethernet.destination;
            hdr.ethernet.destination = sender;
            standard.egress_spec = standard.ingress_port;
        } else {
            forward.apply();
        }
    }
}

control Leave(inout headers_t hdr, inout nothing_t meta, inout standard_metadata_t standard) { apply { } }

control Update(inout headers_t hdr, inout nothing_t meta) { apply { } }

control Deparse(packet_out packet, in headers_t hdr) {
    apply {
        packet.emit(hdr.ethernet);
        packet.emit(hdr.sum);
    }
}

V1Switch(Parse(), Verify(), Add(), Leave(), Update(), Deparse()) main;
