// Headers as values: stacks pushed and popped, unions, copies, comparison, runtime indices, initializers.
#include <core.p4>
#include <v1model.p4>

header order_t { bit<8> what; bit<8> index; }
header item_t { bit<8> v; }
header wide_t { bit<16> v; }
header_union choice_t { item_t item; wide_t wide; }
header report_t { bit<8> seen; bit<8> more; }
struct headers_t { report_t report; order_t order; item_t[3] items; choice_t choice; }
struct metadata_t { }
struct pair_t { bit<8> left; item_t right; }

parser MyParser(packet_in packet, out headers_t h, inout metadata_t m, inout standard_metadata_t s) {
    state start {
        packet.extract(h.order);
        packet.extract(h.items[0]);
        packet.extract(h.items[1]);
        packet.extract(h.items[2]);
        transition accept;
    }
}

control MyIngress(inout headers_t h, inout metadata_t m, inout standard_metadata_t s) {
    pair_t pair = { 7, { 9 } };
    apply {
        h.report.setValid();
        h.report.seen = 0;
        h.report.more = 0;
        if (h.order.what == 1) {
            h.items.push_front(1);
            h.report.seen = (h.items[0].isValid() ? 8w1 : 0) | (h.items[1].isValid() ? 8w2 : 0);
        } else if (h.order.what == 2) {
            h.items.pop_front(2);
        } else if (h.order.what == 3) {
            h.items[h.order.index].v = 0xEE;
            h.report.seen = h.items[h.order.index].v;
        } else if (h.order.what == 4) {
            h.choice.item = { 0xAB };
            h.choice.wide.setValid();
            h.choice.wide.v = 0x1234;
            h.report.seen = h.choice.item.isValid() ? 8w1 : 0;
            h.report.more = h.choice.isValid() ? 8w1 : 0;
        } else if (h.order.what == 5) {
            h.report.seen = h.items[0] == h.items[1] ? 8w1 : 0;
            h.items[1] = h.items[0];
            h.report.more = h.items[0] == h.items[1] ? 8w1 : 0;
        } else if (h.order.what == 6) {
            item_t nothing = (item_t) {#};
            h.items[2] = nothing;
            h.report.seen = pair.left + pair.right.v;
            h.report.more = h.items[2] == nothing ? 8w1 : 0;
        } else if (h.order.what == 7) {
            h.items[0] = pair.right;
            h.items[0].setInvalid();
            h.items[0].setValid();
            h.report.seen = h.items[0].v;
        }
    }
}
#include "pipe.p4"
