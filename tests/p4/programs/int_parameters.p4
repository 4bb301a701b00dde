#include <core.p4>
#include <v1model.p4>
header e_t { bit<8> a; bit<8> b; bit<16> c; bit<8> d; bit<8> e; }
struct H { e_t e; }
struct M { }
bit<8> f(int n, in bit<8> x) { return x + n; }
bit<16> g(int n) { return (bit<16>) (n * n * n - 1); }
bool big(int n, int m) { return n * n > m + 1; }
bit<8> neg(int n) { return (bit<8>) (-n >> 1); }
bit<8> deep(int n) { return f(n, 1) + f(n, 2); }
control C(int a, inout bit<8> b) { apply { b = b + a; if (a == 3) { b = b << 1; } if (a < b) { b = b | 0x80; } } }
parser Sub(packet_in p, out e_t e, int skip) { state start { p.extract(e); e.e = e.e + skip; transition select(e.a) { 1: one; default: accept; } } state one { e.b = (bit<8>) skip; transition accept; } }
parser P(packet_in p, out H h, inout M m, inout standard_metadata_t s) { Sub() sub; state start { sub.apply(p, h.e, 7); transition accept; } }
control V(inout H h, inout M m) { apply { } }
control I(inout H h, inout M m, inout standard_metadata_t s) { C() c; apply { s.egress_spec = 1; c.apply(3, h.e.a); c.apply(5, h.e.b); h.e.c = g(-300) ; h.e.d = f(256 + 2, 1) + neg(7) + deep(2); if (big(2000000000, 3)) { h.e.d = h.e.d ^ 0x80; } } }
control E(inout H h, inout M m, inout standard_metadata_t s) { apply { } }
control D(packet_out p, in H h) { apply { p.emit(h); } }
V1Switch(P(), V(), I(), E(), V(), D()) main;
