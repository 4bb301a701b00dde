#include "load.h"

#include <poll.h>
#include <time.h>

#include <algorithm>

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

LoadResult measure(Port &out, Port &in, const std::string *frames, size_t kinds, uint64_t duration_ns,
                   uint64_t window, int patience_ms) {
    LoadResult result;
    Counter arrived;
    uint64_t lost = 0;
    uint64_t begin = monotonic();
    for (uint64_t now = begin; now - begin < duration_ns || arrived.count + lost < result.sent;
         now = monotonic()) {
        uint64_t under_way = result.sent - std::min(result.sent, arrived.count + lost);
        for (; under_way < window && now - begin < duration_ns; under_way++, result.sent++) {
            const std::string &frame = frames[result.sent % kinds];
            out.send(reinterpret_cast<const uint8_t *>(frame.data()), frame.size());
        }
        out.flush();
        pollfd wanted{in.fd(), POLLIN, 0};
        if (poll(&wanted, 1, patience_ms) == 0) {
            lost += under_way;
            continue;
        }
        in.receive(arrived);
        result.nanoseconds = monotonic() - begin;
    }
    result.received = arrived.count;
    return result;
}

}  // namespace olaf
