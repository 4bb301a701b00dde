// Functions, order of evaluation, copies in and out, exit and return, loops, switch, nested controls.
#include <core.p4>
#include <v1model.p4>

enum bit<8> Order { ORDER = 1, ALIAS = 2, LEAVE = 3, LOOP = 4, PICK = 5, NEST = 6, GENERIC = 7, RETURN = 8 }
enum Colour { Red, Green, Blue }
type bit<8> Port;
typedef tuple<bit<8>, bit<8>> both_t;

header body_t { Order what; bit<8> a; bit<8> b; bit<8> c; }
struct headers_t { body_t body; }
struct metadata_t { Colour colour; Port port; }

bit<8> next(inout bit<8> x) {
    x = x + 1;
    return x;
}
void swap(inout bit<8> x, inout bit<8> y) {
    bit<8> t = x;
    x = y;
    y = t;
}
T first<T>(in T x, in T y) { return x; }
bit<8> classify(in bit<8> x) {
    if (x < 10) {
        return 1;
    } else if (x < 100) {
        return 2;
    }
    return 3;
}

control Inner(inout bit<8> x, in bit<8> step)(bit<8> times) {
    apply {
        if (step == 0xFF) {
            x = 0xAA;
            exit;
        }
        x = x + step * times;
    }
}

parser MyParser(packet_in packet, out headers_t h, inout metadata_t m, inout standard_metadata_t s) {
    state start { packet.extract(h.body); transition accept; }
}

control MyIngress(inout headers_t h, inout metadata_t m, inout standard_metadata_t s) {
    Inner(2) twice;
    Inner(3) thrice;
    bit<8> local = 5;

    action alias_(inout bit<8> x) {
        h.body.a = 0x10;
        x = x + 1;
    }
    action leave(bit<8> value) {
        h.body.b = value;
        exit;
    }

    apply {
        if (h.body.what == Order.ORDER) {
            h.body.c = h.body.a + next(h.body.a) ++ 1w0 == 9w0 ? 8w0 : h.body.a + next(h.body.a);
        } else if (h.body.what == Order.ALIAS) {
            alias_(h.body.a);
            swap(h.body.b, h.body.c);
        } else if (h.body.what == Order.LEAVE) {
            leave(local);
            h.body.c = 0xFF;
        } else if (h.body.what == Order.LOOP) {
            for (bit<8> i = 0; i < 10; i = i + 1) {
                if (i == h.body.a) { continue; }
                if (i == h.body.b) { break; }
                h.body.c = h.body.c + i;
            }
            for (bit<8> i in 1 .. 3) { h.body.c += i; }
        } else if (h.body.what == Order.PICK) {
            m.colour = h.body.a == 1 ? Colour.Green : Colour.Blue;
            switch (h.body.b) {
                1:
                2: { h.body.c = 0x12; }
                3: { h.body.c = m.colour == Colour.Green ? 8w0x33 : 0x34; }
                default: { h.body.c = 0x99; }
            }
        } else if (h.body.what == Order.NEST) {
            twice.apply(h.body.a, h.body.b);
            thrice.apply(h.body.c, 1);
        } else if (h.body.what == Order.GENERIC) {
            both_t both = { h.body.a, h.body.b };
            m.port = (Port) first<bit<8>>(both[1], both[0]);
            h.body.c = (bit<8>) m.port;
            h.body.a[7:4] = h.body.b[3:0];
            bool big = first(h.body.b > 100, false) && next(h.body.b) > 0;
            h.body.b = big ? h.body.b : 0;
        } else if (h.body.what == Order.RETURN) {
            h.body.b = classify(h.body.a);
            if (h.body.b == 2) { return; }
            h.body.c = 0x77;
        }
    }
}
#define MY_EGRESS
control MyEgress(inout headers_t h, inout metadata_t m, inout standard_metadata_t s) {
    apply {
        if (h.body.what == Order.LEAVE) { h.body.a = 0xE6; }
    }
}
#include "pipe.p4"
