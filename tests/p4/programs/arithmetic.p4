// Every operator at width W: operands in, results out (tests/p4/test_arithmetic.py computes the same).
#include <core.p4>
#include <v1model.p4>

#define WORDS ((W + 7) / 8 * 8)
typedef bit<W> u;
typedef int<W> i;

header operands_t { bit<(WORDS)> a; bit<(WORDS)> b; bit<8> n; }
header results_t {
    bit<(WORDS)> add; bit<(WORDS)> sub; bit<(WORDS)> mul; bit<(WORDS)> and_; bit<(WORDS)> or_; bit<(WORDS)> xor_;
    bit<(WORDS)> not_; bit<(WORDS)> neg; bit<(WORDS)> shl; bit<(WORDS)> shr; bit<(WORDS)> sar;
    bit<(WORDS)> addsat; bit<(WORDS)> subsat; bit<(WORDS)> iaddsat; bit<(WORDS)> isubsat;
    bit<(WORDS)> middle; bit<(WORDS)> joined; bit<(WORDS)> extended; bit<(WORDS)> set;
    bit<8> orders;
}
struct headers_t { operands_t o; results_t r; }
struct metadata_t { }

parser MyParser(packet_in packet, out headers_t h, inout metadata_t m, inout standard_metadata_t s) {
    state start { packet.extract(h.o); transition accept; }
}

control MyIngress(inout headers_t h, inout metadata_t m, inout standard_metadata_t s) {
    apply {
        u a = (u) h.o.a;
        u b = (u) h.o.b;
        i x = (i) a;
        i y = (i) b;
        h.r.setValid();
        h.r.add = (bit<(WORDS)>) (a + b);
        h.r.sub = (bit<(WORDS)>) (a - b);
        h.r.mul = (bit<(WORDS)>) (a * b);
        h.r.and_ = (bit<(WORDS)>) (a & b);
        h.r.or_ = (bit<(WORDS)>) (a | b);
        h.r.xor_ = (bit<(WORDS)>) (a ^ b);
        h.r.not_ = (bit<(WORDS)>) ~a;
        h.r.neg = (bit<(WORDS)>) -a;
        h.r.shl = (bit<(WORDS)>) (a << h.o.n);
        h.r.shr = (bit<(WORDS)>) (a >> h.o.n);
        h.r.sar = (bit<(WORDS)>) (u) (x >> h.o.n);
        h.r.addsat = (bit<(WORDS)>) (a |+| b);
        h.r.subsat = (bit<(WORDS)>) (a |-| b);
        h.r.iaddsat = (bit<(WORDS)>) (u) (x |+| y);
        h.r.isubsat = (bit<(WORDS)>) (u) (x |-| y);
        h.r.middle = (bit<(WORDS)>) a[W - 2:1];
        h.r.joined = (bit<(WORDS)>) (a[W - 4:0] ++ b[2:0]);
        h.r.extended = (bit<(WORDS)>) (int<(WORDS)>) x;
        u c = a;
        c[W - 2:1] = b[W - 3:0];
        h.r.set = (bit<(WORDS)>) c;
        h.r.orders = (a < b ? 8w1 : 0) | (a <= b ? 8w2 : 0) | (x < y ? 8w4 : 0) | (x <= y ? 8w8 : 0)
                   | (a == b ? 8w16 : 0) | (x > y ? 8w32 : 0) | (a >= b ? 8w64 : 0);
        h.o.setInvalid();
    }
}
#include "pipe.p4"
