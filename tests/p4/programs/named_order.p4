#include <core.p4>
#include <v1model.p4>
header h_t { bit<8> f; bit<8> a; bit<8> c; bit<8> s; bit<8> o; }
struct hs { h_t h; }
struct ms { }
struct pair { bit<8> first; bit<8> second; }
bit<8> bump(inout bit<8> v) { v = v + 1; return v; }
bit<8> take(in bit<8> first, in bit<8> second) { return first * 16 + second; }
void two(out bit<8> p, out bit<8> q) { p = 0xaa; q = 0xbb; }
control Sub(in bit<8> x, in bit<8> y, out bit<8> r) { apply { r = x * 16 + y; } }
parser P(packet_in b, out hs h, inout ms m, inout standard_metadata_t s) { state start { b.extract(h.h); transition accept; } }
control V(inout hs h, inout ms m) { apply { } }
control I(inout hs h, inout ms m, inout standard_metadata_t s) {
    Sub() sub;
    action act(in bit<8> x, in bit<8> y) { h.h.a = x * 16 + y; }
    apply {
        s.egress_spec = 1;
        bit<8> t = 0; bit<8> r = 0; bit<8> w = 0;
        h.h.f = take(second = bump(t), first = bump(t));                          // function
        act(y = bump(t), x = bump(t));                                            // action
        t = 0; sub.apply(y = bump(t), x = bump(t), r = r); h.h.c = r;              // control
        pair z = { second = bump(t), first = bump(t) }; h.h.s = z.first * 16 + z.second;   // struct initializer
        two(q = w, p = w); h.h.o = w;                                              // copy-out, left to right
    }
}
control E(inout hs h, inout ms m, inout standard_metadata_t s) { apply { } }
control C(inout hs h, inout ms m) { apply { } }
control D(packet_out b, in hs h) { apply { b.emit(h); } }
V1Switch(P(), V(), I(), E(), C(), D()) main;
