// The XSA form has no direct counters: VitisNetP4 can count hits and misses of a table, not of its entries, and
// a Counter extern would need an index in each entry's action.
#define DIRECT_COUNTER(counter, number)
#define COUNTED_BY(counter)
