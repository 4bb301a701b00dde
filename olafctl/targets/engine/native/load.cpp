#include "load.h"

#include <poll.h>
#include <time.h>

#include <algorithm>
#include <vector>

namespace olaf {
namespace {

uint64_t monotonic() {
    timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return uint64_t(now.tv_sec) * 1000000000 + uint64_t(now.tv_nsec);
}

class Counter final : public Sink {
  public:
    void frame(const uint8_t *, size_t) override { count++; }
    uint64_t count = 0;
};

}  // namespace

LoadResult measure(Queues &out, Port &in, const std::string *frames, size_t kinds, uint64_t duration_ns,
                   uint64_t window, uint64_t gap_ns, int patience_ms) {
    LoadResult result;
    Counter arrived;
    std::vector<uint64_t> sent_at(window);
    uint64_t lost = 0, begin = monotonic(), moved = begin;
    for (uint64_t now = begin; now - begin < duration_ns || arrived.count + lost < result.sent;
         now = monotonic()) {
        uint64_t under_way = result.sent - std::min(result.sent, arrived.count + lost);
        for (; under_way < window && now - begin < duration_ns && result.sent * gap_ns <= now - begin;
             under_way++, result.sent++) {
            const std::string &frame = frames[result.sent % kinds];
            Port &queue = *out[result.sent % kinds % out.size()];
            queue.send(reinterpret_cast<const uint8_t *>(frame.data()), frame.size());
            sent_at[result.sent % window] = now;
        }
        for (auto &queue : out) queue->flush();
        // Between two frames it does not sleep: that would take longer than they are apart.
        pollfd wanted{in.fd(), POLLIN, 0};
        if (poll(&wanted, 1, gap_ns ? 0 : patience_ms) == 0) {
            if (gap_ns && (under_way == 0 || now - moved < uint64_t(patience_ms) * 1000000)) continue;
            lost += under_way;
            continue;
        }
        uint64_t before = arrived.count + lost;
        in.receive(arrived);
        moved = monotonic();
        for (; before < arrived.count + lost; before++)
            result.latencies.add(moved - sent_at[before % window]);
        result.nanoseconds = moved - begin;
    }
    result.received = arrived.count;
    for (auto &queue : out) result.refused += queue->stats.tx_dropped;
    in.count_losses();
    result.missed = in.stats.rx_dropped;
    return result;
}

}  // namespace olaf

using namespace olaf;

extern "C" {

// Two interfaces for olaf_load_measure, each the other end of an engine's own.
const char *olaf_load_open(const char *interface, unsigned queues, Queues **port) {
    return attempt([&] {
        std::string reason;
        *port = new Queues(open_own_interface(interface, reason, false, queues));
    });
}

void olaf_load_close(Queues *port) { delete port; }

// `frames` are `kinds` frames of `length` bytes each; `result` is sent, received, ns, refused, missed, and
// then Latencies' counts. `in` has one queue.
void olaf_load_measure(Queues *out, Queues *in, const char *frames, size_t kinds, size_t length,
                       uint64_t duration_ns, uint64_t window, uint64_t gap_ns, int patience_ms,
                       uint64_t *result) {
    std::vector<std::string> separate;
    for (size_t i = 0; i < kinds; i++) separate.emplace_back(frames + i * length, length);
    LoadResult measured =
        measure(*out, *in->front(), separate.data(), kinds, duration_ns, window, gap_ns, patience_ms);
    result[0] = measured.sent;
    result[1] = measured.received;
    result[2] = measured.nanoseconds;
    result[3] = measured.refused;
    result[4] = measured.missed;
    std::copy(measured.latencies.counts.begin(), measured.latencies.counts.end(), result + 5);
}

}  // extern "C"
