// Making and freeing a switch, and its lanes.
#include "control.h"

static p4_switch *new_lane(p4_switch *sw, u32 number) {
    p4_switch *lane = make<p4_switch>(sizeof(p4_switch));
    if (!lane) return nullptr;
    *lane = *sw;
    lane->busy = 0;
    lane->random = number + 1;
    lane->lane = number;
    lane->next = sw->next;
    lane->out = nullptr;
    lane->out_room = 0;
    sw->next = lane;
    lane->counters = make<Counter *>((sw->spec->counters + 1) * sizeof(void *));
    for (u32 i = 0; lane->counters && i < sw->spec->counters; i++) {
        lane->counters[i] = make<Counter>((sw->spec->counter[i].cells + 1) * sizeof(Counter));
        if (!lane->counters[i]) return nullptr;
    }
    return lane->counters ? lane : nullptr;
}

// The lanes of a new switch, of which each may process a packet at the same time; the first is the switch
// itself. All see what is programmed, and each counts for itself, to be added up when read. False when memory
// ran out, or where packets leave more behind than counts: registers, meters.
extern "C" bool p4_lanes(p4_switch *sw, u32 n, p4_switch **lanes) {
    lanes[0] = sw;
    if (n == 1) return true;
    if (sw->spec->registers || sw->spec->meters) return false;
    sw->others = n - 1;
    for (u32 i = 0; i < sw->spec->entries; i++)
        if (!count_in_lanes(sw, sw->const_entries[i])) return false;
    for (u32 i = 1; i < n; i++)
        if (!(lanes[i] = new_lane(sw, i))) return false;
    return true;
}

static bool table_init(Table &t, const TableSpec *s) {
    t.spec = s;
    if (s->kind == TERNARY) return true;
    u64 n = 16;
    while (n < s->size && n < 4096) n *= 2;
    return (t.buckets = new_buckets(n, 0)) != nullptr;
}

p4_switch *switch_new(const ProgramSpec *spec) {
    p4_switch *sw = make<p4_switch>(sizeof(p4_switch));
    if (!sw) return nullptr;
    sw->spec = spec;
    sw->random = 1;
    sw->fences = !offer_barriers();
    sw->retired_room = 256;
    sw->retired = make<void *>(sw->retired_room * sizeof(void *));
    sw->groups = make<Replicas *>(65536 * sizeof(void *));
    sw->sessions = make<Replicas *>(65536 * sizeof(void *));
    sw->tables = make<Table>((spec->tables + 1) * sizeof(Table));
    sw->value_sets = make<Table>((spec->value_sets + 1) * sizeof(Table));
    sw->counters = make<Counter *>((spec->counters + 1) * sizeof(void *));
    sw->meters = make<Meter *>((spec->meters + 1) * sizeof(void *));
    sw->registers = make<u64 *>((spec->registers + 1) * sizeof(void *));
    sw->const_entries = make<Entry *>((spec->entries + 1) * sizeof(void *));
    bool good = sw->retired && sw->groups && sw->sessions && sw->tables && sw->value_sets && sw->counters &&
                sw->meters && sw->registers && sw->const_entries;
    for (u32 i = 0; good && i < spec->tables; i++) {
        const TableSpec *s = &spec->table[i];
        good = table_init(sw->tables[i], s) && p4_set_default(sw, i, nullptr);
    }
    for (u32 i = 0; good && i < spec->value_sets; i++)
        good = table_init(sw->value_sets[i], &spec->value_set[i]);
    for (u32 i = 0; good && i < spec->counters; i++)
        good = (sw->counters[i] = make<Counter>((spec->counter[i].cells + 1) * sizeof(Counter)));
    for (u32 i = 0; good && i < spec->meters; i++)
        good = (sw->meters[i] = make<Meter>((spec->meter[i].cells + 1) * sizeof(Meter)));
    for (u32 i = 0; good && i < spec->registers; i++)
        good = (sw->registers[i] =
                    make<u64>((size_t)(spec->register_[i].cells + 1) * spec->register_[i].words * 8));
    for (u32 i = 0; good && i < spec->entries; i++) {
        const EntrySpec &e = spec->entry[i];
        Action *a = new_action(e.action, e.data, e.data_words);
        good = (sw->const_entries[i] = add(sw, sw->tables[e.table], e.key, e.mask, e.prefix, e.priority, a));
    }
    if (good) return sw;
    switch_free(sw);
    return nullptr;
}

static void free_entry(Entry *e) {
    free(e->action);
    free(e->meter.config);
    free(e->others);
    free(e);
}

static void table_free(Table &t) {
    Buckets *b = t.buckets;
    for (u64 i = 0; b && i <= b->mask; i++)
        for (Entry *e = b->first[i], *next; e; e = next) {
            next = e->next[b->odd];
            free_entry(e);
        }
    for (u32 i = 0; t.row && i < t.row->n; i++) free_entry(t.row->entries[i]);
    free(b);
    free(t.row);
    free(t.prefixes);
    free(t.fallback);
}

template <class T> static void free_all(T **p, u32 n) {
    for (u32 i = 0; p && i < n; i++) free(p[i]);
    free(p);
}

void switch_free(p4_switch *sw) {
    if (!sw) return;
    const ProgramSpec *spec = sw->spec;
    if (sw->retired) free_retired(sw);
    for (u32 i = 0; sw->tables && i < spec->tables; i++) table_free(sw->tables[i]);
    for (u32 i = 0; sw->value_sets && i < spec->value_sets; i++) table_free(sw->value_sets[i]);
    for (u32 i = 0; sw->meters && i < spec->meters; i++)
        for (u32 j = 0; sw->meters[i] && j < spec->meter[i].cells; j++) free(sw->meters[i][j].config);
    free_all(sw->counters, spec->counters);
    free_all(sw->meters, spec->meters);
    free_all(sw->registers, spec->registers);
    free_all(sw->groups, sw->groups ? 65536 : 0);
    free_all(sw->sessions, sw->sessions ? 65536 : 0);
    free(sw->tables);
    free(sw->value_sets);
    free(sw->const_entries);
    free(sw->retired);
    free(sw->out);
    for (p4_switch *lane = sw->next, *next; lane; lane = next) {
        next = lane->next;
        free_all(lane->counters, spec->counters);
        free(lane->out);
        free(lane);
    }
    free(sw);
}

bool reserve(p4_switch *sw, size_t bytes) {
    if (bytes > sw->out_room) {
        u8 *p = (u8 *)realloc(sw->out, bytes * 2);
        if (!p) return false;
        sw->out = p;
        sw->out_room = bytes * 2;
    }
    if (sw->lent.bytes) memcpy(sw->out, sw->lent.bytes, sw->lent.room < bytes ? sw->lent.room : bytes);
    sw->lent.bytes = nullptr;
    return true;
}
