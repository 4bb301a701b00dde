// Parser value sets: of a number, and of a struct whose fields have match kinds.
#include <core.p4>
#include <v1model.p4>

header body_t { bit<16> kind; bit<8> flags; bit<8> path; }
struct headers_t { body_t body; }
struct metadata_t { }
struct pattern_t {
    @match(exact) bit<16> kind;
    @match(ternary) bit<8> flags;
}

parser MyParser(packet_in packet, out headers_t h, inout metadata_t m, inout standard_metadata_t s) {
    value_set<bit<16>>(4) kinds;
    value_set<pattern_t>(4) patterns;
    state start {
        packet.extract(h.body);
        transition select(h.body.kind, h.body.flags) {
            patterns: matched;
            (kinds, 1): listed;
            default: accept;
        }
    }
    state matched { h.body.path = 1; transition accept; }
    state listed { h.body.path = 2; transition accept; }
}
control MyIngress(inout headers_t h, inout metadata_t m, inout standard_metadata_t s) { apply { } }
#include "pipe.p4"
