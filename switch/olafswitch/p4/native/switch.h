// One switch: its tables, counters, registers and replication, and the state of the packet in processing.
#pragma once
#include "algorithms.h"
#include "switch_abi.h"
#include "tables.h"

struct Replica {
    u32 port;
    u32 instance;
};
struct Replicas {
    u32 n;
    u32 packet_length;
    Replica replicas[];
};

struct ArraySpec {
    const char *name;
    u32 cells;
    u32 words;
    u32 bytes;
};  // words of a register's cell

struct EntrySpec {
    u32 table, action, data_words, prefix;
    int32_t priority;
    const u64 *key, *mask, *data;
};

struct ProgramSpec {
    u32 tables, value_sets, counters, meters, registers, entries;
    const TableSpec *table, *value_set;
    const ArraySpec *counter, *meter, *register_;
    const EntrySpec *entry;
};

enum { DROP_PORT = 511, MAX_LOOPS = 65536, MAX_PASSES = 256, DIGEST_WORDS = 256, SESSIONS = 65536 };

typedef void (*p4_digest_fn)(void *context, u32 digest, const u64 *words, u32 n);

// A lane has this to itself but what is programmed: tables, value sets, groups, sessions.
struct p4_switch {
    p4_lent lent;
    const ProgramSpec *spec;
    Table *tables, *value_sets;
    Counter **counters;
    Meter **meters;
    u64 **registers;
    Entry **const_entries;
    Replicas **groups;    // 65536
    Replicas **sessions;  // SESSIONS
    u64 busy;             // odd while a packet is being processed
    bool fences;          // a packet orders its memory accesses itself, as the kernel cannot do it
    u64 random;
    p4_switch *next;   // lane
    u32 lane, others;  // this one's number; of the first, how many there are besides
    p4_digest_fn digest;
    void *digest_context;
    p4_user_extern_fn user_extern;
    void *user_extern_context;
    void **retired;
    u32 retired_n, retired_room;
    u8 *out;  // the outgoing frame, where none is lent
    size_t out_room;
    u64 digest_data[DIGEST_WORDS];
};

// Around a packet, so that p4_quiesce() knows of it. What the packet reads must not be read before `busy` is
// written: p4_quiesce() sees to that, by a barrier in all threads, or there is a fence here.
P4_INLINE void begin_packet(p4_switch *sw) {
    __atomic_store_n(&sw->busy, sw->busy + 1, __ATOMIC_RELAXED);
    if (__builtin_expect(sw->fences, 0)) __atomic_thread_fence(__ATOMIC_SEQ_CST);
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
}
P4_INLINE void end_packet(p4_switch *sw) { __atomic_store_n(&sw->busy, sw->busy + 1, __ATOMIC_RELEASE); }

constexpr u32 NO_LIMIT = 0xffffffff;
enum Instance : u32 {
    NORMAL = 0,
    INGRESS_CLONE = 1,
    EGRESS_CLONE = 2,
    RECIRCULATED = 4,
    REPLICATED = 5,
    RESUBMITTED = 6
};

// Makes room for an outgoing frame of `bytes` bytes; false when memory ran out.
bool reserve(p4_switch *, size_t bytes);

// What holds one is copied member by member, not as a block of memory.
struct Memberwise {
    Memberwise() = default;
    P4_METHOD Memberwise(const Memberwise &) {}
};

// What a packet is at. Nothing may take its address but what is inlined: then the compiler keeps it in
// registers.
struct Context {
    Memberwise copied;
    p4_switch *sw;
    const u8 *data;
    const u8 *at, *end;  // where the parser is; the end of the frame
    u32 ingress_length;  // as received; counters add this
    int64_t
        register_length;  // as BMv2 counts: as received, plus headers set valid, minus headers set invalid
    u64 now;
    u64 error;
    u32 out_at;                     // bytes of the outgoing frame made so far
    u32 payload_at;                 // where the last copy has its payload,
    const u8 *payload_from;         // and from which byte of the frame on
    const u8 *pass_from, *pass_to;  // bytes of the frame that come next in the outgoing one as they are
    bool failed;                    // an assert() was false
    bool exited, checksum_error, clone, resubmit, recirculate, digest;
    u32 session, clone_list, resubmit_list, recirculate_list;
    u32 truncate_to;  // bytes; NO_LIMIT does not
    u32 digest_id, digest_words;
    const u8 *leaving;  // the whole outgoing frame
    u8 *out;            // where it is made: the switch's, whose address no store to it can change
    size_t out_room;
    P4_METHOD bool has(u64 bits) const { return (u64)(end - at) * 8 >= bits; }
    P4_METHOD bool has_bytes(u32 bytes) const { return (size_t)(end - at) >= bytes; }
    P4_METHOD u32 length() const { return (u32)(end - data); }
    P4_METHOD u32 left() const { return (u32)(end - at); }
    // As in BMv2, the smallest length counts, and until the headers are in front again it is the payload's.
    P4_METHOD void truncate(u64 bytes) { truncate_to = bytes < truncate_to ? (u32)bytes : truncate_to; }
    // Where the next `bytes` bytes of the outgoing frame go; null when memory ran out.
    P4_METHOD u8 *room(size_t bytes) {
        if (pass_to != pass_from) copy_passed();
        return room_behind(bytes);
    }
    P4_METHOD u8 *room_behind(size_t bytes) {
        if (__builtin_expect(out_at + bytes > out_room, 0)) {
            if (!reserve(sw, out_at + bytes)) return nullptr;
            take_buffer();
        }
        return out + out_at;
    }
    // Bytes of the frame, which are copied only when others come behind them.
    P4_METHOD void pass(const u8 *from, u32 bytes) {
        if (from != pass_to) {
            if (pass_to != pass_from) copy_passed();
            pass_from = pass_to = from;
        }
        pass_to += bytes;
    }
    P4_METHOD bool copy_passed() {
        const u8 *from = pass_from;
        const u32 bytes = (u32)(pass_to - from);
        pass_from = pass_to;
        u8 *to = room_behind(bytes);
        if (!to) return false;
        memcpy(to, from, bytes);
        out_at += bytes;
        return true;
    }
    // After a copy has left: the next one finds the payload where this one has it.
    P4_METHOD void share_payload(const Context &copy) {
        out = copy.out;
        payload_at = copy.payload_at;
        payload_from = copy.payload_from;
        renew_buffer();
    }
    // After a frame has left: its memory may be gone, and with it the payload of the next copy.
    P4_METHOD void renew_buffer() {
        const u8 *before = out;
        take_buffer();
        if (out != before) payload_at = NO_LIMIT;
    }
    P4_METHOD void take_buffer() {
        const bool lent = sw->lent.bytes;
        out = lent ? sw->lent.bytes : sw->out;
        out_room = lent ? sw->lent.room : sw->out_room;
    }
    P4_METHOD u32 payload_length() const { return truncate_to < left() ? truncate_to : left(); }
};

P4_INLINE Counter &counter_of(const Context &x, Entry *e) {
    return __builtin_expect(x.sw->lane == 0, 1) ? e->counter : e->others[x.sw->lane - 1];
}

u64 random_between(p4_switch *, u64 low, u64 high);

P4_INLINE u64 in_range(u64 hash, u64 base, u64 max) { return hash % (max ? max : 1) + base; }

// Ends an outgoing frame with what the parser left of the received one; the frame's length, 0 without memory.
// Where nothing was written it is a part of the received one. The copies of a frame whose headers are of one
// length share it; but for its first byte, into which a header that is no whole number of bytes reaches.
P4_INLINE u32 append_payload(Context &x) {
    const u32 rest = x.left();
    x.pass(x.at, rest);
    const u32 passed = (u32)(x.pass_to - x.pass_from), at = x.out_at + passed - rest;
    x.leaving = x.pass_from;
    if (!x.out_at) return passed;
    if (x.payload_at == at && x.payload_from == x.at && rest) x.pass_to -= rest - 1;
    x.payload_at = at;
    x.payload_from = x.at;
    if (!x.copy_passed()) return 0;
    x.leaving = x.out;
    return at + rest;
}

p4_switch *switch_new(const ProgramSpec *);
void switch_free(p4_switch *);
