// Parsing: masks, ranges, tuples, lookahead, advance, varbit, stacks, sub-parsers, verify.
#include <core.p4>
#include <v1model.p4>

error { BadVersion }

header kind_t { bit<8> kind; }
header label_t { bit<7> value; bit<1> bottom; }
header option_t { bit<8> length; varbit<64> data; }
header pair_t { bit<4> left; bit<12> right; }
header report_t { bit<8> path; bit<8> error_; bit<8> last; bit<32> length; }
struct headers_t { report_t report; kind_t kind; label_t[3] labels; option_t option; pair_t pair; }
struct metadata_t { bit<8> path; bit<8> last; }

parser Labels(packet_in packet, inout label_t[3] labels, inout bit<8> last) {
    state start {
        packet.extract(labels.next);
        last = (bit<8>) labels.last.value;
        transition select(labels.last.bottom) {
            0: start;
            1: accept;
        }
    }
}

parser MyParser(packet_in packet, out headers_t h, inout metadata_t m, inout standard_metadata_t s) {
    Labels() labels;
    state start {
        packet.extract(h.kind);
        transition select(h.kind.kind, packet.lookahead<bit<8>>()) {
            (1, _): stack;
            (2, _): option;
            (3, 0x40 &&& 0xF0): pair;
            (3, 0x50 .. 0x5F): skip;
            (4, _): checked;
            (5, _): accept;
        }
    }
    state stack {
        m.path = 1;
        labels.apply(packet, h.labels, m.last);
        transition accept;
    }
    state option {
        m.path = 2;
        packet.extract(h.option, (bit<32>) packet.lookahead<bit<8>>());
        transition accept;
    }
    state pair {
        m.path = 3;
        packet.extract(h.pair);
        transition select(h.pair.right) {
            0x123: marked;
            default: accept;
        }
    }
    state marked {
        m.last = (bit<8>) h.pair.left;
        transition accept;
    }
    state skip {
        m.path = 4;
        packet.advance(16);
        transition pair;
    }
    state checked {
        m.path = 5;
        verify(packet.lookahead<bit<4>>() == 7, error.BadVersion);
        transition accept;
    }
}

control MyIngress(inout headers_t h, inout metadata_t m, inout standard_metadata_t s) {
    apply {
        h.report.setValid();
        h.report.path = m.path;
        h.report.last = m.last;
        h.report.length = s.packet_length;
        if (s.parser_error == error.NoError) { h.report.error_ = 0; }
        else if (s.parser_error == error.PacketTooShort) { h.report.error_ = 1; }
        else if (s.parser_error == error.NoMatch) { h.report.error_ = 2; }
        else if (s.parser_error == error.StackOutOfBounds) { h.report.error_ = 3; }
        else if (s.parser_error == error.HeaderTooShort) { h.report.error_ = 4; }
        else if (s.parser_error == error.ParserInvalidArgument) { h.report.error_ = 6; }
        else if (s.parser_error == error.BadVersion) { h.report.error_ = 7; }
    }
}
#include "pipe.p4"
