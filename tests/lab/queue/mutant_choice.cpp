// Which mutant a queue built with all of them is: its Verilog calls this when a model is made.
#define OLAF_EXPORT __attribute__((visibility("default")))

static int chosen = 0;

extern "C" {
OLAF_EXPORT void olaf_mutant_choose(int number) { chosen = number; }
OLAF_EXPORT int olaf_mutant_chosen(void) { return chosen; }
}
