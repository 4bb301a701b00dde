// A load generator: how many frames a second come back when never more than a window of them is under way.
#pragma once
#include "ports.h"

namespace olaf {

struct LoadResult {
    uint64_t sent = 0;
    uint64_t received = 0;
    uint64_t nanoseconds = 0;  // from the first frame sent to the last received
};

// Sends frames (in turn those of `frames`) by `out` for `duration_ns` and counts what arrives at `in`. What
// has not arrived after `patience_ms` without any arrival is taken for lost.
LoadResult measure(Port &out, Port &in, const std::string *frames, size_t kinds, uint64_t duration_ns,
                   uint64_t window, int patience_ms);

}  // namespace olaf
