// Tables that one thread reads without locks while another writes.
//
// A reader sees either the old or the new of what a writer replaces; the old is freed only after the reader
// has finished the packet that may have seen it (retire and p4_quiesce in control.cpp).
#pragma once
#include <time.h>

#include "bits.h"

template <class T> P4_INLINE T *acquire(T *const &p) { return __atomic_load_n(&p, __ATOMIC_ACQUIRE); }
template <class T> P4_INLINE void release(T *&p, T *v) { __atomic_store_n(&p, v, __ATOMIC_RELEASE); }

// Counters are written by the packet thread of their lane alone; the control plane's writes may lose a race
// with it.
struct Counter {
    u64 packets, bytes;
};
struct alignas(64) OfLane : Counter {};  // two lanes never write to one line of a cache
P4_INLINE void count(Counter &c, u64 bytes) {
    __atomic_store_n(&c.packets, __atomic_load_n(&c.packets, __ATOMIC_RELAXED) + 1, __ATOMIC_RELAXED);
    __atomic_store_n(&c.bytes, __atomic_load_n(&c.bytes, __ATOMIC_RELAXED) + bytes, __ATOMIC_RELAXED);
}

// A word of a register, which the control plane may read or write at the same time; a cell of several words
// may be seen half written.
P4_INLINE u64 word(const u64 &w) { return __atomic_load_n(&w, __ATOMIC_RELAXED); }
P4_INLINE void set_word(u64 &w, u64 v) { __atomic_store_n(&w, v, __ATOMIC_RELAXED); }

// Two-rate three-colour marker (RFC 2698, colour-blind). Without a configuration everything is green.
struct MeterConfig {
    double cir, pir, cburst, pburst;
};  // units per ns, units
struct Meter {
    MeterConfig *config, *seen;
    double committed, peak;
    u64 last;
};
enum { GREEN = 0, YELLOW = 1, RED = 2 };
u64 meter_colour(Meter &, double units, u64 now_ns);

// What an entry does. Never changed once it can be seen, only replaced.
struct Member;
struct Group;
struct Action {
    enum Kind : u32 { DIRECT, MEMBER, GROUP } kind;
    u32 id;
    Member *member;
    Group *group;
    u64 data[];
};
struct Member {
    Action *action;
};
struct GroupMembers {
    u32 n;
    Member *members[];
};  // a member of weight w is there w times
struct Group {
    GroupMembers *members;
};

struct Entry {
    Entry *next[2];  // in the bucket chains of even and of odd views
    Action *action;
    u64 hash;
    Counter counter;
    OfLane *others;  // the counters of other lanes than the first
    Meter meter;
    u64 hit_at;  // on the monotonic clock, in ns: made, or last hit where the table supports timeouts
    int32_t priority;
    u32 prefix;
    u64 key[];  // the key's words, then as many of the masks (a range's upper bounds)
};

// Idle times use the system's clock: time stamps of packets may be simulated, and stop when packets do.
P4_INLINE u64 monotonic_ns() {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (u64)now.tv_sec * 1000000000ull + (u64)now.tv_nsec;
}
P4_INLINE void touch(Entry *e) { __atomic_store_n(&e->hit_at, monotonic_ns(), __ATOMIC_RELAXED); }

enum TableKind : u32 { EXACT, LPM, TERNARY };

struct Buckets {
    u64 mask;
    u32 odd;
    Entry *first[];
};
struct Row {
    u32 n;
    Entry *entries[];
};  // by falling priority
struct Prefixes {
    u32 n;
    u32 length[];
};  // falling

struct TableSpec {
    const char *name;
    TableKind kind;
    u32 words;  // of a key
    u32 lpm_word, lpm_words, lpm_width;
    u64 ranges;  // bit i: word i is matched by range
    u64 size;
    u32 default_action, default_words;
    const u64 *default_data;
    u32 meter_bytes;  // the direct meter counts bytes, not packets
};

struct Table {
    const TableSpec *spec;
    Action *fallback;    // the default action
    Buckets *buckets;    // EXACT and LPM
    Prefixes *prefixes;  // LPM
    Row *row;            // TERNARY
    u64 used;
    u32 prefix_used[4097];
};

P4_INLINE u64 mix(u64 h, u64 w) {
    u128 m = (u128)(h ^ w) * 0x9e3779b97f4a7c15ull;
    return (u64)m ^ (u64)(m >> 64);
}
P4_INLINE u64 key_hash(const u64 *key, u32 words, u64 seed) {
    u64 h = seed + 0x243f6a8885a308d3ull;
    for (u32 i = 0; i < words; i++) h = mix(h, key[i] + 0x13198a2e03707344ull);
    return h;
}

// Clears the last `drop` bits of `words` words of a key.
P4_INLINE void cut_prefix(u64 *key, u32 words, u32 drop) {
    for (u32 i = 0; i < words && drop; i++) {
        u32 n = drop < 64 ? drop : 64;
        key[i] = n == 64 ? 0 : key[i] >> n << n;
        drop -= n;
    }
}

template <u32 WORDS> P4_INLINE bool has_key(const Entry *e, const u64 *key) {
    for (u32 i = 0; i < WORDS; i++)
        if (e->key[i] != key[i]) return false;
    return true;
}

template <u32 WORDS> P4_INLINE Entry *find_exact(const Table &t, const u64 *key) {
    Buckets *b = acquire(t.buckets);
    Entry *e = acquire(b->first[key_hash(key, WORDS, 0) & b->mask]);
    while (e && !has_key<WORDS>(e, key)) e = acquire(e->next[b->odd]);
    return e;
}

// The LPM field is LPM_WORDS words of the key from LPM_WORD on, of LPM_WIDTH bits.
template <u32 WORDS, u32 LPM_WORD, u32 LPM_WORDS, u32 LPM_WIDTH>
P4_INLINE Entry *find_lpm(const Table &t, const u64 *key) {
    Prefixes *p = acquire(t.prefixes);
    if (!p) return nullptr;
    Buckets *b = acquire(t.buckets);
    u64 cut[WORDS];
    memcpy(cut, key, sizeof cut);
    for (u32 i = 0; i < p->n; i++) {
        const u32 prefix = p->length[i];
        cut_prefix(cut + LPM_WORD, LPM_WORDS, LPM_WIDTH - prefix);
        Entry *e = acquire(b->first[key_hash(cut, WORDS, prefix) & b->mask]);
        while (e && !(e->prefix == prefix && has_key<WORDS>(e, cut))) e = acquire(e->next[b->odd]);
        if (e) return e;
    }
    return nullptr;
}

template <u32 WORDS> P4_INLINE bool matches(const Entry *e, const u64 *key, u64 ranges) {
    for (u32 i = 0; i < WORDS; i++) {
        u64 value = e->key[i], mask = e->key[WORDS + i];
        if (ranges >> i & 1 ? key[i] < value || key[i] > mask : (key[i] & mask) != value) return false;
    }
    return true;
}

template <u32 WORDS> P4_INLINE Entry *find_ternary(const Table &t, const u64 *key) {
    Row *r = acquire(t.row);
    if (!r) return nullptr;
    for (u32 i = 0; i < r->n; i++)
        if (matches<WORDS>(r->entries[i], key, t.spec->ranges)) return r->entries[i];
    return nullptr;
}

// The action of an entry, its member, or the group member that `choice` selects; null for an empty group.
P4_INLINE const Action *resolve(const Action *a, u64 choice) {
    if (__builtin_expect(a->kind == Action::DIRECT, 1)) return a;
    if (a->kind == Action::MEMBER) return acquire(a->member->action);
    GroupMembers *g = acquire(a->group->members);
    return g && g->n ? acquire(g->members[choice % g->n]->action) : nullptr;
}
