// The rest of a pipeline around a program's headers_t, metadata_t, MyParser and MyIngress.
#ifndef MY_EGRESS
control MyEgress(inout headers_t h, inout metadata_t m, inout standard_metadata_t s) { apply { } }
#endif
#ifndef MY_CHECKSUMS
control MyVerify(inout headers_t h, inout metadata_t m) { apply { } }
control MyCompute(inout headers_t h, inout metadata_t m) { apply { } }
#endif
control MyDeparser(packet_out packet, in headers_t h) { apply { packet.emit(h); } }
V1Switch(MyParser(), MyVerify(), MyIngress(), MyEgress(), MyCompute(), MyDeparser()) main;
