// How the entries of tables are counted in the shared match-action logic: with direct counters.
#define DIRECT_COUNTER(counter, number, entries) @id(0x130000 ## number) direct_counter(CounterType.packets_and_bytes) counter;
#define COUNTED_BY(counter) counters = counter;
#define COUNTER_PLACE
#define ONLY_PLACE
#define AND_PLACE
#define SET_PLACE
#define NO_PLACE
#define APPLY_COUNTED(table, counter) table.apply();
