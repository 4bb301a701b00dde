// How VitisNetP4, which has no direct counters, counts the entries of tables: each table has a Counter with a place
// for each of its entries, which is one more parameter of the entry's action. An action remembers the place, and
// what applied the table counts there.
#define DIRECT_COUNTER(counter, number, entries) @id(0x120000 ## number) Counter<bit<64>, bit<16>>(entries, CounterType_t.PACKETS_AND_BYTES) counter;
#define COUNTED_BY(counter)
#define COUNTER_PLACE bit<16> counter_place = 0;
#define ONLY_PLACE @id(15) bit<16> place
#define AND_PLACE , @id(15) bit<16> place
#define SET_PLACE counter_place = place;
#define NO_PLACE 0
#define APPLY_COUNTED(table, counter) if (table.apply().hit) { counter.count(counter_place); }
