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

// Clones, frames processed again, and copies that may become such. A packet comes here with a copy of its
// state, so that the state of all others needs no address.
template <class P> struct Detour;
template <class P> P4_INLINE u32 pass_egress(Context &, typename P::State &, u32, u32, u32, u32, Detour<P> *);

template <class P> struct Detour {
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
        u32 to, instance, kind, limit;
        const u8 *at;
        int64_t register_length;
    };
    p4_emit_fn emit;
    void *emit_context;
    u32 port;
    u32 passes = 0;
    Fifo<Repeat> repeats;
    Fifo<Copy> copies;

    Detour(p4_emit_fn emit, void *context, u32 port) : emit(emit), emit_context(context), port(port) {}

    void repeat(u32 list, const State &from, u32 kind, const u8 *frame, u32 length) {
        Repeat *p = (Repeat *)malloc(sizeof(Repeat) + length);
        if (!p) return;
        p->state = State{};
        P::keep(list, p->state, from);
        p->state.s.f_instance_type = kind;
        p->state.s.f_packet_length = length;
        p->length = length;
        memcpy(p->frame, frame, length);
        repeats.push(p);
    }

    // A new copy at the end of the queue; the caller sets its state.
    Copy *enqueue(const Context &x, u32 to, u32 instance, u32 kind, u32 limit, int64_t register_length) {
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

    void enqueue_clones(const Context &x, u32 kind, int64_t length, const State &headers, const State &kept) {
        const Replicas *r = x.session < SESSIONS ? acquire(x.sw->sessions[x.session]) : nullptr;
        for (u32 i = 0; r && i < r->n; i++) {
            const u32 limit = r->packet_length ? r->packet_length : NO_LIMIT;
            Copy *c = enqueue(x, r->replicas[i].port, r->replicas[i].instance, kind, limit, length);
            if (!c) return;
            c->state = State{};
            c->state.h = headers.h;
            P::keep(x.clone_list, c->state, kept);
        }
    }

    // Process now, or after the copies that are already waiting.
    void to_egress(Context &x, const State &s, u32 to, u32 instance, u32 kind, u32 limit) {
        if (!copies.first) return egress(x, s, to, instance, kind, limit);
        if (Copy *c = enqueue(x, to, instance, kind, limit, x.register_length)) c->state = s;
    }

    // Egress of one copy, whose state is that of `given`, cut to `limit` bytes.
    void egress(Context &shared, const State &given, u32 to, u32 instance, u32 kind, u32 limit) {
        // The copies of a group cannot make more of themselves, however many they are.
        const bool cloned = kind == INGRESS_CLONE || kind == EGRESS_CLONE;
        if (cloned && ++passes > MAX_PASSES) return;
        Context x = shared;
        State s;
        P::save(x, s, given);
        const u32 length = pass_egress<P>(x, s, to, instance, kind, limit, this);
        if (length != NO_LIMIT) emit(emit_context, to, x.leaving, length);
        shared.share_payload(x);
    }

    // Ingress clones carry the frame as it was received, parsed again.
    void clone_ingress(Context &x, const State &from) {
        const u8 *at = x.at;
        State parsed{};
        parsed.s.f_ingress_port = port & 511;
        x.at = x.data;
        P::parse(x, parsed);
        enqueue_clones(x, INGRESS_CLONE, x.ingress_length, parsed, from);
        x.at = at;
    }

    void replicate(Context &x, const State &s, u32 limit) {
        const Replicas *r = acquire(x.sw->groups[s.s.f_mcast_grp & 0xffff]);
        const int64_t length = x.register_length;
        const u8 *at = x.at;
        for (u32 i = 0; r && i < r->n; i++) {
            x.register_length = length;
            x.at = at;
            const Replica &to = r->replicas[i];
            to_egress(x, s, to.port, to.instance, REPLICATED, limit);
        }
    }

    void drain(Context &x) {
        while (Copy *c = copies.first) {
            x.at = c->at;
            x.register_length = c->register_length;
            egress(x, c->state, c->to, c->instance, c->kind, c->limit);
            free(copies.pop());
        }
    }

    // After an ingress that asked for more than one frame out.
    __attribute__((noinline)) void after_ingress(Context x, State &s) {
        const u32 limit = x.truncate_to, list = x.resubmit_list;
        const bool resubmit = P::resubmits && x.resubmit;
        if (P::clones && x.clone) clone_ingress(x, s);
        if (x.failed)
            ;
        else if (resubmit)
            repeat(list, s, RESUBMITTED, x.data, x.length());
        else if (s.s.f_mcast_grp)
            replicate(x, s, NO_LIMIT);  // as in BMv2, whose copies forget that their packet was truncated
        else if (s.s.f_egress_spec != DROP_PORT)
            to_egress(x, s, (u32)s.s.f_egress_spec, 0, NORMAL, limit);
        drain(x);
    }

    // After an egress that asked for clones of what leaves, or for it to come back.
    __attribute__((noinline)) void clone_egress(const Context &x, const State &s) {
        enqueue_clones(x, EGRESS_CLONE, x.register_length, s, s);
    }
    __attribute__((noinline)) void recirculate(const Context &x, const State &s, u32 length) {
        repeat(x.recirculate_list, s, RECIRCULATED, x.leaving, length);
    }
};

// A detour, in a program that clones or repeats; nothing in any other.
template <class P, bool needed> struct DetourOf {
    Detour<P> detour;
    DetourOf(p4_emit_fn emit, void *context, u32 port) : detour(emit, context, port) {}
    Detour<P> *get() { return &detour; }
    typename Detour<P>::Repeat *next_repeat() {
        auto *next = detour.repeats.pop();
        for (; next && ++detour.passes > MAX_PASSES; next = detour.repeats.pop()) free(next);
        return next;
    }
};
template <class P> struct DetourOf<P, false> {
    DetourOf(p4_emit_fn, void *, u32) {}
    static Detour<P> *get() { return nullptr; }
    static typename Detour<P>::Repeat *next_repeat() { return nullptr; }
};

// The length of the frame that leaves, at x.leaving; NO_LIMIT for none.
template <class P> P4_INLINE u32 pass_egress(Context &x, typename P::State &s, u32 to, u32 instance, u32 kind,
                                             u32 limit, Detour<P> *detour) {
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
    if (P::clones && x.clone) {
        const Context now = x;
        typename P::State state;
        P::save(x, state, s);
        detour->clone_egress(now, state);
    }
    if (s.s.f_egress_spec == DROP_PORT || x.failed) return NO_LIMIT;
    const u32 length = P::deparse(x, s);
    if (P::recirculates && x.recirculate) {
        const Context now = x;
        typename P::State state;
        P::save(x, state, s);
        detour->recirculate(now, state, length);  // whole, as in BMv2, also if it was truncated
        return NO_LIMIT;
    }
    return x.truncate_to < length ? x.truncate_to : length;
}

// Copies for a group, in a program that neither clones nor repeats.
template <class P>
P4_INLINE void replicate(Context &x, const typename P::State &s, p4_emit_fn emit, void *context) {
    const Replicas *r = acquire(x.sw->groups[s.s.f_mcast_grp & 0xffff]);
    for (u32 i = 0; r && i < r->n; i++) {
        const Replica to = r->replicas[i];
        Context copy = x;
        typename P::State state;
        P::save(copy, state, s);
        const u32 length = pass_egress<P>(copy, state, to.port, to.instance, REPLICATED, NO_LIMIT, nullptr);
        if (length != NO_LIMIT) emit(context, to.port, copy.leaving, length);
        x.share_payload(copy);
    }
}

template <class P> static void process_packet(p4_switch *sw, u32 port, const u8 *frame, size_t size, u64 now,
                                              p4_emit_fn emit, void *context) {
    if (size > 1u << 20) return;
    begin_packet(sw);
    u32 length = (u32)size;
    constexpr bool more = P::clones || P::repeats;
    DetourOf<P, more> detour{emit, context, port};
    typename Detour<P>::Repeat *again = nullptr;
    do {
        Context x{};
        typename P::State s{};
        if (P::repeats && again) {
            s = again->state;
            frame = again->frame;
            length = again->length;
        } else {
            s.s.f_packet_length = length;
            s.s.f_ingress_global_timestamp = cut<48>((u64)(now / 1000));
            s.s.f_ingress_port = port & 511;
        }
        x.sw = sw;
        x.now = now;
        x.data = x.at = frame;
        x.end = frame + length;
        x.ingress_length = length;
        x.register_length = length;
        x.truncate_to = x.payload_at = NO_LIMIT;
        x.take_buffer();
        P::parse(x, s);
        s.s.f_parser_error = x.error;
        P::verify(x, s);
        x.exited = false;
        s.s.f_checksum_error = x.checksum_error;
        P::ingress(x, s);
        x.exited = false;
        if (P::digests && x.digest && sw->digest)
            sw->digest(sw->digest_context, x.digest_id, sw->digest_data, x.digest_words);
        const bool copied = s.s.f_mcast_grp != 0;
        if (more && (copied || (P::clones && x.clone) || (P::resubmits && x.resubmit))) {
            typename P::State state;
            P::save(x, state, s);
            detour.get()->after_ingress(x, state);
        } else if (copied && !x.failed) {
            replicate<P>(x, s, emit, context);
        } else if (!x.failed && s.s.f_egress_spec != DROP_PORT) {
            const u32 to = (u32)s.s.f_egress_spec;
            const u32 out = pass_egress<P>(x, s, to, 0, NORMAL, x.truncate_to, detour.get());
            if (out != NO_LIMIT) emit(context, to, x.leaving, out);
            if (P::clones && detour.get()->copies.first) {
                Context now_at = x;
                now_at.renew_buffer();
                detour.get()->drain(now_at);
            }
        }
        if (again) free(again);
        again = detour.next_repeat();
    } while (P::repeats && again);
    end_packet(sw);
}
