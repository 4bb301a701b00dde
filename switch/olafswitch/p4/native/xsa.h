// The path of a packet through XSA, the architecture of VitisNetP4: parser, match-action, deparser. As its
// user guide documents, a packet with a parser's error goes on to match-action, and one with `drop` set ends
// in front of the deparser, with its user metadata still put out.
//
// P is the compiled program: State (headers h, user metadata m, standard metadata s), static functions for
// its blocks, and load_metadata and store_metadata for METADATA_BYTES bytes of packed user metadata.
#pragma once
#include "switch.h"

P4_INLINE void count_up_to(Counter &c, u64 bytes, u64 most_packets, u64 most_bytes) {
    const u64 packets = __atomic_load_n(&c.packets, __ATOMIC_RELAXED);
    const u64 before = __atomic_load_n(&c.bytes, __ATOMIC_RELAXED);
    if (packets < most_packets) __atomic_store_n(&c.packets, packets + 1, __ATOMIC_RELAXED);
    if (before < most_bytes)
        __atomic_store_n(&c.bytes, bytes < most_bytes - before ? before + bytes : most_bytes,
                         __ATOMIC_RELAXED);
}

P4_INLINE void call_user_extern(p4_switch *sw, u32 number, const u8 *in, u8 *out) {
    if (sw->user_extern) sw->user_extern(sw->user_extern_context, number, in, out);
}

template <class P> static void process_with_metadata(p4_switch *sw, const u8 *frame, size_t length,
                                                     u64 timestamp, u8 *metadata, p4_emit_fn emit,
                                                     void *context) {
    if (length > 1u << 20) return;
    begin_packet(sw);
    Context x{};
    x.sw = sw;
    x.now = timestamp;
    x.data = x.at = frame;
    x.end = frame + length;
    x.ingress_length = (u32)length;
    x.register_length = (int64_t)length;
    x.payload_at = NO_LIMIT;
    x.take_buffer();
    typename P::State s{};
    P::load_metadata(s, metadata);
    s.s.f_ingress_timestamp = timestamp;
    P::parse(x, s);
    s.s.f_parsed_bytes = cut<16>((u64)(x.at - x.data));
    s.s.f_parser_error = x.error;
    P::act(x, s);
    x.exited = false;
    const bool drop = s.s.f_drop;
    if (!drop) P::emit(x, s);
    P::store_metadata(metadata, s);
    if (!drop) {
        const u32 out = append_payload(x);
        emit(context, 0, x.leaving, out);
    }
    end_packet(sw);
}
