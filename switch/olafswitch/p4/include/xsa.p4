// XSA, the architecture of VitisNetP4, after the signatures that UG1308 (Vitis Networking P4 User Guide) gives
// in its pages on the target architecture, standard metadata and externs.
#ifndef _XSA_P4_
#define _XSA_P4_

#include "core.p4"

match_kind {
    range,
    field_mask,
    unused
}

struct standard_metadata_t {
    bit<1>  drop;               // 1 drops the packet in front of the deparser
    bit<64> ingress_timestamp;  // clock cycles since start, when the packet arrived
    bit<16> parsed_bytes;       // bytes of the headers that the parser extracted
    error   parser_error;
}

enum CounterType_t {
    PACKETS,
    BYTES,
    PACKETS_AND_BYTES
}

enum HashAlgorithm_t {
    CRC32,
    CRC16,
    ONES_COMPLEMENT16
}

// Logic of the user's own next to the IP; from version 2025.1 on also with a latency that varies.
extern UserExtern<I, O> {
    UserExtern(bit<16> latency_in_cycles);
    UserExtern(bit<16> latency_in_cycles, bit<16> pipe_capacity_in_cycles);
    void apply(in I data_in, out O result);
}

extern Counter<W, S> {
    Counter(bit<32> n_counters, CounterType_t type);
    void count(in S index);
}

// Olaf's own: VitisNetP4 has no counters of a table's entries.
enum CounterType {
    packets,
    bytes,
    packets_and_bytes
}

extern direct_counter {
    direct_counter(CounterType type);
}

extern Checksum<H> {
    Checksum(HashAlgorithm_t hash);
    void apply<T, W>(in T data, out W result);
}

extern InternetChecksum {
    InternetChecksum();
    void clear();
    void add<T>(in T data);
    void subtract<T>(in T data);
    void get<W>(out W result);
}

parser Parser<H, M>(packet_in packet, out H headers, inout M metadata, inout standard_metadata_t standard_metadata);
@pipeline
control MatchAction<H, M>(inout H headers, inout M metadata, inout standard_metadata_t standard_metadata);
@deparser
control Deparser<H, M>(packet_out packet, in H headers, inout M metadata,
                       inout standard_metadata_t standard_metadata);

package XilinxPipeline<H, M>(Parser<H, M> parser_, MatchAction<H, M> match_action, Deparser<H, M> deparser_);

#endif
