// The time of the OlafQueue in the box, which passes without simulation while nothing else can happen.
#include "Vbench.h"
#include "Vbench___024root.h"
#include "bench.h"

#define INSIDE(signal) olaf_box_250mhz__DOT__queue__DOT__queue__DOT__##signal
#include "queue_time.h"

static olaf::QueueTime<Vbench___024root> time_of(bench *b, uint32_t indices) {
    return {*static_cast<Vbench *>(bench_verilated(b))->rootp, indices};
}

extern "C" {
// Cycles, at most `most`, in which nothing happens in the queue but the passing of time.
uint64_t box_quiet(bench *b, uint32_t indices, uint64_t most) { return time_of(b, indices).quiet(most); }

// Let so many pass, in the queue alone.
void box_skip(bench *b, uint32_t indices, uint64_t span) {
    time_of(b, indices).skip(span);
    static_cast<Vbench *>(bench_verilated(b))->eval();
}
}
