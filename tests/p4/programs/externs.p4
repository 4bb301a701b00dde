// Externs with state, hashes and checksums.
#include <core.p4>
#include <v1model.p4>

header body_t { bit<8> what; bit<8> index; bit<32> value; bit<16> sum; }
struct headers_t { body_t body; }
struct metadata_t { bit<2> colour; }
struct news_t { bit<8> index; bit<32> value; }

parser MyParser(packet_in packet, out headers_t h, inout metadata_t m, inout standard_metadata_t s) {
    state start { packet.extract(h.body); transition accept; }
}

control MyIngress(inout headers_t h, inout metadata_t m, inout standard_metadata_t s) {
    counter(4, CounterType.packets_and_bytes) counted;
    meter(4, MeterType.packets) metered;
    register<bit<32>>(4) kept;
    register<bit<100>>(2) wide;
    direct_counter(CounterType.packets) hits;
    direct_meter<bit<2>>(MeterType.bytes) colours;
    action_selector(HashAlgorithm.identity, 16, 8) ways;

    action colour() { colours.read(m.colour); }
    action out_by(bit<9> port) { s.egress_spec = port; }
    table direct_ {
        key = { h.body.index: exact; }
        actions = { colour; NoAction; }
        counters = hits;
        meters = colours;
    }
    table spread {
        key = { h.body.index: exact; h.body.value[7:0]: selector; }
        actions = { out_by; NoAction; }
        implementation = ways;
        size = 8;
    }

    apply {
        bit<32> i = (bit<32>) h.body.index;
        if (h.body.what == 1) {
            counted.count(i);
        } else if (h.body.what == 2) {
            bit<32> old;
            kept.read(old, i);
            kept.write(i, old + h.body.value);
            h.body.value = old;
        } else if (h.body.what == 3) {
            hash(h.body.value, HashAlgorithm.crc32, 32w0, { h.body.what, h.body.index, h.body.value },
                 64w0x100000000);
        } else if (h.body.what == 4) {
            hash(h.body.sum, HashAlgorithm.crc16, 16w0, { h.body.what, h.body.index, h.body.value }, 32w0x10000);
        } else if (h.body.what == 5) {
            hash(h.body.value, HashAlgorithm.identity, 32w100, { h.body.index }, 32w16);
        } else if (h.body.what == 6) {
            hash(h.body.sum, HashAlgorithm.xor16, 16w0, { h.body.value, h.body.index }, 32w0x10000);
        } else if (h.body.what == 7) {
            bit<2> colour_;
            metered.execute_meter(i, colour_);
            h.body.value = (bit<32>) colour_;
        } else if (h.body.what == 8) {
            direct_.apply();
            h.body.value = (bit<32>) m.colour;
        } else if (h.body.what == 9) {
            spread.apply();
        } else if (h.body.what == 10) {
            digest<news_t>(1, { h.body.index, h.body.value });
        } else if (h.body.what == 11) {
            bit<100> big;
            wide.read(big, i);
            wide.write(i, big + (100w1 << 90) + 1);
            h.body.value = (bit<32>) big + (bit<32>) big[99:90];
        } else if (h.body.what == 12) {
            random(h.body.value, 32w5, 32w7);
        }
    }
}
#define MY_CHECKSUMS
control MyVerify(inout headers_t h, inout metadata_t m) {
    apply { verify_checksum(h.body.what == 20, { h.body.what, h.body.index, h.body.value }, h.body.sum, HashAlgorithm.csum16); }
}
control MyCompute(inout headers_t h, inout metadata_t m) {
    apply {
        update_checksum(h.body.what == 21, { h.body.what, h.body.index, h.body.value }, h.body.sum, HashAlgorithm.csum16);
        update_checksum_with_payload(h.body.what >= 22, { h.body.what, h.body.index, h.body.value }, h.body.sum,
                                     HashAlgorithm.csum16);
    }
}
#define MY_EGRESS
control MyEgress(inout headers_t h, inout metadata_t m, inout standard_metadata_t s) {
    apply {
        if (h.body.what == 20) { h.body.index = (bit<8>) s.checksum_error; }
        if (h.body.what == 23) { truncate((bit<32>) h.body.index); }
        if (h.body.what == 24) { truncate(14); truncate((bit<32>) h.body.index); }
    }
}
#include "pipe.p4"
