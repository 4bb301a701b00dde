// How the v1model form declares the counters that the shared match-action logic asks for.
#define DIRECT_COUNTER(counter, number) @id(number) direct_counter(CounterType.packets_and_bytes) counter;
#define COUNTED_BY(counter) counters = counter;
