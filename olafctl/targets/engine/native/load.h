// A load generator: how many frames a second come back when never more than a window of them is under way.
#pragma once
#include <array>

#include "olafswitch/ports/native/ports.h"

namespace olaf {

// How many frames took how long from being sent until they arrived: 16 places for each power of two of ns.
class Latencies {
  public:
    static constexpr size_t EACH = 16, PLACES = 64 * EACH;
    void add(uint64_t ns) {
        unsigned power = 63 - unsigned(__builtin_clzll(ns | EACH));
        counts[(power - 3) * EACH + ((ns >> (power - 4)) & (EACH - 1))]++;
    }
    std::array<uint64_t, PLACES> counts{};
};

struct LoadResult {
    uint64_t sent = 0;
    uint64_t received = 0;
    uint64_t nanoseconds = 0;  // from the first frame sent to the last received
    uint64_t refused = 0;      // of those sent, on their way into the engine
    uint64_t missed = 0;       // came, and found no room
    Latencies latencies;
};

// Sends frames (in turn those of `frames`) by the queues of `out`, in turn, for `duration_ns`, one each
// `gap_ns` and never more than `window` under way, and counts what arrives at `in`, as if in the order in
// which it was sent. What has not arrived after `patience_ms` without any arrival is taken for lost.
LoadResult measure(Queues &out, Port &in, const std::string *frames, size_t kinds, uint64_t duration_ns,
                   uint64_t window, uint64_t gap_ns, int patience_ms);

}  // namespace olaf
