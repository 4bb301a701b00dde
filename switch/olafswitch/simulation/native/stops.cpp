// What the model does when it meets $stop or $finish: count, so that a bench can ask.
#include <atomic>
#include <cstdint>
#include <cstdio>

#include "verilated.h"

namespace {
std::atomic<uint64_t> stops{0};
}

extern "C" uint64_t bench_stops() { return stops; }

void vl_stop(const char *file, int line, const char *) VL_MT_UNSAFE {
    ++stops;
    std::fprintf(stderr, "assertion failed at %s:%d\n", file, line);
}

void vl_finish(const char *, int, const char *) VL_MT_UNSAFE {}
