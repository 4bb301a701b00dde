// Programs a switch while memory runs out at each allocation in turn; test_native.py compiles and runs it.
#include <stdio.h>
#include <stdlib.h>

static long allowed;  // allocations until the first that fails; all after it fail too
static bool failed;

static bool grant() {
    if (allowed-- > 0) return true;
    failed = true;
    return false;
}
static void *limited_calloc(size_t n, size_t size) { return grant() ? calloc(n, size) : nullptr; }
static void *limited_realloc(void *p, size_t size) { return grant() ? realloc(p, size) : nullptr; }
#define calloc limited_calloc
#define realloc limited_realloc
#include "control.cpp"
#include "switch.cpp"
#undef calloc
#undef realloc

static const u64 one[] = {1}, two[] = {2}, full[] = {~0ull};
static const TableSpec tables[] = {
    {"exact", EXACT, 1, 0, 0, 0, 0, 100, 7, 1, one, 0},
    {"lpm", LPM, 1, 0, 1, 32, 0, 100, 7, 1, one, 0},
    {"ternary", TERNARY, 1, 0, 0, 0, 0, 100, 7, 1, one, 0},
};
static const TableSpec value_sets[] = {{"set", TERNARY, 1, 0, 0, 0, 0, 100, 0, 0, one, 0}};
static const ArraySpec arrays[] = {{"array", 4, 1, 0}};
static const EntrySpec entries[] = {{0, 5, 1, 0, 0, two, full, two}};
static const ProgramSpec program = {3, 1, 1, 1, 1, 1, tables, value_sets, arrays, arrays, arrays, entries};

static void check(bool good, const char *what) {
    if (good) return;
    fprintf(stderr, "%s\n", what);
    exit(1);
}

// A step may be refused only once memory has run out.
static void step(bool done, const char *what) { check(done || failed, what); }

static void use(p4_switch *sw) {
    const double rates[] = {1, 1, 1, 1};
    const u32 pairs[] = {1, 0, 2, 0};
    Entry *made[3] = {};
    for (u64 i = 0; i < 40; i++)
        for (u32 t = 0; t < 3; t++) {
            u64 key = 100 + i;
            Entry *e = p4_insert(sw, t, &key, full, 32 - i % 3, i, p4_action_direct(3, two, 1));
            step(e, "insert");
            if (e) made[t] = e;
        }
    for (u32 t = 0; t < 3; t++) {
        Action *a = p4_action_direct(4, two, 1);
        step(a, "action");
        if (a) step(p4_set_default(sw, t, a), "default action");
        const Action *fallback = sw->tables[t].fallback;
        check(fallback && fallback->data[0] == (a ? 2u : 1u), "no default action");
    }
    step(p4_set_default(sw, 0, nullptr), "the program's default action");
    step(p4_value_set(sw, 0, 1, one, full), "value set");
    Action *a = p4_action_direct(4, two, 1);
    Member *m = a ? p4_member_new(a) : nullptr;
    step(m, "member");
    Group *g = p4_group_new();
    step(g, "group");
    if (m && g) step(p4_group_set(sw, g, 1, &m), "group's members");
    step(p4_meter_set(sw, nullptr, 0, 1, rates), "meter");
    if (made[0]) step(p4_meter_set(sw, made[0], 0, 0, rates), "direct meter");
    step(p4_replicas_set(sw, 0, 9, 2, pairs, 0), "multicast group");
    step(p4_replicas_set(sw, 1, 9, 2, pairs, 0), "clone session");
    step(reserve(sw, 5000), "frame");
    for (u32 t = 0; t < 3; t++) {
        const u64 before = sw->tables[t].used;
        const bool gone = made[t] && p4_delete(sw, t, made[t]);
        check(sw->tables[t].used == before - gone, "entries are counted wrongly");
    }
    if (g) p4_group_free(sw, g);
    if (m) p4_member_free(sw, m);
}

static void look_up(p4_switch *sw) {
    for (u64 key = 0; key < 200; key++) {
        const Entry *found[] = {
            find_exact<1>(sw->tables[0], &key), find_lpm<1, 0, 1, 32>(sw->tables[1], &key),
            find_ternary<1>(sw->tables[2], &key), find_ternary<1>(sw->value_sets[0], &key)};
        for (u32 t = 0; t < 3; t++) check(!found[t] || found[t]->action, "an entry has no action");
    }
    check(find_exact<1>(sw->tables[0], two), "the program's own entry is lost");
}

int main() {
    long limit = 0;
    do {
        failed = false;
        allowed = limit++;
        p4_switch *sw = switch_new(&program);
        step(sw, "switch");
        if (!sw) continue;
        use(sw);
        look_up(sw);
        switch_free(sw);
    } while (failed);
    printf("%ld\n", limit);
    return 0;
}
