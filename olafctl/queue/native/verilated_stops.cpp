#include "verilated_stops.h"

#include <atomic>
#include <cstdio>
#include <cstdlib>

#include "verilated.h"

namespace {
std::atomic<uint64_t> stops{0};
}

uint64_t verilated_stops() { return stops; }

void vl_stop(const char *file, int line, const char *) VL_MT_UNSAFE {
    ++stops;
    std::fprintf(stderr, "OlafQueue: assertion failed at %s:%d\n", file, line);
}

void vl_finish(const char *, int, const char *) VL_MT_UNSAFE {}

void vl_fatal(const char *file, int line, const char *hier, const char *what) VL_MT_UNSAFE {
    std::fprintf(stderr, "OlafQueue: %s at %s:%d in %s\n", what, file, line, hier);
    std::abort();
}
