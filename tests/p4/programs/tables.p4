// Tables of every match kind, their results, defaults and own entries.
#include <core.p4>
#include <v1model.p4>

header keys_t { bit<8> which; bit<16> a; bit<16> b; }
header report_t { bit<8> action_; bit<8> hit; }
struct headers_t { report_t report; keys_t keys; }
struct metadata_t { bit<8> hit; }

parser MyParser(packet_in packet, out headers_t h, inout metadata_t m, inout standard_metadata_t s) {
    state start { packet.extract(h.keys); transition accept; }
}

control MyIngress(inout headers_t h, inout metadata_t m, inout standard_metadata_t s) {
    action mark(bit<8> value) { h.report.action_ = value; }
    action add(in bit<8> base, bit<8> value) { h.report.action_ = base + value; }
    action nothing() { }

    table exact_ {
        key = { h.keys.a: exact; h.keys.b: exact; }
        actions = { mark; add(h.keys.which); nothing; }
        default_action = mark(0x11);
    }
    table lpm_ {
        key = { h.keys.a: exact; h.keys.b: lpm; }
        actions = { mark; nothing; }
    }
    table ternary_ {
        key = { h.keys.a: ternary; h.keys.b: lpm; }
        actions = { mark; nothing; }
        const default_action = nothing;
    }
    table range_ {
        key = { h.keys.a: range; h.keys.b: optional; }
        actions = { mark; nothing; }
        const default_action = mark(0x22);
    }
    table own {
        key = { h.keys.a: ternary; h.keys.b: range; }
        actions = { mark; nothing; }
        const default_action = nothing;
        const entries = {
            (0x1000 &&& 0xF000, _): mark(1);
            (0x1200 &&& 0xFF00, 5 .. 9): mark(2);
            (_, 7): mark(3);
        }
    }
    table valued {
        key = { h.keys.a: ternary; }
        actions = { mark; }
        default_action = mark(9);
        largest_priority_wins = false;
        entries = {
            priority = 10: 0x0100 &&& 0xFF00: mark(1);
            priority = 5: 0x0010 &&& 0x00F0: mark(2);
        }
    }
    table switched {
        key = { h.keys.isValid(): exact; h.keys.a[3:0]: exact @name("nibble"); }
        actions = { mark; nothing; add(0x40); }
        default_action = nothing();
        const entries = {
            (true, 1): mark(1);
            (true, 2): add(0x40, 2);
        }
    }

    apply {
        h.report.setValid();
        h.report.action_ = 0;
        h.report.hit = 0;
        if (h.keys.which == 1) {
            h.report.hit = exact_.apply().hit ? 8w1 : 0;
        } else if (h.keys.which == 2) {
            if (lpm_.apply().miss) { h.report.hit = 2; }
        } else if (h.keys.which == 3) {
            ternary_.apply();
        } else if (h.keys.which == 4) {
            range_.apply();
        } else if (h.keys.which == 5) {
            own.apply();
        } else if (h.keys.which == 6) {
            valued.apply();
        } else {
            switch (switched.apply().action_run) {
                mark: { h.report.hit = 1; }
                nothing:
                add: { h.report.hit = 2; }
            }
        }
    }
}
#include "pipe.p4"
