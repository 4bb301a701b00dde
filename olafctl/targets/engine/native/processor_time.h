// Processor time of this thread: neither waiting counts nor what else the machine does.
#pragma once
#include <time.h>

#include <cstdint>

namespace olaf {

inline uint64_t processor_ns() {
    timespec spent{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &spent);
    return uint64_t(spent.tv_sec) * 1000000000 + uint64_t(spent.tv_nsec);
}

}  // namespace olaf
