// The path of a packet through v1model, as in BMv2's simple_switch: parser, checksums, ingress, clones,
// digest, resubmit, replication or unicast; then, for each copy, egress, its clones, deparser, recirculation.
//
// P is the compiled program: State (headers h, metadata m, standard metadata s), and static functions for its
// blocks. P::keep(list, to, from) copies the metadata fields of a field list.
#pragma once
#include <stdlib.h>

#include "switch.h"

template <class T> struct Fifo {
    T *first = nullptr, **last = &first;
    void push(T *item) {
        item->next = nullptr;
        *last = item;
        last = &item->next;
    }
    T *pop() {
        T *item = first;
        if (item && !(first = item->next)) last = &first;
        return item;
    }
};

template <class P> struct Pipeline {
    typedef typename P::State State;
    struct Repeat {  // a frame that is resubmitted or recirculated, and its preserved metadata
        Repeat *next;
        State state;
        u32 length;
        u8 frame[];
    };
    struct Copy {  // a copy that is waiting for egress
        Copy *next;
        State state;
        u32 to, instance, kind, limit, at;
        int64_t register_length;
    };
    Context x;
    p4_emit_fn emit;
    void *emit_context;
    u32 port;
    u32 passes;
    Fifo<Repeat> repeats;
    Fifo<Copy> copies;

    P4_METHOD static void clear(State &s) { memset((void *)&s, 0, sizeof s); }

    void repeat(u32 list, const State &from, u32 kind, const u8 *frame, u32 length) {
        Repeat *p = (Repeat *)malloc(sizeof(Repeat) + length);
        if (!p) return;
        clear(p->state);
        P::keep(list, p->state, from);
        p->state.s.f_instance_type = kind;
        p->state.s.f_packet_length = length;
        p->length = length;
        memcpy(p->frame, frame, length);
        repeats.push(p);
    }

    // A new copy at the end of the queue; the caller sets its state.
    Copy *enqueue(u32 to, u32 instance, u32 kind, u32 limit, int64_t register_length) {
        Copy *c = (Copy *)malloc(sizeof(Copy));
        if (!c) return nullptr;
        c->to = to;
        c->instance = instance;
        c->kind = kind;
        c->limit = limit;
        c->at = x.at;
        c->register_length = register_length;
        copies.push(c);
        return c;
    }

    void enqueue_clones(u32 session, u32 list, u32 kind, int64_t length, const State &headers,
                        const State &kept) {
        const Replicas *r = session < SESSIONS ? acquire(x.sw->sessions[session]) : nullptr;
        for (u32 i = 0; r && i < r->n; i++) {
            const u32 limit = r->packet_length ? r->packet_length : NO_LIMIT;
            Copy *c = enqueue(r->replicas[i].port, r->replicas[i].instance, kind, limit, length);
            if (!c) return;
            clear(c->state);
            c->state.h = headers.h;
            P::keep(list, c->state, kept);
        }
    }

    // Process now, or after the copies that are already waiting.
    void to_egress(State &s, u32 to, u32 instance, u32 kind, u32 limit) {
        if (!copies.first) return egress(s, to, instance, kind, limit);
        if (Copy *c = enqueue(to, instance, kind, limit, x.register_length)) c->state = s;
    }

    // Egress of one copy, `s`, cut to `limit` bytes.
    void egress(State &s, u32 to, u32 instance, u32 kind, u32 limit) {
        // The copies of a group cannot make more of themselves, however many they are.
        const bool cloned = kind == INGRESS_CLONE || kind == EGRESS_CLONE;
        if (cloned && ++passes > MAX_PASSES) return;
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
        if (P::clones && x.clone)
            enqueue_clones(x.session, x.clone_list, EGRESS_CLONE, x.register_length, s, s);
        if (s.s.f_egress_spec == DROP_PORT || x.failed) return;
        u32 length = P::deparse(x, s);
        if (x.truncate_to < length) length = x.truncate_to;
        if (P::recirculates && x.recirculate)
            repeat(x.recirculate_list, s, RECIRCULATED, x.sw->out, length);
        else
            emit(emit_context, to, x.sw->out, length);
    }

    // Ingress clones carry the frame as it was received, parsed again.
    void clone_ingress(const State &from) {
        const u32 at = x.at;
        State parsed;
        clear(parsed);
        parsed.s.f_ingress_port = port & 511;
        x.at = 0;
        P::parse(x, parsed);
        enqueue_clones(x.session, x.clone_list, INGRESS_CLONE, x.ingress_length, parsed, from);
        x.at = at;
    }

    void replicate(const State &s, u32 limit) {
        const Replicas *r = acquire(x.sw->groups[s.s.f_mcast_grp & 0xffff]);
        const int64_t length = x.register_length;
        const u32 at = x.at;
        for (u32 i = 0; r && i < r->n; i++) {
            State copy = s;
            x.register_length = length;
            x.at = at;
            to_egress(copy, r->replicas[i].port, r->replicas[i].instance, REPLICATED, limit);
        }
    }

    void drain() {
        while (Copy *c = copies.first) {
            x.at = c->at;
            x.register_length = c->register_length;
            egress(c->state, c->to, c->instance, c->kind, c->limit);
            free(copies.pop());
        }
    }

    void ingress(State &s, const u8 *frame, u32 length) {
        x.data = frame;
        x.length = x.ingress_length = length;
        x.register_length = length;
        x.at = 0;
        x.truncate_to = x.payload_at = NO_LIMIT;
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
        if (x.failed)
            ;
        else if (resubmit)
            repeat(list, s, RESUBMITTED, frame, length);
        else if (s.s.f_mcast_grp)
            replicate(s, limit);
        else if (s.s.f_egress_spec != DROP_PORT)
            to_egress(s, (u32)s.s.f_egress_spec, 0, NORMAL, limit);
        drain();
    }

    void process(const u8 *frame, u32 length) {
        State s;
        clear(s);
        s.s.f_ingress_port = port & 511;
        s.s.f_packet_length = length;
        s.s.f_ingress_global_timestamp = cut<48>((u64)(x.now / 1000));
        ingress(s, frame, length);
        while (Repeat *p = repeats.pop()) {
            if (++passes <= MAX_PASSES) ingress(p->state, p->frame, p->length);
            free(p);
        }
    }
};

template <class P> static void process_packet(p4_switch *sw, u32 port, const u8 *frame, size_t length,
                                              u64 now, p4_emit_fn emit, void *context) {
    if (length > 1u << 20) return;
    const u64 busy = sw->busy;
    __atomic_store_n(&sw->busy, busy + 1, __ATOMIC_SEQ_CST);
    Pipeline<P> pipeline;
    pipeline.x.sw = sw;
    pipeline.x.now = now;
    pipeline.emit = emit;
    pipeline.emit_context = context;
    pipeline.port = port;
    pipeline.passes = 0;
    pipeline.process(frame, (u32)length);
    __atomic_store_n(&sw->busy, busy + 2, __ATOMIC_RELEASE);
}
