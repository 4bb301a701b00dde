// v1model's path of a packet, as BMv2's simple_switch walks it: parser, checksums, ingress, clones, digest,
// resubmit, replication or unicast; then, for each copy, egress, its clones, deparser, recirculation.
//
// P is the compiled program: State (headers h, metadata m, standard metadata s), and static functions for its
// blocks. P::keep(list, to, from) copies the metadata fields of a field list.
#pragma once
#include <stdlib.h>

#include "switch.h"

template <class P> struct Pipeline {
    typedef typename P::State State;
    struct Pending {         // a frame that goes round again, and what it keeps
        Pending *next;
        State state;
        u32 length;
        u8 frame[];
    };
    Context x;
    p4_emit_fn emit;
    void *emit_context;
    u32 port;
    u32 passes;
    Pending *first, **last;

    P4_METHOD static void clear(State &s) { memset((void *)&s, 0, sizeof s); }

    void again(u32 list, const State &from, u32 kind, const u8 *frame, u32 length) {
        Pending *p = (Pending *)malloc(sizeof(Pending) + length);
        if (!p) return;
        clear(p->state);
        P::keep(list, p->state, from);
        p->state.s.f_instance_type = kind;
        p->state.s.f_packet_length = length;
        p->next = nullptr;
        p->length = length;
        memcpy(p->frame, frame, length);
        *last = p;
        last = &p->next;
    }

    // Egress of one copy, `s`, cut to `limit` bytes unless that is 0.
    void egress(State &s, u32 to, u32 instance, u32 kind, u32 limit) {
        if (++passes > MAX_PASSES) {
            x.sw->looped++;
            return;
        }
        s.s.f_egress_port = to & 511;
        s.s.f_egress_rid = instance & 0xffff;
        s.s.f_instance_type = kind;
        s.s.f_egress_spec = 0;
        s.s.f_packet_length = (u32)x.register_length;
        s.s.f_egress_global_timestamp = cut<48>((u64)(x.now / 1000));
        s.s.f_enq_timestamp = cut<32>((u64)(x.now / 1000));
        x.exited = x.clone = x.recirculate = false;
        x.truncate_to = limit;
        P::egress(x, s);
        x.exited = false;
        if (P::clones && x.clone) clone_egress(s);
        if (s.s.f_egress_spec == DROP_PORT || x.failed) return;
        u32 length = P::deparse(x, s);
        if (x.truncate_to && x.truncate_to < length) length = x.truncate_to;
        if (P::recirculates && x.recirculate)
            again(x.recirculate_list, s, RECIRCULATED, x.sw->out, length);
        else
            emit(emit_context, to, x.sw->out, length);
    }

    void clone_egress(const State &from) {
        const Replicas *r = acquire(x.sw->sessions[x.session & 0xffff]);
        if (!r) return;
        const bool recirculate = x.recirculate;
        const u32 list = x.clone_list, recirculate_list = x.recirculate_list, truncate_to = x.truncate_to;
        const int64_t length = x.register_length;
        for (u32 i = 0; i < r->n; i++) {
            State copy;
            clear(copy);
            copy.h = from.h;
            P::keep(list, copy, from);
            egress(copy, r->replicas[i].port, r->replicas[i].instance, EGRESS_CLONE, r->packet_length);
            x.register_length = length;
        }
        x.recirculate = recirculate;
        x.recirculate_list = recirculate_list;
        x.truncate_to = truncate_to;
    }

    // Clones carry the frame as it came in, parsed anew.
    void clone_ingress(const State &from) {
        const Replicas *r = acquire(x.sw->sessions[x.session & 0xffff]);
        if (!r) return;
        const u32 at = x.at, list = x.clone_list;
        const int64_t length = x.register_length;
        State parsed;
        clear(parsed);
        parsed.s.f_ingress_port = port;
        x.at = 0;
        P::parse(x, parsed);
        for (u32 i = 0; i < r->n; i++) {
            State copy;
            clear(copy);
            copy.h = parsed.h;
            P::keep(list, copy, from);
            x.register_length = x.ingress_length;
            egress(copy, r->replicas[i].port, r->replicas[i].instance, INGRESS_CLONE, r->packet_length);
        }
        x.at = at;
        x.register_length = length;
    }

    void replicate(const State &s, u32 limit) {
        const Replicas *r = acquire(x.sw->groups[s.s.f_mcast_grp & 0xffff]);
        const int64_t length = x.register_length;
        for (u32 i = 0; r && i < r->n; i++) {
            State copy = s;
            x.register_length = length;
            egress(copy, r->replicas[i].port, r->replicas[i].instance, REPLICATED, limit);
        }
    }

    void ingress(State &s, const u8 *frame, u32 length) {
        x.data = frame;
        x.length = x.ingress_length = length;
        x.register_length = length;
        x.at = x.truncate_to = 0;
        x.error = 0;
        x.failed = x.exited = x.checksum_error = x.clone = x.resubmit = x.recirculate = x.digest = false;
        P::parse(x, s);
        s.s.f_parser_error = x.error;
        P::verify(x, s);
        x.exited = false;
        s.s.f_checksum_error = x.checksum_error;
        P::ingress(x, s);
        x.exited = false;
        const u32 limit = x.truncate_to, list = x.resubmit_list;
        const bool resubmit = P::resubmits && x.resubmit;
        if (P::clones && x.clone) clone_ingress(s);
        if (P::digests && x.digest && x.sw->digest)
            x.sw->digest(x.sw->digest_context, x.digest_id, x.digest_data, x.digest_words);
        if (x.failed) return;
        if (resubmit)
            again(list, s, RESUBMITTED, frame, length);
        else if (s.s.f_mcast_grp)
            replicate(s, limit);
        else if (s.s.f_egress_spec != DROP_PORT)
            egress(s, (u32)s.s.f_egress_spec, 0, NORMAL, limit);
    }

    void process(const u8 *frame, u32 length) {
        State s;
        clear(s);
        s.s.f_ingress_port = port & 511;
        s.s.f_packet_length = length;
        s.s.f_ingress_global_timestamp = cut<48>((u64)(x.now / 1000));
        ingress(s, frame, length);
        while (Pending *p = first) {
            if (++passes > MAX_PASSES)
                x.sw->looped++;
            else
                ingress(p->state, p->frame, p->length);
            first = p->next;
            if (!first) last = &first;
            free(p);
        }
    }
};

template <class P>
static void process_packet(p4_switch *sw, u32 port, const u8 *frame, size_t length, u64 now, p4_emit_fn emit,
                           void *context) {
    if (length > 1u << 20) return;
    const u64 busy = sw->busy;
    __atomic_store_n(&sw->busy, busy + 1, __ATOMIC_SEQ_CST);
    Pipeline<P> line;
    line.x.sw = sw;
    line.x.now = now;
    line.emit = emit;
    line.emit_context = context;
    line.port = port;
    line.passes = 0;
    line.first = nullptr;
    line.last = &line.first;
    line.process(frame, (u32)length);
    __atomic_store_n(&sw->busy, busy + 2, __ATOMIC_RELEASE);
}
