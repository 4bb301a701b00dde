#include <core.p4>
#include <v1model.p4>
header opt_t { bit<8> kind; bit<8> len; }
header r_t { bit<8> v; }
struct hs { r_t r; opt_t[2] two; }
struct ms { }
parser P(packet_in b, out hs h, inout ms m, inout standard_metadata_t s) {
    state start { h.two = b.lookahead<opt_t[2]>(); transition accept; } }
control V(inout hs h, inout ms m) { apply { } }
control I(inout hs h, inout ms m, inout standard_metadata_t s) { apply { s.egress_spec = 1; h.r.setValid(); h.r.v = h.two[1].len; h.two[0].setInvalid(); h.two[1].setInvalid(); } }
control E(inout hs h, inout ms m, inout standard_metadata_t s) { apply { } }
control C(inout hs h, inout ms m) { apply { } }
control D(packet_out b, in hs h) { apply { b.emit(h); } }
V1Switch(P(), V(), I(), E(), C(), D()) main;
