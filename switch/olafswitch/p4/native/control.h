// What programs a switch and what makes one have in common.
#pragma once
#include <stdlib.h>

#include "switch.h"

template <class T> T *make(size_t bytes) { return (T *)calloc(1, bytes); }

// Frees what no packet can be using any more.
void free_retired(p4_switch *);
Action *new_action(u32 id, const u64 *data, u32 words);
Buckets *new_buckets(u64 n, u32 odd);
bool count_in_lanes(const p4_switch *, Entry *);
// The action is freed where memory ran out.
Entry *add(p4_switch *, Table &, const u64 *key, const u64 *mask, u32 prefix, int32_t priority, Action *);

extern "C" bool p4_set_default(p4_switch *, u32 table, Action *);

// Whether p4_quiesce() can order the memory accesses of packets' threads, from now on.
bool offer_barriers();
