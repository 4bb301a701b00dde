// Writing tables while packets pass: every function here is for the one thread that programs the switch.
//
// A function that allocates returns null or false when memory runs out. Nothing has changed then, and the
// action that it was given is freed.
#include "control.h"

#include <sched.h>
#if __has_include(<linux/membarrier.h>)
#include <linux/membarrier.h>
#include <sys/syscall.h>
#include <unistd.h>
#endif

// --- freeing what a packet may still be using

static void quiesce_lane(p4_switch *sw) {
    u64 seen = __atomic_load_n(&sw->busy, __ATOMIC_SEQ_CST);
    if (seen % 2 == 0) return;
    for (u32 spins = 0; __atomic_load_n(&sw->busy, __ATOMIC_SEQ_CST) == seen; spins++)
        if (spins > 1000) sched_yield();
}

#if __has_include(<linux/membarrier.h>)
static bool membarrier(int command) { return syscall(SYS_membarrier, command, 0, 0) == 0; }
bool offer_barriers() { return membarrier(MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED); }
static void order_packets() {
    if (!membarrier(MEMBARRIER_CMD_PRIVATE_EXPEDITED) && offer_barriers())
        membarrier(MEMBARRIER_CMD_PRIVATE_EXPEDITED);
}
#else
bool offer_barriers() { return false; }
static void order_packets() {}
#endif

extern "C" void p4_quiesce(p4_switch *sw) {
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
    if (!sw->fences) order_packets();
    for (; sw; sw = sw->next) quiesce_lane(sw);
}

void free_retired(p4_switch *sw) {
    p4_quiesce(sw);
    for (u32 i = 0; i < sw->retired_n; i++) free(sw->retired[i]);
    sw->retired_n = 0;
}

static void retire(p4_switch *sw, void *p) {
    if (!p) return;
    if (sw->retired_n == sw->retired_room) free_retired(sw);
    sw->retired[sw->retired_n++] = p;
}

// Readers see the new one from now on.
template <class T> static void replace(p4_switch *sw, T *&place, T *made) {
    T *old = place;
    release(place, made);
    retire(sw, old);
}

// --- actions

Action *new_action(u32 id, const u64 *data, u32 words) {
    Action *a = make<Action>(sizeof(Action) + 8 * (words + 1));
    if (!a) return nullptr;
    a->kind = Action::DIRECT;
    a->id = id;
    if (words) memcpy(a->data, data, 8 * words);
    return a;
}

extern "C" Action *p4_action_direct(u32 id, const u64 *data, u32 words) {
    return new_action(id, data, words);
}
extern "C" Action *p4_action_member(Member *m) {
    Action *a = new_action(0, nullptr, 0);
    if (a) a->kind = Action::MEMBER, a->member = m;
    return a;
}
extern "C" Action *p4_action_group(Group *g) {
    Action *a = new_action(0, nullptr, 0);
    if (a) a->kind = Action::GROUP, a->group = g;
    return a;
}

// --- hashed tables

static void link_in(Buckets *b, Entry *e) {
    Entry *&first = b->first[e->hash & b->mask];
    e->next[b->odd] = first;
    release(first, e);
}

Buckets *new_buckets(u64 n, u32 odd) {
    Buckets *b = make<Buckets>(sizeof(Buckets) + n * sizeof(Entry *));
    if (b) b->mask = n - 1, b->odd = odd;
    return b;
}

// Twice the buckets. Entries have a second pair of links for the new view, so readers of the old view can
// continue.
static void grow(p4_switch *sw, Table &t) {
    Buckets *old = t.buckets;
    Buckets *b = new_buckets(2 * (old->mask + 1), !old->odd);
    if (!b) return;
    for (u64 i = 0; i <= old->mask; i++)
        for (Entry *e = old->first[i]; e; e = e->next[old->odd]) link_in(b, e);
    release(t.buckets, b);
    p4_quiesce(sw);
    free(old);
}

static bool set_prefixes(p4_switch *sw, Table &t) {
    u32 n = 0;
    for (u32 i = 0; i <= t.spec->lpm_width; i++) n += t.prefix_used[i] > 0;
    Prefixes *p = make<Prefixes>(sizeof(Prefixes) + 4 * (n + 1));
    if (!p) return false;
    for (u32 i = t.spec->lpm_width + 1; i-- > 0;)
        if (t.prefix_used[i]) p->length[p->n++] = i;
    replace(sw, t.prefixes, p);
    return true;
}

static void unlink(Table &t, Entry *e) {
    Buckets *b = t.buckets;
    Entry **p = &b->first[e->hash & b->mask];
    while (*p && *p != e) p = &(*p)->next[b->odd];
    if (*p) release(*p, e->next[b->odd]);
}

// --- ordered tables

// An empty row with room for what an old one holds, and more.
static Row *new_row(const Row *old, u32 extra) {
    u32 n = old ? old->n : 0;
    return make<Row>(sizeof(Row) + (n + extra + 1) * sizeof(Entry *));
}

static bool row_add(p4_switch *sw, Table &t, Entry *e) {
    Row *old = t.row, *r = new_row(old, 1);
    if (!r) return false;
    u32 n = old ? old->n : 0, low = 0, high = n;
    while (low < high) {  // after all of the same or a larger priority
        u32 middle = (low + high) / 2;
        if (old->entries[middle]->priority >= e->priority)
            low = middle + 1;
        else
            high = middle;
    }
    if (low) memcpy(r->entries, old->entries, low * sizeof(Entry *));
    r->entries[low] = e;
    if (n > low) memcpy(r->entries + low + 1, old->entries + low, (n - low) * sizeof(Entry *));
    r->n = n + 1;
    replace(sw, t.row, r);
    return true;
}

static bool row_remove(p4_switch *sw, Table &t, Entry *e) {
    Row *old = t.row, *r = new_row(old, 0);
    if (!r) return false;
    for (u32 i = 0; i < old->n; i++)
        if (old->entries[i] != e) r->entries[r->n++] = old->entries[i];
    replace(sw, t.row, r);
    return true;
}

// --- entries

bool count_in_lanes(const p4_switch *sw, Entry *e) {
    if (!sw->others) return true;
    const size_t bytes = sw->others * sizeof(OfLane);
    e->others = (OfLane *)aligned_alloc(alignof(OfLane), bytes);
    if (e->others) memset((void *)e->others, 0, bytes);
    return e->others;
}

static Entry *new_entry(const p4_switch *sw, const u64 *key, const u64 *mask, u32 words) {
    Entry *e = make<Entry>(sizeof(Entry) + 16 * (words + 1));
    if (!e) return nullptr;
    if (!count_in_lanes(sw, e)) return free(e), nullptr;
    memcpy(e->key, key, 8 * words);
    if (mask) memcpy(e->key + words, mask, 8 * words);
    return e;
}

static void add_hashed(p4_switch *sw, Table &t, Entry *e) {
    e->hash = key_hash(e->key, t.spec->words, e->prefix);
    if (t.used > t.buckets->mask) grow(sw, t);
    link_in(t.buckets, e);
}

static bool add_prefix(p4_switch *sw, Table &t, Entry *e, u32 prefix) {
    if (t.prefix_used[prefix]++ == 0 && !set_prefixes(sw, t)) return t.prefix_used[prefix]--, false;
    e->prefix = prefix;
    cut_prefix(e->key + t.spec->lpm_word, t.spec->lpm_words, t.spec->lpm_width - prefix);
    return true;
}

Entry *add(p4_switch *sw, Table &t, const u64 *key, const u64 *mask, u32 prefix, int32_t priority,
           Action *a) {
    const TableSpec &s = *t.spec;
    Entry *e = a ? new_entry(sw, key, mask, s.words) : nullptr;
    if (!e) return free(a), nullptr;
    e->action = a;
    e->priority = priority;
    touch(e);
    const bool good = s.kind == TERNARY ? row_add(sw, t, e) : s.kind == EXACT || add_prefix(sw, t, e, prefix);
    if (!good) return free(e->others), free(e), free(a), nullptr;
    if (s.kind != TERNARY) add_hashed(sw, t, e);
    t.used++;
    return e;
}

// Null when the table is full or memory ran out; `action` belongs to the table from here on, also then.
extern "C" Entry *p4_insert(p4_switch *sw, u32 table, const u64 *key, const u64 *mask, u32 prefix,
                            int32_t priority, Action *action) {
    Table &t = sw->tables[table];
    if (t.used >= t.spec->size) return free(action), nullptr;
    return add(sw, t, key, mask, prefix, priority, action);
}

extern "C" void p4_modify(p4_switch *sw, Entry *e, Action *action) { replace(sw, e->action, action); }

// Without memory for a shorter list of prefix lengths the old list stays; lookups then try one that is
// unused.
extern "C" bool p4_delete(p4_switch *sw, u32 table, Entry *e) {
    Table &t = sw->tables[table];
    if (t.spec->kind == TERNARY) {
        if (!row_remove(sw, t, e)) return false;
    } else {
        unlink(t, e);
        if (t.spec->kind == LPM && --t.prefix_used[e->prefix] == 0) set_prefixes(sw, t);
    }
    t.used--;
    retire(sw, e->action);
    retire(sw, e->meter.config);
    retire(sw, e->others);
    retire(sw, e);
    return true;
}

// The program's own default action when `action` is null.
extern "C" bool p4_set_default(p4_switch *sw, u32 table, Action *action) {
    Table &t = sw->tables[table];
    const TableSpec &s = *t.spec;
    Action *made = action ? action : new_action(s.default_action, s.default_data, s.default_words);
    if (!made) return false;
    replace(sw, t.fallback, made);
    return true;
}

extern "C" Entry *p4_const_entry(p4_switch *sw, u32 index) { return sw->const_entries[index]; }

static void free_row(Row *r) {
    for (u32 i = 0; r && i < r->n; i++) free(r->entries[i]->others), free(r->entries[i]);
    free(r);
}

extern "C" bool p4_value_set(p4_switch *sw, u32 set, u32 n, const u64 *keys, const u64 *masks) {
    Table &t = sw->value_sets[set];
    u32 words = t.spec->words;
    Row *r = new_row(nullptr, n), *old = t.row;
    for (u32 i = 0; r && i < n; i++) {
        Entry *e = new_entry(sw, keys + (size_t)i * words, masks + (size_t)i * words, words);
        if (!e) return free_row(r), false;
        r->entries[r->n++] = e;
    }
    if (!r) return false;
    release(t.row, r);
    for (u32 i = 0; old && i < old->n; i++) retire(sw, old->entries[i]->others), retire(sw, old->entries[i]);
    retire(sw, old);
    return true;
}

// --- action profiles

extern "C" Member *p4_member_new(Action *a) {
    Member *m = make<Member>(sizeof(Member));
    if (!m) return free(a), nullptr;
    m->action = a;
    return m;
}
extern "C" void p4_member_set(p4_switch *sw, Member *m, Action *a) { replace(sw, m->action, a); }
extern "C" void p4_member_free(p4_switch *sw, Member *m) {
    retire(sw, m->action);
    retire(sw, m);
}
extern "C" Group *p4_group_new() { return make<Group>(sizeof(Group)); }
extern "C" bool p4_group_set(p4_switch *sw, Group *g, u32 n, Member *const *members) {
    GroupMembers *list = make<GroupMembers>(sizeof(GroupMembers) + (n + 1) * sizeof(Member *));
    if (!list) return false;
    list->n = n;
    if (n) memcpy(list->members, members, n * sizeof(Member *));
    replace(sw, g->members, list);
    return true;
}
extern "C" void p4_group_free(p4_switch *sw, Group *g) {
    retire(sw, g->members);
    retire(sw, g);
}

// --- idle times, counters, meters, registers

// ns since an entry was made or last hit
extern "C" u64 p4_idle_ns(Entry *e) {
    const u64 hit = __atomic_load_n(&e->hit_at, __ATOMIC_RELAXED), now = monotonic_ns();
    return now > hit ? now - hit : 0;
}

static Counter &cell(p4_switch *lane, Entry *e, u32 array, u32 index) {
    return !e ? lane->counters[array][index] : lane->lane ? e->others[lane->lane - 1] : e->counter;
}
extern "C" void p4_counter_get(p4_switch *sw, Entry *e, u32 array, u32 index, u64 *out) {
    out[0] = out[1] = 0;
    for (; sw; sw = sw->next) {
        Counter &c = cell(sw, e, array, index);
        out[0] += __atomic_load_n(&c.packets, __ATOMIC_RELAXED);
        out[1] += __atomic_load_n(&c.bytes, __ATOMIC_RELAXED);
    }
}
extern "C" void p4_counter_set(p4_switch *sw, Entry *e, u32 array, u32 index, u64 packets, u64 bytes) {
    for (; sw; sw = sw->next, packets = bytes = 0) {
        Counter &c = cell(sw, e, array, index);
        __atomic_store_n(&c.packets, packets, __ATOMIC_RELAXED);
        __atomic_store_n(&c.bytes, bytes, __ATOMIC_RELAXED);
    }
}
// rates per second; a null `config` removes the meter's configuration
extern "C" bool p4_meter_set(p4_switch *sw, Entry *e, u32 array, u32 index, const double *config) {
    Meter &m = e ? e->meter : sw->meters[array][index];
    MeterConfig *c = nullptr;
    if (config) {
        c = make<MeterConfig>(sizeof(MeterConfig));
        if (!c) return false;
        *c = {config[0] / 1e9, config[2] / 1e9, config[1], config[3]};
    }
    replace(sw, m.config, c);
    return true;
}
extern "C" void p4_register_get(p4_switch *sw, u32 array, u32 index, u64 *out) {
    u32 words = sw->spec->register_[array].words;
    for (u32 i = 0; i < words; i++) out[i] = word(sw->registers[array][(size_t)index * words + i]);
}
extern "C" void p4_register_set(p4_switch *sw, u32 array, u32 index, const u64 *in) {
    u32 words = sw->spec->register_[array].words;
    for (u32 i = 0; i < words; i++) set_word(sw->registers[array][(size_t)index * words + i], in[i]);
}

// --- replication

extern "C" bool p4_replicas_set(p4_switch *sw, int clone, u32 id, int n, const u32 *pairs,
                                u32 packet_length) {
    Replicas *&place = (clone ? sw->sessions : sw->groups)[id & 0xffff], *made = nullptr;
    if (n >= 0) {
        made = make<Replicas>(sizeof(Replicas) + (n + 1) * sizeof(Replica));
        if (!made) return false;
        made->n = n;
        made->packet_length = packet_length;
        for (int i = 0; i < n; i++) made->replicas[i] = {pairs[2 * i], pairs[2 * i + 1]};
    }
    replace(sw, place, made);
    return true;
}

extern "C" void p4_on_digest(p4_switch *sw, p4_digest_fn fn, void *context) {
    sw->digest_context = context;
    sw->digest = fn;
}

extern "C" void p4_on_user_extern(p4_switch *sw, p4_user_extern_fn fn, void *context) {
    sw->user_extern_context = context;
    sw->user_extern = fn;
}
