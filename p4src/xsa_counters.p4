// The XSA form has no direct counters: VitisNetP4 counts table hits itself, in its own registers.
#define DIRECT_COUNTER(counter, number)
#define COUNTED_BY(counter)
