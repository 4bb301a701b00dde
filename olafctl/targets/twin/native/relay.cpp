#include "wirings.h"

namespace olaf {

void Relay::arrived(unsigned port, const uint8_t *frame, size_t length, uint64_t now) {
    if (port != FROM_FIRST) {
        losses.misrouted++;
    } else if (!queue.offer_now(frame, length, now)) {
        losses.no_shim++;
    }
}

uint64_t Relay::advance(uint64_t now) {
    return queue.advance(now, [&](const uint8_t *frame, size_t length, uint64_t, uint64_t) {
        if (!engine_.send(TO_SECOND, frame, length)) losses.misrouted++;
    });
}

}  // namespace olaf
